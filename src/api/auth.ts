import type { FastifyRequest } from 'fastify'
import type { Access, Credential } from '../access.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { digestSecret, isMistyped, type Token, type TokenStatus } from '../core/token.ts'
import { clientAddressOf, includesAddress } from './addresses.ts'
import { UnknownSecret } from './guesses.ts'

declare module 'fastify' {
  interface FastifyRequest {
    token: Token
  }
}

interface AuthOptions {
  clock: Pick<Clock, 'now'>
  /** The token may also be in the header `api-key`, as clients of Azure send it. */
  azure?: boolean
  /** The sessions of the console, for requests without a token. */
  sessions?: SessionLookup | undefined
}

interface SessionLookup {
  /** Undefined if the request has no session. Throws if the session can't be used. */
  tokenOf(request: FastifyRequest, kind: Token['kind']): Token | undefined
}

type RawRequest = Pick<FastifyRequest['raw'], 'headers' | 'socket'>

/** Accepts requests with a token of that kind. */
export function authenticate(access: Access, kind: Token['kind'], { clock, azure = false, sessions }: AuthOptions) {
  // By the whole header. Only valid headers in the usual spelling are cached, so its size is bounded by the tokens.
  const known = new Map<string, Credential>()
  access.onChange(() => known.clear())
  const isOver = ({ until }: Credential) => until !== null && clock.now() >= until
  return {
    /** Sets the token of the request, or throws. */
    identify(request: FastifyRequest): void {
      const header = request.headers.authorization ?? (azure ? bearerOf(request.headers['api-key']) : '')
      const signedIn = header === '' ? sessions?.tokenOf(request, kind) : undefined
      if (signedIn) {
        checkAddress(signedIn, request)
        request.token = signedIn
        return
      }
      let found = known.get(header)
      if (!found || isOver(found)) {
        found = findCredential(header, { access, kind, azure, now: clock.now() })
        if (/^Bearer [^ ]/.test(header)) known.set(header, found)
      }
      const { token } = found
      checkAddress(token, request)
      request.token = token
    },
    /** The token of a header that was accepted before. Undefined if more has to be checked. */
    known({ headers, socket }: RawRequest): Token | undefined {
      const found = headers.authorization === undefined ? undefined : known.get(headers.authorization)
      if (!found || isOver(found)) return undefined
      const { token } = found
      if (!token.ipRanges) return token
      // Behind a proxy, only the route knows the address of the client.
      const isDirect = headers['x-forwarded-for'] === undefined
      return isDirect && includesAddress(token.ipRanges, socket.remoteAddress ?? '') ? token : undefined
    },
  }
}

function bearerOf(key: string | string[] | undefined): string {
  return key === undefined ? '' : `Bearer ${key}`
}

interface Wanted {
  access: Access
  kind: Token['kind']
  azure: boolean
  now: number
}

function findCredential(header: string, { access, kind, azure, now }: Wanted): Credential {
  if (header === '') {
    const headers = `'Authorization: Bearer YOUR_KEY'${azure ? " or 'api-key: YOUR_KEY'" : ''}`
    throw refused(`You didn't provide an API key. Send it as ${headers}.`)
  }
  const secret = secretOf(header)
  if (secret === undefined) throw refused("The Authorization header must have the form 'Bearer YOUR_KEY'.")
  const found = findSecret(secret, access, now)
  if (found.token.kind === kind) return found
  if (kind === 'operator')
    throw new Problem('permission_denied', 'This is a client token. Operator routes need an operator token.')
  throw refused("This is an operator's token, which can't create videos. Use a client token.")
}

/** Undefined if the header does not have the form `Bearer SECRET`. */
export function secretOf(header: string): string | undefined {
  return /^Bearer +([^ ].*)$/i.exec(header)?.[1]
}

/** What an active secret opens. Throws if it opens nothing. */
export function findSecret(secret: string, access: Access, now: number): Credential {
  const found = access.find(digestSecret(secret))
  if (!found) {
    const advice = isMistyped(secret)
      ? 'It has a typo, or was not copied as a whole: its checksum is wrong.'
      : 'Check that it is the token this service was set up with.'
    throw new UnknownSecret(`Incorrect API key provided. ${advice}`)
  }
  const status = access.statusOf(found.token, now)
  if (status !== 'active') throw refused(reasons[status])
  // The token is active, so it was one of its earlier secrets.
  if (found.until !== null && now >= found.until)
    throw refused('This secret was replaced by a newer one, and has expired. Use the newer one.')
  return found
}

const reasons: Readonly<Record<Exclude<TokenStatus, 'active'>, string>> = {
  disabled: 'This token is disabled. Ask your operator to enable it.',
  expired: 'This token has expired. Ask your operator for another one.',
  overridden: "This token is not used, because the service's configuration has a token of the same name.",
  revoked: 'This token was revoked. Ask your operator for another one.',
}

function refused(message: string): Problem {
  return new Problem('invalid_api_key', message)
}

/** Throws if the token may not be used from the address of the request. */
export function checkAddress(token: Token, request: Pick<FastifyRequest, 'ip' | 'ips'>): void {
  if (isAllowedFrom(token, request)) return
  const address = clientAddressOf(request)
  throw refused(`This token may not be used from the address ${address}. Ask your operator to add it to 'ip_ranges'.`)
}

export function isAllowedFrom(
  { ipRanges }: Pick<Token, 'ipRanges'>,
  request: Pick<FastifyRequest, 'ip' | 'ips'>,
): boolean {
  return !ipRanges || includesAddress(ipRanges, clientAddressOf(request))
}

/** Routes that only read, and need a body. */
const readsByPost: readonly (string | undefined)[] = ['/operator/v1/quote']

/** Throws if the operator's token may only read. */
export function requireAdmin(request: Pick<FastifyRequest, 'method' | 'token' | 'routeOptions'>): void {
  const { method, token, routeOptions } = request
  if (token.role !== 'viewer' || method === 'GET' || method === 'HEAD') return
  if (readsByPost.includes(routeOptions.url)) return
  throw new Problem('permission_denied', 'This operator token is a viewer, which may only read. Use an admin token.')
}
