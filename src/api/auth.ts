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
 * Lets through who has a token of that kind; one of the other kind is as wrong as any. `azure`: it may also stand in
 * `api-key`, as clients of Azure send it.
 */
export function authenticate(access: Access, kind: Token['kind'], { azure = false } = {}) {
  // By the whole header: only those that were right, and of all their spellings only the usual one.
  const known = new Map<string, Token>()
  access.onChange(() => known.clear())
  return (request: FastifyRequest): void => {
    const header = request.headers.authorization ?? (azure ? bearerOf(request.headers['api-key']) : '')
    let token = known.get(header)
    if (!token) {
      token = identify(header, access, kind, azure)
      if (/^Bearer [^ ]/.test(header)) known.set(header, token)
    }
    request.token = token
  }
}

function bearerOf(key: string | string[] | undefined): string {
  return key === undefined ? '' : `Bearer ${key}`
}

function identify(header: string, access: Access, kind: Token['kind'], azure: boolean): Token {
  if (header === '') {
    const ways = `'Authorization: Bearer YOUR_KEY'${azure ? " or 'api-key: YOUR_KEY'" : ''}`
    throw new Problem('invalid_api_key', `You didn't provide an API key. Send it as ${ways}.`)
  }
  const secret = /^Bearer +([^ ].*)$/i.exec(header)?.[1]
  if (secret === undefined) {
    throw new Problem('invalid_api_key', "The Authorization header must have the form 'Bearer YOUR_KEY'.")
  }
  const token = access.find(digestSecret(secret))
  if (token?.kind === kind) return token
  if (token?.kind === 'operator')
    throw new Problem('invalid_api_key', "This is the operator's token: it makes no videos. Use a client token.")
  if (token) throw new Problem('invalid_api_key', 'This is a client token. Operator routes need the operator token.')
  throw new Problem(
    'invalid_api_key',
    'Incorrect API key provided. Check that it is the token this service was set up with.',
  )
}
