import type { FastifyReply, FastifyRequest } from 'fastify'
import type { openPages } from './docs/pages.ts'
import { notFoundHandler } from './errors.ts'
import type { ModelDependencies } from './models.ts'
import type { Route, RouteResponse } from './route.ts'

type Pages = ReturnType<typeof openPages>
type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const page: RouteResponse = { description: 'An HTML page.', type: 'text/html', schema: { type: 'string' } }
const unchanged: RouteResponse = {
  description: 'Your copy is current.',
  headers: { ETag: 'Identifies this version: send it as `If-None-Match`.' },
}

/**
 * The documentation of these routes: the document for programs, and pages for people. It is loaded at the first
 * request: it takes 140 ms and 17 MB (measured), and most processes never need it. The reference is built with the
 * console; without it, there is a page that leads to the document.
 */
export function docRoutes(routes: readonly Route[], models: ModelDependencies, sendReference?: Handler): Route[] {
  let loading: Promise<Pages> | undefined
  const load = async (): Promise<Pages> => (await import('./docs/pages.ts')).openPages([...routes, ...own], models)
  const later = (name: keyof Pages) => async (request: FastifyRequest, reply: FastifyReply) => {
    loading ??= load()
    return (await loading)[name](request, reply)
  }
  const own: Route[] = [
    {
      at: 'GET /openapi.json',
      id: 'describe',
      summary: 'Get the OpenAPI document',
      description: 'OpenAPI 3.1, generated from the routes.',
      responses: {
        200: { description: 'The document.', schema: { type: 'object', additionalProperties: true } },
        304: unchanged,
      },
      handler: later('document'),
    },
    {
      at: 'GET /docs',
      id: 'readReference',
      summary: 'Read the API reference',
      description: 'The OpenAPI document as an HTML page: search, examples in many languages, and requests to try.',
      responses: { 200: page, 304: unchanged },
      handler: sendReference ?? later('reference'),
    },
    {
      at: 'GET /llms.txt',
      id: 'readSummary',
      summary: 'Get the API in short',
      description: 'Markdown for language models: how a video is created, every route and model, with links.',
      responses: {
        200: { description: 'The text.', type: 'text/plain', schema: { type: 'string' } },
      },
      handler: later('summary'),
    },
    {
      at: 'GET /docs/models',
      id: 'readModels',
      summary: 'Read about all models',
      description: 'A page with all models, which links to a page for each.',
      responses: { 200: page },
      handler: later('models'),
    },
    {
      at: 'GET /docs/models/*',
      id: 'readModel',
      summary: 'Read about a model',
      description: 'What the model accepts, a sample video, and examples that run as they are.',
      path: { model: 'The name of the model.' },
      responses: { 200: page, 404: { ...page, description: 'There is no such model.' } },
      handler: later('model'),
    },
    {
      at: 'GET /docs/sample.mp4',
      id: 'readSample',
      summary: 'Get the sample video',
      description: 'A video that `studio` generated. The pages of the models show it.',
      responses: {
        200: { description: 'The video.', type: 'video/mp4', schema: { type: 'string', format: 'binary' } },
        206: {
          description: 'The requested bytes of it.',
          type: 'video/mp4',
          schema: { type: 'string', format: 'binary' },
        },
        304: unchanged,
      },
      handler: later('sample'),
    },
    {
      at: 'GET /docs/images/:size',
      id: 'readImage',
      summary: 'Get an image for the examples',
      description: 'A PNG in the default size of a model that requires an image.',
      path: { size: 'The size and `.png`, for example `1280x720.png`.' },
      responses: {
        200: { description: 'The image.', type: 'image/png', schema: { type: 'string', format: 'binary' } },
      },
      errors: ['unknown_url'],
      handler: later('image'),
    },
  ]
  return own
}

/** A browser is redirected to the documentation. Any other client has the wrong path. */
export function redirectToDocs(request: FastifyRequest, reply: FastifyReply): void {
  if (!request.headers.accept?.includes('text/html')) notFoundHandler(request)
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? 'Accept' : `${others}, Accept`).redirect('/docs')
}
