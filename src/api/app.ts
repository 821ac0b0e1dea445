import multipart from '@fastify/multipart'
import fastify, { type FastifyInstance } from 'fastify'
import type { Log } from '../log.ts'
import { authenticate, type Tokens } from './auth.ts'
import { maxBodyBytes, multipartOptions, readFields } from './body.ts'
import { ContentQuery, sendContent } from './content.ts'
import { clientErrorHandler, errorHandler, notFoundHandler } from './errors.ts'
import { listModels, retrieveModel } from './models.ts'
import { toProblem } from './validation.ts'
import { retrieveVideo, SubmitBody, submitVideo, type VideoDependencies } from './videos.ts'

export interface AppDependencies extends VideoDependencies {
  tokens: Tokens
  log: Log
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { catalog, tokens, log, random } = dependencies
  const newRequestId = () => `req_${Buffer.from(random(16)).toString('hex')}`
  const app = fastify({
    bodyLimit: maxBodyBytes,
    // Slow senders: a connection that says nothing for 2 minutes is dropped, and so is a body that takes 5.
    connectionTimeout: 120_000,
    requestTimeout: 300_000,
    routerOptions: { maxParamLength: 500 },
    genReqId: newRequestId,
    // Nothing is bent silently: no coercion, no dropped fields, no defaults.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allowUnionTypes: true } },
    schemaErrorFormatter: toProblem,
    frameworkErrors: (error, request, reply) => errorHandler(log)(error, request, reply),
    clientErrorHandler: clientErrorHandler(newRequestId),
    // While we close, requests on open connections are still served.
    return503OnClosing: false,
  })
  app.setErrorHandler(errorHandler(log))
  app.setNotFoundHandler(notFoundHandler)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.removeContentTypeParser('text/plain')
  app.register(multipart, multipartOptions)

  app.register(
    async (v1) => {
      v1.decorateRequest('token')
      v1.addHook('onRequest', authenticate(tokens))
      const preValidation = async (request: { body: unknown }) => {
        request.body = await readFields(request as Parameters<typeof readFields>[0])
      }
      v1.post('/videos', { preValidation, schema: { body: SubmitBody } }, submitVideo(dependencies))
      v1.get('/videos/:id', retrieveVideo(dependencies))
      v1.route({
        method: ['GET', 'HEAD'],
        url: '/videos/:id/content',
        schema: { querystring: ContentQuery },
        handler: sendContent(dependencies),
      })
      v1.get('/models', listModels(catalog))
      // Ids may contain slashes.
      v1.get('/models/*', retrieveModel(catalog))
    },
    { prefix: '/v1' },
  )
  return app
}
