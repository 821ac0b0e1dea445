import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import { clientAddressOf } from '../api/addresses.ts'
import { checkAddress, findSecret, isAllowedFrom, secretOf } from '../api/auth.ts'
import type { AdmitBody } from '../api/crowding.ts'
import { type Guesses, UnknownSecret } from '../api/guesses.ts'
import { addRoute, type BodyRequest, defineRoute, type Route } from '../api/route.ts'
import { iso } from '../api/wire.ts'
import type { Clock, Random } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { digestSecret, generatedNames, ownerOf, type Token, type TokenKind } from '../core/token.ts'
import type { SecretKeys, Vault } from '../core/vault.ts'
import type { TokenStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import { ConsoleCode, type ConsoleSession, type ConsoleState, SignIn } from '../wire/console.ts'
import { type Codes, openCodes } from './codes.ts'
import type { ConsoleFiles } from './files.ts'
import {
  foreignMessage,
  isFromOwnPage,
  mayBorrow,
  openSessions,
  type Session,
  type Sessions,
  type SignedIn,
  sessionMs,
} from './sessions.ts'

interface ConsoleDependencies {
  access: Access
  /** Null if the console is not built. */
  files: ConsoleFiles | null
  store: Pick<TokenStore, 'useCode'>
  keys: SecretKeys
  vault: Vault
  clock: Clock
  random: Random
  log: Log
  version: string
}

/** The routes that the listener has. */
interface Listener {
  guesses: Guesses
  /** Limits bodies that have begun and not ended: signing in needs no token. */
  admitBody: AdmitBody
  serves: readonly TokenKind[]
  /** Whether it has `/docs`. */
  docs: boolean
  /** The port of the Videos API, if that has another listener. */
  clientPort?: (() => number | undefined) | undefined
  catchUp?: () => Promise<void> | undefined
}

/** The operator's console: its files, and the sessions of those who are signed in. */
export interface Console {
  readonly sessions: Sessions
  /** Whether there is a page: the console may be on and not built. */
  readonly isBuilt: boolean
  /** Sends the reference of the API, which is built with the console. */
  readonly sendReference?: ConsoleFiles['sendReference']
  /** Sends a browser the page for a path that does not exist. */
  readonly sendNotFound?: ConsoleFiles['sendNotFound']
  /** Adds the page, its files and its session to a listener. */
  addTo(app: FastifyInstance, listener: Listener): void
  /** Routes of the operator API. */
  readonly operatorRoutes: readonly Route[]
  /** A code for the first operator token that may change things; null if none exists, or no key to sign it. */
  createCode(): string | null
}

export function openConsole(dependencies: ConsoleDependencies): Console {
  const { access, files, clock, log } = dependencies
  const sessions = openSessions(dependencies)
  const codes = openCodes(dependencies)
  return {
    sessions,
    isBuilt: files !== null,
    ...(files && { sendReference: files.sendReference, sendNotFound: files.sendNotFound }),
    addTo(app, listener) {
      files?.addTo(app)
      app.register(async (scope) => {
        scope.decorateRequest('bodyPlace')
        scope.addHook('onRequest', async (request, reply) => {
          listener.admitBody(request, reply)
          // Tokens that other processes changed while this one was stopped.
          await listener.catchUp?.()
        })
        for (const route of sessionRoutes({ ...dependencies, sessions, codes }, listener)) addRoute(scope, route)
      })
    },
    operatorRoutes: [codeRoute({ sessions, codes, log })],
    createCode() {
      const active = access.all().filter((token) => access.statusOf(token, clock.now()) === 'active')
      const admin = active.find(({ kind, role }) => kind === 'operator' && role !== 'viewer')
      try {
        return admin ? codes.create({ token: admin, digest: admin.digest }).code : null
      } catch (error) {
        log.warn("can't create a link to the console, because there is no key; sign in with a token", { error })
        return null
      }
    },
  }
}

function codeRoute({ sessions, codes, log }: { sessions: Sessions; codes: Codes; log: Log }): Route {
  return {
    at: 'POST /operator/v1/console_codes',
    id: 'createConsoleCode',
    summary: 'Create a code for the console',
    description:
      'A code that signs in to the console once, with the token of this request, within 10 minutes. Open `/#code=…`: the page removes it from its address.',
    responses: { 200: { description: 'The code.', schema: ConsoleCode } },
    errors: ['storage_unavailable'],
    handler: async (request: FastifyRequest): Promise<ConsoleCode> => {
      const { token } = request
      const secret = secretOf(request.headers.authorization ?? '')
      const digest = secret === undefined ? sessions.find(request)?.tokens.operator?.digest : digestSecret(secret)
      const { code, expiresAt } = codes.create({ token, digest: digest ?? token.digest })
      log.info('a code for the console was created', { by: token.name, address: clientAddressOf(request) })
      return { object: 'operator.console_code', code, expires_at: iso(expiresAt) }
    },
  }
}

type SessionParts = ConsoleDependencies & { sessions: Sessions; codes: Codes }

const state = { 200: { description: 'The session.' } }
const path = '/console/session'
/** A secret has up to 1,000 characters. */
const maxSignInBytes = 4 * 2 ** 10

function sessionRoutes(parts: SessionParts, { guesses, serves, docs, clientPort }: Listener): Route[] {
  const { sessions, version, clock } = parts
  const stateOf = (request: FastifyRequest, session: Session | undefined): ConsoleState => ({
    object: 'console',
    version,
    docs,
    serves_clients: serves.includes('client'),
    client_url: urlAt(clientPort?.(), request),
    session: session ? describe(session, serves) : null,
    ended: !session && sessions.has(request),
  })
  return [
    {
      at: `GET ${path}`,
      id: 'showSession',
      summary: 'Show who is signed in',
      description: '`session` is null without a session. The page reads it before it shows the form.',
      responses: state,
      handler: async (request, reply) =>
        reply.header('cache-control', 'no-store').send(stateOf(request, usableFrom(request, sessions.find(request)))),
    },
    defineRoute({
      at: `POST ${path}`,
      id: 'signIn',
      summary: 'Sign in',
      description: 'With the secret of a token, or with a code.',
      body: { schema: SignIn, as: 'json', example: { code: 'x' } },
      responses: state,
      options: { bodyLimit: maxSignInBytes },
      async handler(request: BodyRequest<SignIn>, reply: FastifyReply) {
        const session = await slowly(guesses, request, reply, () => signIn(parts, request, serves))
        const cookie = sessions.seal(session)
        const others = sessions.namesIn(request).filter((name) => !cookie.startsWith(`${name}=`))
        setCookies(request, reply, { cookie, ageMs: session.expiresAt - clock.now() }, others)
        return reply.send(stateOf(request, session))
      },
    }),
    {
      at: `DELETE ${path}`,
      id: 'signOut',
      summary: 'Sign out',
      description: 'Removes the cookie.',
      responses: state,
      options: { bodyLimit: maxSignInBytes },
      async handler(request, reply) {
        if (!isFromOwnPage(request)) throw new Problem('permission_denied', foreignMessage)
        setCookies(request, reply, null, sessions.namesIn(request))
        // The request still has the cookie.
        return reply.send({ ...stateOf(request, undefined), ended: false })
      },
    },
  ]
}

/** Without the tokens that may not be used from this address. Undefined if none is left. */
function usableFrom(request: FastifyRequest, session: Session | undefined): Session | undefined {
  const operator = session?.tokens.operator
  if (!session || (session.isLent && operator && !isAllowedFrom(operator.token, request))) return undefined
  const tokens = Object.entries(session.tokens).filter(([, { token }]) => isAllowedFrom(token, request))
  return tokens.length > 0 ? { ...session, tokens: Object.fromEntries(tokens) } : undefined
}

/** Wrong secrets and codes are refused as slowly here as in a header. */
async function slowly<T>(
  guesses: Guesses,
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    return new Promise((_, reject) => guesses.refuse(error, request, reply, reject))
  }
}

