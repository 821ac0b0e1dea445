import type { FastifyInstance } from 'fastify'
import { ignoredHeader } from './extras.ts'

/** What a page may read of an answer beyond the headers that every page may. */
const exposed = [
  ...['x-request-id', 'retry-after', 'openai-poll-after-ms', ignoredHeader, 'allow', 'preference-applied'],
  ...['etag', 'content-length', 'content-range', 'accept-ranges', 'content-disposition'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
].join(', ')

/**
 * Lets pages of these origins read the answers; `*` is any. Never with credentials: a token is sent by the page itself, and
 * nothing that a browser keeps counts here. Before all other hooks, for an error is an answer too, and a preflight has no token.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  const isAny = origins.includes('*')
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    // A cache must not hand the answer for one origin to another.
    if (!isAny) reply.header('vary', 'Origin')
    if (origin === undefined || !(isAny || origins.includes(origin))) return done()
    reply.header('access-control-allow-origin', isAny ? '*' : origin)
    const { 'access-control-request-method': method, 'access-control-request-headers': headers } = request.headers
    if (request.method !== 'OPTIONS' || method === undefined) {
      reply.header('access-control-expose-headers', exposed)
      return done()
    }
    reply.header('access-control-allow-methods', 'GET, HEAD, POST, DELETE')
    // Whatever the page wants to send: SDKs have headers of their own, and none of them opens anything.
    if (headers !== undefined) reply.header('access-control-allow-headers', headers)
    reply.header('access-control-max-age', '7200').code(204).send()
  })
}
