import multipart from '@fastify/multipart'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { SourceKind } from '../core/task.ts'
import { authenticate, type Tokens } from './auth.ts'
import { maxBodyBytes, multipartOptions, readFields } from './body.ts'
import { boundBodies } from './budget.ts'
import { type ContentDependencies, contentQuery, openContent } from './content.ts'
import { deriveVideo, editBody, extensionBody, remixBody } from './derive.ts'
import { openDocs } from './docs.ts'
import { clientErrorHandler, errorHandler, notFoundHandler } from './errors.ts'
import { openEstimates } from './estimates.ts'
import { openEvents } from './events.ts'
import { type HealthDependencies, livez, readyz } from './health.ts'
import { jsonParser } from './json.ts'
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
import { openRates } from './rates.ts'
import { refuseCharacters, refuseReading } from './refusals.ts'
import { retrieveVideo } from './retrieve.ts'
import { spoolVideos } from './spool.ts'
import { openSubmit, type VideoDependencies } from './submit.ts'
import { toProblem } from './validation.ts'
import { submitBody, submitVideo } from './videos.ts'
import { addWebhooks, type WebhookDependencies } from './webhooks.ts'

export interface AppDependencies
  extends VideoDependencies,
    ContentDependencies,
    OperatorDependencies,
    HealthDependencies,
    WebhookDependencies {
  tokens: Tokens
  /** A process that only works has nothing else to say. */
  healthOnly?: boolean
  /** Whether it shows its reference. */
  docs?: boolean
  /** How many videos a token may ask for in a minute, if it has no rate of its own; 0, or nothing, is no limit. */
  ratePerMinute?: number
  /** Whether it also answers as Azure does. */
  azure?: boolean
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { catalog, tokens, log, random } = dependencies
  // Unique for ever by its first half, in order by its second; chance for each request costs more than reading the row.
  const series = Buffer.from(random(8)).toString('hex')
  let count = 0
  const newRequestId = () => `req_${series}${(count++).toString(16).padStart(16, '0')}`
  const app = fastify({
    bodyLimit: maxBodyBytes,
    // Slow senders: a body that takes 5 minutes is dropped, and by Node's own limit a head that takes one.
    requestTimeout: 300_000,
    // Longer than any URL that Node lets through: each route says itself that it has no such id.
    routerOptions: { maxParamLength: 2 ** 20 },
    genReqId: newRequestId,
    rewriteUrl: ({ url = '' }) => (dependencies.azure ? fromAzure(url) : url),
    ajv: {
      customOptions: {
        // Nothing is bent silently: no coercion, no dropped fields, no defaults.
        ...{ coerceTypes: false, removeAdditional: false, useDefaults: false },
        ...{ allowUnionTypes: true, verbose: true },
      },
    },
    schemaErrorFormatter: toProblem,
    frameworkErrors: (error, request, reply) => errorHandler(log)(error, request, reply),
    clientErrorHandler: clientErrorHandler(newRequestId),
    // While we close, requests on open connections are still served.
    return503OnClosing: false,
  })
  app.setErrorHandler(errorHandler(log))
  app.setNotFoundHandler(notFoundHandler)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // Before its body is read: nobody has to be known for a path that does not exist.
    if (request.is404) notFoundHandler(request)
    done()
  })
  const routes = collectRoutes(app)
  app.get('/livez', livez())
  app.get('/readyz', readyz(dependencies))
  if (dependencies.healthOnly) return app

  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(app))

  const rates = openRates({ clock: dependencies.clock, perMinute: dependencies.ratePerMinute ?? 0 })
  app.register(
    async (v1) => {
      v1.decorateRequest('token')
      v1.addHook('onRequest', authenticate(tokens, 'client', { azure: dependencies.azure ?? false }))
      v1.addHook('onRequest', rates.tell)
      v1.register(async (uploads) => {
        // In a scope of its own: what the plugin does for every request would cost a poll a third of its speed.
        uploads.register(multipart, multipartOptions)
        uploads.addHook('onRequest', rates.take)
        const preValidation = async (request: FastifyRequest) => {
          request.body = await readFields(request)
        }
        const submit = openSubmit(dependencies)
        const fields = { ...boundBodies(), preValidation }
        uploads.post('/videos', { ...fields, schema: { body: submitBody } }, submitVideo(dependencies, submit))
        const derive = (kind: SourceKind) => deriveVideo(kind, dependencies, submit)
        uploads.post('/videos/:id/remix', { ...fields, schema: { body: remixBody } }, derive('remix'))
        const files = spoolVideos(dependencies)
        uploads.post('/videos/edits', { ...files, schema: { body: editBody } }, derive('edit'))
        uploads.post('/videos/extensions', { ...files, schema: { body: extensionBody } }, derive('extension'))
      })
      const characters = { onRequest: refuseCharacters, handler: refuseCharacters }
      v1.route({ method: ['GET', 'POST'], url: '/videos/characters', ...characters })
      v1.get('/videos/characters/:id', characters)
      for (const url of ['/videos/edits', '/videos/extensions'])
        v1.route({ method: ['GET', 'DELETE'], url, handler: refuseReading })
      const estimates = openEstimates(dependencies)
      const listed = { onRequest: dropStalled, schema: { querystring: listQuery } }
      v1.get('/videos', listed, listVideos({ ...dependencies, estimates }))
      const listeners = openListeners(dependencies)
      const events = openEvents({ ...dependencies, estimates, listeners })
      // Not for HEAD, which would be made of it and has no end to wait for.
      v1.get('/videos/events', { exposeHeadRoute: false }, events.all)
      v1.get('/videos/:id/events', { exposeHeadRoute: false }, events.one)
      v1.get('/videos/:id', retrieveVideo({ ...dependencies, estimates, listeners }))
      v1.delete('/videos/:id', deleteVideo(dependencies))
      const content = openContent(dependencies)
      v1.addHook('onClose', () => content[Symbol.asyncDispose]())
      v1.route({
        method: ['GET', 'HEAD'],
        url: '/videos/:id/content',
        onRequest: dropStalled,
        schema: { querystring: contentQuery },
        handler: content.send,
      })
      addWebhooks(v1, dependencies)
      v1.get('/models', listModels(catalog))
      // Ids may contain slashes.
      v1.get('/models/*', retrieveModel(catalog))
    },
    { prefix: '/v1' },
  )
  app.register(
    async (operator) => {
      operator.decorateRequest('token')
      operator.addHook('onRequest', authenticate(tokens, 'operator'))
      operator.addHook('onRequest', dropStalled)
      operator.get('/tasks/:id', showTask(dependencies))
      operator.post('/tasks/:id/adopt', { schema: { body: adoptBody } }, adoptTask(dependencies))
      operator.post('/tasks/:id/resubmit', resubmitTask(dependencies))
      operator.post('/tasks/:id/give_up', giveUpTask(dependencies))
      operator.get('/attempts', { schema: { querystring: attemptsQuery } }, listAttempts(dependencies))
      operator.get('/accounts', listAccounts(dependencies))
      operator.post('/accounts/:name/resume', resumeAccount(dependencies))
    },
    { prefix: '/operator/v1' },
  )
  if (dependencies.docs ?? true) {
    const docs = openDocs(routes, catalog)
    app.get('/openapi.json', docs.document)
    app.get('/docs', docs.reference)
    app.get('/docs/models', docs.models)
    app.get('/docs/models/*', docs.model)
    app.get('/docs/images/:size', docs.image)
  }
  return app
}

/** Azure has the same routes at /openai/v1, and some clients leave the version out. */
function fromAzure(url: string): string {
  if (url.startsWith('/openai/v1/')) return url.slice('/openai'.length)
  return /^\/(videos|models|webhook_endpoints|webhook_event_types)\b/.test(url) ? `/v1${url}` : url
}

/**
 * Slow readers: an answer of which nobody takes anything for 2 minutes is dropped. Only where one may be large: the
 * others wait in the system's buffers, and a timer for each poll costs a tenth of its speed.
 */
function dropStalled(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.raw.setTimeout(120_000)
  done()
}
