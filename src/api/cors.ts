import type { FastifyReply, FastifyRequest } from 'fastify'
import { ignoredHeader } from './extras.ts'

/** What a page may read of an answer beyond the headers that every page may. */
const exposed = [
  ...['x-request-id', 'retry-after', 'openai-poll-after-ms', ignoredHeader, 'allow', 'preference-applied'],
  ...['etag', 'content-length', 'content-range', 'accept-ranges', 'content-disposition'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
].join(', ')

interface Cors {
  /** Lets the page read the answer, if it may. Before all else, for an error is an answer too. */
  allow(request: FastifyRequest, reply: FastifyReply): void
  /** Answers the question of a browser whether a page may send a request. False if the request is not one. */
  answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean
}

/**
 * Lets pages of these origins read the answers; `*` is any. Never with credentials: a token is sent by the page itself, not
 * by the browser.
 */
export function openCors(origins: readonly string[]): Cors {
  const isAny = origins.includes('*')
  const isAllowed = (origin: string | undefined) => origin !== undefined && (isAny || origins.includes(origin))
  return {
    allow({ headers: { origin } }, reply) {
      // A cache must not hand the answer for one origin to another.
      if (!isAny) reply.header('vary', 'Origin')
      if (origin === undefined || !isAllowed(origin)) return
      reply.header('access-control-allow-origin', isAny ? '*' : origin)
      reply.header('access-control-expose-headers', exposed)
    },
    answerPreflight({ method, headers }, reply) {
      const { origin, 'access-control-request-method': asked, 'access-control-request-headers': wanted } = headers
      if (method !== 'OPTIONS' || asked === undefined || !isAllowed(origin)) return false
      reply.removeHeader('access-control-expose-headers')
      reply.header('access-control-allow-methods', 'GET, HEAD, POST, DELETE')
      // Whatever the page wants to send: SDKs have headers of their own, and none of them opens anything.
      if (wanted !== undefined) reply.header('access-control-allow-headers', wanted)
      reply.header('access-control-max-age', '7200').code(204).send()
      return true
    },
  }
}
