import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { FairTurns } from '../core/fair.ts'
import type { Store } from '../stores/store.ts'
import { authenticate } from './auth.ts'
import { maxBodyBytes, multipartOptions } from './body.ts'
import { boundBodies } from './budget.ts'
import { type ContentDependencies, contentQuery, openContent } from './content.ts'
import { deriveVideo, editBody, extensionBody, remixBody } from './derive.ts'
import { leadToDocs, openDocs } from './docs.ts'
import { openEstimates } from './estimates.ts'
import { openEvents } from './events.ts'
import { generationPaths, nameTwice } from './generations.ts'
import { type HealthDependencies, livez, readyz } from './health.ts'
import { deleteVideo, listQuery, listVideos } from './list.ts'
import { openListeners } from './listeners.ts'
import { listModels, retrieveModel } from './models.ts'
import { collectRoutes } from './openapi/routes.ts'
import { adoptBody, adoptTask, giveUpTask, resubmitTask } from './operator/decide.ts'
import {
  attemptsQuery,
  listAccounts,
  listAttempts,
  type OperatorDependencies,
  resumeAccount,
  showTask,
} from './operator.ts'
import { openPieceTurns } from './pieces.ts'
import { limitWrites, openRates } from './rates.ts'
import { refuseCharacters, refuseReading } from './refusals.ts'
import { retrieveVideo } from './retrieve.ts'
import { openServer, type ServerDependencies } from './server.ts'
import { readDerived, readSubmit } from './spellings.ts'
import { spoolVideos } from './spool.ts'
import { openSubmit, type VideoDependencies } from './submit.ts'
import { limitUnread } from './unread.ts'
import { parseUrlencoded, urlencoded } from './urlencoded.ts'
import { submitBody, submitVideo } from './videos.ts'
import { openDeliveries } from './webhooks/deliveries.ts'
import { openEndpoints, type WebhookDependencies } from './webhooks/endpoints.ts'
import {
  createBody,
  deliveriesQuery,
  endpointsQuery,
  replayBody,
  rotateBody,
  testBody,
  updateBody,
} from './webhooks/schemas.ts'

export interface AppDependencies
  extends VideoDependencies,
    ContentDependencies,
    OperatorDependencies,
    HealthDependencies,
    Omit<ServerDependencies, 'turns'>,
    WebhookDependencies {
  store: Store
  access: Access
  /** Whether it shows its reference. */
  docs?: boolean
}

interface RouteDependencies extends AppDependencies {
  /** In which whatever large is read or made for a token. */
  turns: FairTurns
}

/** Every route of the service. */
export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { catalog } = dependencies
  const turns = openPieceTurns()
  const app = openServer({ ...dependencies, turns })
  const hasDocs = (dependencies.docs ?? true) && !dependencies.healthOnly
  // Before the routes are collected: it is not part of the API.
  if (hasDocs) app.get('/', leadToDocs)
  const routes = collectRoutes(app)
  app.get('/livez', livez())
  app.get('/readyz', readyz(dependencies))
  if (dependencies.healthOnly) return app
  app.register(async (v1) => addClientRoutes(v1, { ...dependencies, turns }), { prefix: '/v1' })
  app.register(async (operator) => addOperatorRoutes(operator, dependencies), { prefix: '/operator/v1' })
  if (hasDocs) {
    const docs = openDocs(routes, catalog)
    app.get('/openapi.json', docs.document)
    app.get('/docs', docs.reference)
    app.get('/docs/models', docs.models)
    app.get('/docs/models/*', docs.model)
    app.get('/docs/images/:size', docs.image)
  }
  return app
}

function addClientRoutes(v1: FastifyInstance, dependencies: RouteDependencies): void {
  const { catalog, access, connections, azure = false } = dependencies
  const rates = openRates(dependencies)
  v1.decorateRequest('token')
  const identify = authenticate(access, 'client', { azure })
  const admitBody = limitUnread(connections)
  // One hook for all: a second one costs each poll a twentieth.
  v1.addHook('onRequest', (request, reply, done) => {
    identify(request)
    rates.tell(request, reply)
    admitBody(request, reply)
    done()
  })
  v1.register(async (uploads) => {
    // In a scope of its own: what the plugin does for every request would cost a poll a third of its speed.
    uploads.register(multipart, multipartOptions)
    uploads.addContentTypeParser(urlencoded, { parseAs: 'buffer' }, parseUrlencoded)
    uploads.decorateRequest('sentAs')
    uploads.addHook('onRequest', rates.take)
    addUploadRoutes(uploads, dependencies)
  })
  const config = { isRefusal: true } as const
  const characters = { config, onRequest: refuseCharacters, handler: refuseCharacters }
  v1.route({ method: ['GET', 'POST'], url: '/videos/characters', ...characters })
  v1.get('/videos/characters/:id', characters)
  for (const url of ['/videos/edits', '/videos/extensions', ...generationPaths])
    v1.route({ method: ['GET', 'DELETE'], url, config, handler: refuseReading })
  const estimates = openEstimates(dependencies)
  const listeners = openListeners(dependencies)
  const events = openEvents({ ...dependencies, estimates, listeners })
  const listed = { onRequest: dropStalled, schema: { querystring: listQuery } }
  v1.get('/videos', listed, listVideos({ ...dependencies, estimates }))
  // Not for HEAD, which would be made of it and has no end to wait for.
  v1.get('/videos/events', { exposeHeadRoute: false }, events.all)
  v1.get('/videos/:id/events', { exposeHeadRoute: false }, events.one)
  const retrieve = retrieveVideo({ ...dependencies, estimates, listeners })
  v1.get('/videos/:id', retrieve)
  for (const url of generationPaths) v1.get(`${url}/:id`, { preSerialization: nameTwice }, retrieve)
  v1.delete('/videos/:id', deleteVideo(dependencies))
  const content = openContent(dependencies)
  v1.addHook('onClose', () => content[Symbol.asyncDispose]())
  const contents = { onRequest: dropStalled, schema: { querystring: contentQuery }, handler: content.send }
  v1.route({ method: ['GET', 'HEAD'], url: '/videos/:id/content', ...contents })
  addWebhookRoutes(v1, dependencies)
  v1.get('/models', listModels(catalog))
  // Ids may contain slashes.
  v1.get('/models/*', retrieveModel(catalog))
}