async function signIn(
  parts: SessionParts,
  request: BodyRequest<SignIn>,
  serves: readonly TokenKind[],
): Promise<Session> {
  const { access, sessions, codes, clock, log } = parts
  if (!isFromOwnPage(request)) throw new Problem('permission_denied', foreignMessage)
  const { token: secret, code } = request.body
  if ((secret === undefined) === (code === undefined))
    throw new Problem('missing_required_parameter', 'Send either `token` or `code`.', { param: 'token' })
  const check = (found: Token) => {
    checkAddress(found, request)
    if (!serves.includes(found.kind)) throw new Problem('permission_denied', elsewhere[found.kind])
  }
  const { token, digest } =
    secret === undefined ? await redeem(codes, code ?? '', check) : findSecret(secret.trim(), access, clock.now())
  check(token)
  log.info('signed in to the console', { token: token.name, kind: token.kind, address: clientAddressOf(request) })
  const servesClients = serves.includes('client')
  const lend = () => (servesClients ? usualClient(access, token, clock.now()) : undefined)
  return join({ token, digest }, sessions.find(request), { now: clock.now(), servesClients, lend })
}

interface Joining {
  now: number
  /** Otherwise the client is signed in at another port, and stays so. */
  servesClients: boolean
  /** A client token for an operator who has none. */
  lend(): Token | undefined
}

