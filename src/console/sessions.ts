import type { FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import { checkAddress } from '../api/auth.ts'
import { openBounded } from '../core/bounded.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { digestsOf, idOf, type Token, type TokenKind } from '../core/token.ts'
import { type SecretKeys, type SecretPlace, sealedWith, type Vault } from '../core/vault.ts'

interface SessionDependencies {
  access: Pick<Access, 'token' | 'statusOf'>
  keys: Pick<SecretKeys, 'all'>
  vault: Vault
  clock: Pick<Clock, 'now'>
}

/** A session ends with the secret that signed in, also if the token has a newer one by then. */
export interface SignedIn {
  readonly token: Token
  /** Of that secret. From a cookie, only its first characters. */
  readonly digest: string
}

/** At most one of each kind. */
type SessionTokens = Partial<Record<TokenKind, SignedIn>>

export interface Session {
  /** The client token is only lent to the operator: it goes with them. */
  readonly isLent: boolean
  readonly tokens: SessionTokens
  readonly expiresAt: number
}

/** Sessions are kept by the browser alone: the cookie names tokens, encrypted, and each request looks them up again. */
export interface Sessions {
  /** The cookie, as `name=value`. Throws `storage_unavailable` if there is no key to encrypt it. */
  seal(session: Session): string
  /** The names of the cookies of this service that the request has: more than one after its key was replaced. */
  namesIn(request: SessionRequest): readonly string[]
  /**
   * The session of the request. Undefined if it has none, or if it does not come from a page of this origin. A token
   * that was revoked, disabled or replaced, or has expired, is left out.
   */
  find(request: SessionRequest): Session | undefined
  /** Whether the request has a session, valid or not. */
  has(request: SessionRequest): boolean
  /**
   * The token for routes of this kind; undefined if the request has no session cookie. Throws if the cookie can't be
   * used: the session has ended, has no token of this kind, or another site sent the request.
   */
  tokenOf(request: SessionRequest & Pick<FastifyRequest, 'ip' | 'ips'>, kind: TokenKind): Token | undefined
}

type SessionRequest = Pick<FastifyRequest, 'headers' | 'method'>

export const sessionMs = 12 * 3_600_000
/**
 * Browsers send a cookie to every port of its host. The id of the key follows, so that services on one host, which have
 * different keys, do not replace each other's sessions. The ports of one service have the same key, and so one session.
 */
const cookieStart = 'filmgate_console_'
/** Pages of other origins can't send it without a preflight request, which is refused for requests with cookies. */
const ownHeader = 'x-filmgate-console'
/** How much of a digest shows that a secret is still the same. */
export const digestStart = 16
const place: SecretPlace = { table: 'console', column: 'session', id: 'cookie' }
/** A browser has one, or a second one after the key was replaced. Decrypting many false ones would take long. */
const mostCookies = 4
/** Real ones are under 600. */
const mostCookieLength = 1_000
/** About 5 MB. Decrypting costs more than looking up a token. */
const mostKnown = 10_000

/** What the cookie has: no secret, and of its digest only as much as shows that the secret is still the same. */
interface Content {
  readonly tokens: Partial<Record<TokenKind, Named>>
  readonly isLent: boolean
  readonly until: number
}

interface Named {
  readonly id: string
  readonly digest: string
}

export function openSessions({ access, keys, vault, clock }: SessionDependencies): Sessions {
  const known = openBounded<Content>(mostKnown)

  function read(cookie: string): Content | undefined {
    const found = known.get(cookie) ?? decrypt(vault, cookie)
    if (!found || clock.now() >= found.until) return undefined
    known.set(cookie, found)
    return found
  }

  /** Those of this service, the newest key first. */
  function cookiesOf({ headers: { cookie = '' } }: SessionRequest): Cookie[] {
    if (!cookie.includes(cookieStart)) return []
    const sent = cookie.split(';').map((part) => splitPair(part.trim()))
    const isUsable = (value: string) => value !== '' && value.length <= mostCookieLength
    const found = keys.all().flatMap(({ id }) => sent.filter(({ name }) => name === cookieStart + id))
    return found.filter(({ value }) => isUsable(value)).slice(0, mostCookies)
  }

  function resolve(named: Named | undefined): SignedIn | undefined {
    const token = named && access.token(named.id)
    if (!named || !token || access.statusOf(token, clock.now()) !== 'active') return undefined
    const isValid = digestsOf(token, clock.now()).some((digest) => digest.startsWith(named.digest))
    return isValid ? { token, digest: named.digest } : undefined
  }

  const sessionOf = (cookie: string): Session | undefined => {
    const content = read(cookie)
    if (!content) return undefined
    const operator = resolve(content.tokens.operator)
    const client = content.isLent && !mayBorrow(operator?.token) ? undefined : resolve(content.tokens.client)
    if (!client && !operator) return undefined
    const tokens = { ...(client && { client }), ...(operator && { operator }) }
    return { tokens, isLent: content.isLent, expiresAt: content.until }
  }

  /**
   * A page at another port or name of the host can add a cookie of its own client, also for some paths only. The session
   * of an operator stays. Of two clients, neither is used: the videos of one would be created for the other.
   */
  function sessionIn(cookies: readonly Cookie[]): Session | undefined {
    const found = cookies.flatMap(({ value }) => sessionOf(value) ?? [])
    const operators = found.find(({ tokens }) => tokens.operator)
    if (operators) return operators
    const clients = new Set(found.map(({ tokens }) => tokens.client && idOf(tokens.client.token)))
    return clients.size > 1 ? undefined : found[0]
  }

  return {
    seal({ tokens, isLent, expiresAt: until }) {
      const named = Object.entries(tokens).map(([kind, { token, digest }]) => [
        kind,
        { id: idOf(token), digest: digest.slice(0, digestStart) },
      ])
      const content: Content = { tokens: Object.fromEntries(named), isLent, until }
      const value = vault.seal(JSON.stringify(content), place)
      return `${cookieStart}${sealedWith(value)}=${value}`
    },
    namesIn: (request) => [...new Set(cookiesOf(request).map(({ name }) => name))],
    has: (request) => isFromOwnPage(request) && cookiesOf(request).length > 0,
    find: (request) => (isFromOwnPage(request) ? sessionIn(cookiesOf(request)) : undefined),
    tokenOf(request, kind) {
      const cookies = cookiesOf(request)
      if (cookies.length === 0) return undefined
      if (!isFromOwnPage(request)) throw refused(foreignMessage)
      const session = sessionIn(cookies)
      if (!session) throw refused('Your session has ended. Sign in again.')
      const found = session.tokens[kind]
      // What is lent works only where the operator's own token works.
      if (session.isLent && session.tokens.operator) checkAddress(session.tokens.operator.token, request)
      if (found) return found.token
      if (kind === 'operator')
        throw new Problem('permission_denied', 'You are signed in as a client. Operator routes need an operator token.')
      throw refused("You are signed in as an operator, who can't create videos. Sign in with a client token, too.")
    },
  }
}

/** Whether a session of this operator may use a client token: they could create one anyway. */
export function mayBorrow(operator: Token | undefined): boolean {
  return operator !== undefined && operator.role !== 'viewer'
}

export const foreignMessage =
  "A session works only from the console's own pages, with the header 'x-filmgate-console: 1' for changes. Other programs send a token: 'Authorization: Bearer YOUR_KEY'."

/**
 * Browsers say where a request comes from. Over plain HTTP, except on this machine, they omit Sec-Fetch-Site: then the
 * origin counts, or for pictures and videos the Referer, which the console's pages send to their own origin only.
 */
export function isFromOwnPage({ headers, method }: SessionRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD' && headers[ownHeader] !== '1') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const source = URL.parse(headers.origin ?? headers.referer ?? '')
  return source !== null && source.host !== '' && source.host === headers.host
}

interface Cookie {
  name: string
  value: string
}

function splitPair(text: string): Cookie {
  const at = text.indexOf('=')
  return { name: text.slice(0, at), value: text.slice(at + 1) }
}

/** Undefined if another key encrypted it, or if it was changed. */
function decrypt(vault: Vault, cookie: string): Content | undefined {
  // The vault returns text that is not encrypted as it is.
  if (sealedWith(cookie) === null) return undefined
  try {
    return JSON.parse(vault.open(cookie, place)) as Content
  } catch {
    return undefined
  }
}

function refused(message: string): Problem {
  return new Problem('invalid_api_key', message)
}