/** Whatever makes a video. */
function addUploadRoutes(uploads: FastifyInstance, dependencies: RouteDependencies): void {
  const submit = openSubmit(dependencies)
  const bounds = { ...boundBodies(), bodyLimit: maxBodyBytes }
  const fields = { ...bounds, preValidation: readDerived(dependencies) }
  const ours = { ...bounds, preValidation: readSubmit(dependencies) }
  const files = spoolVideos(dependencies)
  const create = submitVideo(dependencies, submit)
  uploads.post('/videos', { ...ours, schema: { body: submitBody } }, create)
  for (const url of generationPaths)
    uploads.post(url, { ...ours, schema: { body: submitBody }, preSerialization: nameTwice }, create)
  uploads.post(
    '/videos/:id/remix',
    { ...fields, schema: { body: remixBody } },
    deriveVideo('remix', dependencies, submit),
  )
  uploads.post('/videos/edits', { ...files, schema: { body: editBody } }, deriveVideo('edit', dependencies, submit))
  uploads.post(
    '/videos/extensions',
    { ...files, schema: { body: extensionBody } },
    deriveVideo('extension', dependencies, submit),
  )
}

/** As OpenAI's SDKs manage endpoints, and beyond that their deliveries. */
function addWebhookRoutes(v1: FastifyInstance, dependencies: AppDependencies): void {
  const endpoints = openEndpoints(dependencies)
  const deliveries = openDeliveries(dependencies)
  const onRequest = limitWrites(dependencies)
  const all = '/webhook_endpoints'
  const one = `${all}/:id`
  v1.get('/webhook_event_types', endpoints.types)
  v1.post(all, { onRequest, schema: { body: createBody } }, endpoints.create)
  v1.get(all, { schema: { querystring: endpointsQuery } }, endpoints.list)
  v1.get(one, endpoints.retrieve)
  v1.post(one, { onRequest, schema: { body: updateBody } }, endpoints.update)
  v1.delete(one, endpoints.remove)
  v1.post(`${one}/rotate_secret`, { onRequest, schema: { body: rotateBody } }, endpoints.rotate)
  v1.post(`${one}/test`, { onRequest, schema: { body: testBody } }, endpoints.test)
  v1.post(`${one}/replay`, { onRequest, schema: { body: replayBody } }, deliveries.replayFailed)
  v1.get(`${one}/deliveries`, { schema: { querystring: deliveriesQuery } }, deliveries.list)
  v1.get(`${one}/deliveries/:delivery`, deliveries.retrieve)
  v1.post(`${one}/deliveries/:delivery/replay`, { onRequest }, deliveries.replay)
}

function addOperatorRoutes(operator: FastifyInstance, dependencies: AppDependencies): void {
  operator.decorateRequest('token')
  const identify = authenticate(dependencies.access, 'operator')
  const admitBody = limitUnread(dependencies.connections)
  operator.addHook('onRequest', (request, reply, done) => {
    identify(request)
    admitBody(request, reply)
    done()
  })
  operator.addHook('onRequest', dropStalled)
  operator.get('/tasks/:id', showTask(dependencies))
  operator.post('/tasks/:id/adopt', { schema: { body: adoptBody } }, adoptTask(dependencies))
  operator.post('/tasks/:id/resubmit', resubmitTask(dependencies))
  operator.post('/tasks/:id/give_up', giveUpTask(dependencies))
  operator.get('/attempts', { schema: { querystring: attemptsQuery } }, listAttempts(dependencies))
  operator.get('/accounts', listAccounts(dependencies))
  operator.post('/accounts/:name/resume', resumeAccount(dependencies))
}

/**
 * Slow readers: an answer of which nobody takes anything for 2 minutes is dropped. Only where one may be large: the
 * others wait in the system's buffers, and a timer for each poll costs a tenth of its speed.
 */
function dropStalled(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.raw.setTimeout(120_000)
  done()
}