/**
 * An operator who signs in as a client stays the operator, and the reverse for a client that an operator chose. The token
 * that stays keeps its secret and its end: signing in with another one does not prolong it. Other clients do not stay: a
 * page at another port of the host could plant a session of its own client, and get the videos that the operator creates.
 */
function join(given: SignedIn, earlier: Session | undefined, { now, servesClients, lend }: Joining): Session {
  const isClient = given.token.kind === 'client'
  const isChosen = !earlier?.isLent && (earlier?.tokens.operator || !servesClients)
  const kept = isClient ? earlier?.tokens.operator : isChosen ? earlier?.tokens.client : undefined
  const lent = isClient || kept ? undefined : lend()
  const other = kept ?? (lent && { token: lent, digest: lent.digest })
  return {
    tokens: { [given.token.kind]: given, ...(other && { [other.token.kind]: other }) },
    isLent: lent !== undefined,
    expiresAt: Math.min(now + sessionMs, kept && earlier ? earlier.expiresAt : Number.POSITIVE_INFINITY),
  }
}

const elsewhere: Readonly<Record<TokenKind, string>> = {
  operator: 'Operators sign in at the port of the operator routes (FILMGATE_OPERATOR_PORT). Here, use a client token.',
  client: 'Only operators sign in at this port. Use the address of the Videos API.',
}

/** The token is checked first: a link that was opened at the wrong address can be used at the right one. */
async function redeem(codes: Codes, code: string, check: (token: Token) => void): Promise<SignedIn> {
  const found = await codes.redeem(code, check)
  if (found) return found
  throw new UnknownSecret('The link was used before, or has expired. Get a new one with: filmgate console')
}

/** An admin could create a client token at any time, so the console offers the one that exists anyway. */
function usualClient(access: Access, operator: Token, now: number): Token | undefined {
  if (!mayBorrow(operator)) return undefined
  return access.all().find((token) => {
    const isUsual = token.kind === 'client' && token.name === generatedNames.client && !token.ipRanges
    return isUsual && access.statusOf(token, now) === 'active'
  })
}

/** Cookies ignore ports, so the session may have a token whose routes are at another one. */
function describe({ tokens, expiresAt }: Session, serves: readonly TokenKind[]): ConsoleSession | null {
  const tokenOf = (kind: TokenKind) => (serves.includes(kind) ? tokens[kind]?.token : undefined)
  const [operator, client] = [tokenOf('operator'), tokenOf('client')]
  const token = operator ?? client
  if (!token) return null
  return {
    kind: token.kind,
    name: token.name,
    role: operator ? (operator.role ?? 'admin') : null,
    project: token.project ?? null,
    client: client ? { name: client.name, project: client.project ?? null, owner: ownerOf(client) } : null,
    expires_at: iso(expiresAt),
  }
}

/**
 * The same host at another port. Null if the browser may not reach that: it asked for another port than the listener
 * has, or a proxy passed the request on.
 */
function urlAt(port: number | undefined, { headers, socket }: FastifyRequest): string | null {
  const asked = URL.parse(`http://${headers.host}`)
  const isDirect = asked?.port === String(socket.localPort) && headers['x-forwarded-for'] === undefined
  return asked && isDirect && port !== undefined ? `http://${asked.hostname}:${port}` : null
}

/** A page at another port of the host can add cookies for these paths, which would come before the session. */
const plantedPaths = ['/v1', '/operator', '/console']

interface NewCookie {
  /** As `name=value`. */
  cookie: string
  ageMs: number
}

/** Sets the session, and removes others by their names. The origin says whether the page came over HTTPS, also behind a proxy. */
function setCookies(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  session: NewCookie | null,
  removed: readonly string[],
): void {
  const secure = (headers.origin ?? headers.referer ?? '').startsWith('https:') ? '; Secure' : ''
  const toCookie = (pair: string, path: string, ageMs: number) =>
    `${pair}; Path=${path}; Max-Age=${Math.ceil(ageMs / 1_000)}; HttpOnly; SameSite=Strict${secure}`
  const own = session?.cookie.split('=', 1) ?? []
  const cookies = [
    ...(session ? [toCookie(session.cookie, '/', session.ageMs)] : []),
    ...removed.map((name) => toCookie(`${name}=`, '/', 0)),
    ...[...removed, ...own].flatMap((name) => plantedPaths.map((path) => toCookie(`${name}=`, path, 0))),
  ]
  reply.header('cache-control', 'no-store')
  if (cookies.length > 0) reply.header('set-cookie', cookies)
}
