import multipart from '@fastify/multipart'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { authenticate, type Tokens } from './auth.ts'
import { maxBodyBytes, multipartOptions, readFields } from './body.ts'
import { boundBodies } from './budget.ts'
import { type ContentDependencies, contentQuery, sendContent } from './content.ts'
import { clientErrorHandler, errorHandler, notFoundHandler } from './errors.ts'
import { type HealthDependencies, livez, readyz } from './health.ts'
import { jsonParser } from './json.ts'
import { deleteVideo, listQuery, listVideos } from './list.ts'
import { listModels, retrieveModel } from './models.ts'
import { adoptBody, adoptTask, giveUpTask, resubmitTask } from './operator/decide.ts'
import {
  attemptsQuery,
  listAccounts,
  listAttempts,
  type OperatorDependencies,
  resumeAccount,
  showTask,
} from './operator.ts'
import { toProblem } from './validation.ts'
import { retrieveVideo, submitBody, submitVideo, type VideoDependencies } from './videos.ts'

export interface AppDependencies
  extends VideoDependencies,
    ContentDependencies,
    OperatorDependencies,
    HealthDependencies {
  tokens: Tokens
  /** A process that only works has nothing else to say. */
  healthOnly?: boolean
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
  app.get('/livez', livez())
  app.get('/readyz', readyz(dependencies))
  if (dependencies.healthOnly) return app

  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(app))

  app.register(
    async (v1) => {
      v1.decorateRequest('token')
      v1.addHook('onRequest', authenticate(tokens, 'client'))
      v1.register(async (uploads) => {
        // In a scope of its own: what the plugin does for every request would cost a poll a third of its speed.
        uploads.register(multipart, multipartOptions)
        const preValidation = async (request: FastifyRequest) => {
          request.body = await readFields(request)
        }
        const options = { ...boundBodies(), preValidation, schema: { body: submitBody } }
        uploads.post('/videos', options, submitVideo(dependencies))
      })
      v1.get('/videos', { onRequest: dropStalled, schema: { querystring: listQuery } }, listVideos(dependencies))
      v1.get('/videos/:id', retrieveVideo(dependencies))
      v1.delete('/videos/:id', deleteVideo(dependencies))
      v1.route({
        method: ['GET', 'HEAD'],
        url: '/videos/:id/content',
        onRequest: dropStalled,
        schema: { querystring: contentQuery },
        handler: sendContent(dependencies),
      })
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
  return app
}

/**
 * Slow readers: an answer of which nobody takes anything for 2 minutes is dropped. Only where one may be large: the
 * others wait in the system's buffers, and a timer for each poll costs a tenth of its speed.
 */
function dropStalled(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.raw.setTimeout(120_000)
  done()
}
