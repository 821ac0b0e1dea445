import type { FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import { Problem } from '../core/problem.ts'
import { digestSecret, type Token } from '../core/token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    token: Token
  }
}

/**
 * Accepts requests with a token of that kind. `azure`: the token may also be in the header `api-key`, as clients of
 * Azure send it.
 */
export function authenticate(access: Access, kind: Token['kind'], { azure = false } = {}) {
  // By the whole header. Only valid headers in the usual spelling are cached, so its size is bounded by the tokens.
  const known = new Map<string, Token>()
  access.onChange(() => known.clear())
  return {
    /** Sets the token of the request, or throws. */
    identify(request: FastifyRequest): void {
      const header = request.headers.authorization ?? (azure ? bearerOf(request.headers['api-key']) : '')
      let token = known.get(header)
      if (!token) {
        token = identify(header, access, kind, azure)
        if (/^Bearer [^ ]/.test(header)) known.set(header, token)
      }
      request.token = token
    },
    /** The token of a header that was accepted before. */
    known: (authorization: string | undefined): Token | undefined =>
      authorization === undefined ? undefined : known.get(authorization),
  }
}

function bearerOf(key: string | string[] | undefined): string {
  return key === undefined ? '' : `Bearer ${key}`
}

function identify(header: string, access: Access, kind: Token['kind'], azure: boolean): Token {
  if (header === '') {
    const headers = `'Authorization: Bearer YOUR_KEY'${azure ? " or 'api-key: YOUR_KEY'" : ''}`
    throw new Problem('invalid_api_key', `You didn't provide an API key. Send it as ${headers}.`)
  }
  const secret = /^Bearer +([^ ].*)$/i.exec(header)?.[1]
  if (secret === undefined) {
    throw new Problem('invalid_api_key', "The Authorization header must have the form 'Bearer YOUR_KEY'.")
  }
  const token = access.find(digestSecret(secret))
  if (token?.kind === kind) return token
  if (token?.kind === 'operator')
    throw new Problem('invalid_api_key', "This is the operator's token, which can't create videos. Use a client token.")
  if (token) throw new Problem('invalid_api_key', 'This is a client token. Operator routes need the operator token.')
  throw new Problem(
    'invalid_api_key',
    'Incorrect API key provided. Check that it is the token this service was set up with.',
  )
}
