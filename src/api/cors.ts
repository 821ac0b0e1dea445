import type { FastifyReply, FastifyRequest } from 'fastify'
import { ignoredHeader } from './extras.ts'

/** Response headers that a page may read, in addition to those that every page may read. */
const exposed = [
  'x-request-id',
  'retry-after',
  'openai-poll-after-ms',
  ignoredHeader,
  'allow',
  'preference-applied',
  'etag',
  'content-length',
  'content-range',
  'accept-ranges',
  'content-disposition',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
].join(', ')

interface Cors {
  /** Lets the page read the response, if its origin is allowed. Runs first, so that errors can be read too. */
  allow(request: FastifyRequest, reply: FastifyReply): void
  /** Responds to a preflight request. False if the request is not a preflight. */
  answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean
}

/**
 * Lets pages of these origins read the responses; `*` allows every origin. Never with credentials: the page itself
 * sends the token, not the browser.
 */
export function openCors(origins: readonly string[]): Cors {
  const isAny = origins.includes('*')
  const isAllowed = (origin: string | undefined) => origin !== undefined && (isAny || origins.includes(origin))
  return {
    allow({ headers: { origin } }, reply) {
      // A cache must not use the response for one origin for another.
      if (!isAny) reply.header('vary', 'Origin')
      if (origin === undefined || !isAllowed(origin)) return
      reply.header('access-control-allow-origin', isAny ? '*' : origin)
      reply.header('access-control-expose-headers', exposed)
    },
    answerPreflight({ method, headers }, reply) {
      const { origin, 'access-control-request-method': wantedMethod, 'access-control-request-headers': wanted } = headers
      if (method !== 'OPTIONS' || wantedMethod === undefined || !isAllowed(origin)) return false
      reply.removeHeader('access-control-expose-headers')
      reply.header('access-control-allow-methods', 'GET, HEAD, POST, DELETE')
      // All headers that the page wants to send are allowed: SDKs have headers of their own, and none gives more
      // access.
      if (wanted !== undefined) reply.header('access-control-allow-headers', wanted)
      reply.header('access-control-max-age', '7200').code(204).send()
      return true
    },
  }
}
