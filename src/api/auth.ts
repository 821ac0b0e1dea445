import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { digestSecret, type Token } from '../core/token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    token: Token
  }
}

/** Every access token by the digest of its secret: comparing digests tells an attacker's clock nothing of the secret. */
export type Tokens = ReadonlyMap<string, Token>

export function authenticate(tokens: Tokens) {
  return async (request: FastifyRequest): Promise<void> => {
    const header = request.headers.authorization
    const secret = /^Bearer +(.*)$/i.exec(header ?? '')?.[1]
    const token = secret === undefined ? undefined : tokens.get(digestSecret(secret))
    if (!token) throw refusal(header, secret)
    request.token = token
  }
}

function refusal(header: string | undefined, secret: string | undefined): Problem {
  if (header === undefined) {
    return new Problem('invalid_api_key', "You didn't provide an API key. Send it as 'Authorization: Bearer YOUR_KEY'.")
  }
  if (secret === undefined) {
    return new Problem('invalid_api_key', "The Authorization header must have the form 'Bearer YOUR_KEY'.")
  }
  return new Problem(
    'invalid_api_key',
    'Incorrect API key provided. Check that it is the token this service was set up with.',
  )
}
