import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
  type RequestPayload,
} from 'fastify'
import type { Clock, Random } from '../core/clock.ts'
import type { FairTurns } from '../core/fair.ts'
import { openOutage } from '../core/outage.ts'
import { Problem } from '../core/problem.ts'
import type { Log } from '../telemetry/log.ts'
import type { RequestMeter } from '../telemetry/requests.ts'
import { includesAddress, readForwarded } from './addresses.ts'
import { type ConnectionLimit, limitConnections } from './crowding.ts'
import { clientErrorHandler, errorHandler, notFoundHandler, workerHandler } from './errors.ts'
import { ignoredHeader } from './extras.ts'
import { jsonParser } from './json.ts'
import { collectMethods } from './methods.ts'
import { compilersFactory, toProblem } from './validation.ts'

export interface ServerDependencies {
  log: Log
  clock: Clock
  random: Random
  /** The turns in which large bodies are read. */
  turns: FairTurns
  /** Whether the paths of Azure are accepted, too. */
  azure?: boolean
  /** The origins whose pages may read responses; none by default. */
  corsOrigins?: readonly string[]
  /** The proxies whose X-Forwarded-For counts; none by default. */
  trustedProxies?: readonly string[]
  /** Set for a worker process, which has no other routes. */
  healthOnly?: boolean
  /** Set if the system limits how many files may be open. */
  connections?: ConnectionLimit
  /** Counts requests, if there are metrics. */
  metrics?: { readonly requests: RequestMeter }
  /** Answers some requests before the routes. */
  answerPlain?: PlainAnswer
  /** Sends a browser a page for a path that does not exist. Without it, it gets the error of the API. */
  sendNotFound?: ((request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) | undefined
}

/** Answers a request without a body. False if it is left to the routes. */
export type PlainAnswer = (request: RawRequest, response: RawResponse, newRequestId: () => string) => boolean
type RawRequest = FastifyRequest['raw']
type RawResponse = FastifyReply['raw']

/**
 * The limit for requests without an upload. The largest valid one is an operation of 16 KiB, each byte escaped: 96 KiB.
 * Routes with a larger limit count their bodies in a budget.
 */
const maxSmallBodyBytes = 128 * 2 ** 10

/** Writes may fail on a full disk while others, which are smaller, succeed. */
const storageCalmMs = 60_000

/** The server without routes: how requests are parsed, and how errors are returned. */
export function openServer(dependencies: ServerDependencies): FastifyInstance {
  const { log, clock, random, turns, azure, corsOrigins = [], healthOnly, connections, answerPlain } = dependencies
  const { trustedProxies = [], metrics, sendNotFound } = dependencies
  // The first half is random and unique, the second counts. A random id for each request costs more than reading the
  // row.
  const series = Buffer.from(random(8)).toString('hex')
  let count = 0
  const newRequestId = () => `req_${series}${(count++).toString(16).padStart(16, '0')}`
  const lines = { down: 'request failed', up: 'requests that write succeed again' }
  const storage = openOutage({ log, clock, ...lines, calmMs: storageCalmMs })
  const onError = errorHandler(log, clock, storage)
  const app = fastify({
    bodyLimit: maxSmallBodyBytes,
    // A request that takes 5 minutes to arrive is dropped. Node's own limit for the headers is 1 minute.
    requestTimeout: 300_000,
    routerOptions: {
      // Longer than any URL that Node accepts, so that each route itself reports an unknown id.
      maxParamLength: 2 ** 20,
      ignoreTrailingSlash: true,
    },
    genReqId: newRequestId,
    http: {
      // Node's own response would have no body. The hook below checks it instead.
      requireHostHeader: false,
      // A request without a body has no stream that must be read to its end: that saves each poll a twelfth of its CPU time.
      optimizeEmptyRequests: true,
    },
    ...azureOptions(azure),
    ...proxyOptions(trustedProxies),
    ajv: {
      customOptions: {
        // Nothing is changed silently: no coercion, no dropped fields, no defaults.
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allowUnionTypes: true,
        verbose: true,
      },
    },
    schemaController: { compilersFactory },
    schemaErrorFormatter: toProblem,
    frameworkErrors(error, request, reply) {
      if (error.code !== 'FST_ERR_BAD_URL' || !sendNotFound || !isBrowser(request)) onError(error, request, reply)
      else sendNotFound(request, reply).catch((unsent: Error) => onError(unsent, request, reply))
    },
    clientErrorHandler: clientErrorHandler(newRequestId),
    // While the server closes, requests on open connections are still served.
    return503OnClosing: false,
  })
  // An expectation that is not 100-continue has no effect. Node's own response would be a 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const limit = connections && limitConnections(app.server, connections)
  const methods = collectMethods(app)
  const noteSuccess = (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (reply.statusCode < 300) storage.worked()
    done()
  }
  app.addHook('onRoute', (route) => {
    const hasBody = [route.method].flat().some((method) => method !== 'GET' && method !== 'HEAD')
    if (!hasBody) return
    route.preParsing = [endEmptyBody, ...[route.preParsing ?? []].flat()]
    // Not for reads: they may succeed while nothing can be written, and a hook more slows each of them.
    route.onResponse = [...[route.onResponse ?? []].flat(), noteSuccess]
  })
  const refuse = healthOnly ? workerHandler : notFoundHandler
  app.setErrorHandler(onError)
  app.setNotFoundHandler(refuse)
  const cors = corsOrigins.length > 0 ? openCors(corsOrigins) : undefined
  app.addHook('onRequest', (request, reply, done) => {
    cors?.allow(request, reply)
    reply.header('x-request-id', request.id)
    limit?.admit(request, reply)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') throw noHost()
    if (request.headers['transfer-encoding'] !== undefined) refuseTinyPieces(request, reply)
    if (cors?.answerPreflight(request, reply)) return
    // Before the body is read. An unknown path needs no token.
    if (request.is404) {
      methods.refuse(request, reply)
      if (sendNotFound && isBrowser(request)) return void sendNotFound(request, reply).catch(done)
      refuse(request)
    }
    done()
  })
  if (metrics)
    app.addHook('onResponse', (request, reply, done) => {
      const route = request.is404 ? undefined : request.routeOptions.url
      metrics.requests.end(route, request.method, reply.statusCode, reply.elapsedTime / 1_000)
      done()
    })
  // With origins each response has more headers.
  if (answerPlain && !cors)
    answerBeforeRoutes(
      app.server,
      (request, response) =>
        isPlain(request) &&
        (!limit || limit.admitAtOnce(request.socket)) &&
        answerPlain(request, response, newRequestId),
    )
  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(app, turns))
  return app
}

/** Whether the hooks of all routes have nothing to check or to add but an id. */
function isPlain({ headers }: RawRequest): boolean {
  return (
    headers.host !== undefined && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  )
}

function answerBeforeRoutes(
  server: FastifyInstance['server'],
  answer: (request: RawRequest, response: RawResponse) => boolean,
): void {
  const [toRoutes] = server.listeners('request') as ((...args: Parameters<typeof answer>) => void)[]
  if (!toRoutes) throw new Error('the server has no listener for requests')
  server.off('request', toRoutes)
  server.on('request', (request, response) => {
    // While the server closes, a route tells the client to leave its connection.
    if (!server.listening || !answer(request, response)) toRoutes(request, response)
  })
}

/** Whether somebody opened this address in a browser. */
function isBrowser({ method, headers: { accept } }: FastifyRequest): boolean {
  return method === 'GET' && accept?.includes('text/html') === true
}

function noHost(): Problem {
  return new Problem('invalid_request', 'The request has no Host header. HTTP/1.1 requires it.')
}

/** Node has ended the stream of a request without a body, and the parsers would wait for its end. */
function endEmptyBody(
  _request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  done(null, payload.readableEnded ? Readable.from([]) : payload)
}

/**
 * The hook for routes whose responses may be large: if the client reads nothing for 2 minutes, it is disconnected.
 * Small responses fit into the system's buffers, and a timer for each poll would slow it by a tenth.
 */
export function dropStalled(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.raw.setTimeout(120_000)
  done()
}

/** A body of more than so many pieces must have so many bytes in each, on average. */
const fewestPieceBytes = 16
const manyPieces = 4_000

/**
 * Each piece of a chunked body costs as much time and memory as one of 64 KiB: a million pieces of one byte blocked all
 * other requests for seconds. Such a body closes its connection, and so does one whose response was sent before its
 * end: Node would read the rest of it only to discard it.
 */
function refuseTinyPieces({ raw }: FastifyRequest, reply: FastifyReply): void {
  const push = raw.push.bind(raw)
  let [pieces, bytes] = [0, 0]
  raw.push = (piece: Buffer | null, ...rest) => {
    pieces += 1
    bytes += piece?.length ?? 0
    if (pieces > manyPieces && bytes < pieces * fewestPieceBytes) raw.socket.destroy()
    return push(piece, ...rest)
  }
  reply.raw.once('finish', () => {
    if (!raw.complete) raw.socket.destroySoon()
  })
}

/** No function if it is off: one that is called for each request slows polls by 2 %. */
function azureOptions(azure = false): Pick<FastifyHttpOptions<RawServerDefault>, 'rewriteUrl'> {
  return azure
    ? { rewriteUrl: (request) => (isPage(request) ? (request.url ?? '') : fromAzure(request.url ?? '')) }
    : {}
}

/** A browser that opens /videos wants the page of the console. Clients of the API may also accept HTML. */
function isPage({ method, headers }: FastifyRequest['raw']): boolean {
  const hasToken = headers.authorization !== undefined || headers['api-key'] !== undefined
  return method === 'GET' && !hasToken && headers.accept?.includes('text/html') === true
}

/** The address of a request is the last one that no trusted proxy has added. */
function proxyOptions(ranges: readonly string[]): Pick<FastifyHttpOptions<RawServerDefault>, 'trustProxy'> {
  return ranges.length === 0 ? {} : { trustProxy: (entry) => includesAddress(ranges, readForwarded(entry) ?? '') }
}

/** Azure has the same routes at /openai/v1, and some clients omit one of the two parts, or both. */
function fromAzure(url: string): string {
  return url.replace(/^(\/openai)?(\/v1)?(?=\/(videos|models|webhook_endpoints|webhook_event_types)(?![\w-]))/, '/v1')
}

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
function openCors(origins: readonly string[]): Cors {
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
      const {
        origin,
        'access-control-request-method': wantedMethod,
        'access-control-request-headers': wanted,
      } = headers
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

/** A client that takes longer to read its response is disconnected. */
const finishMs = 15_000
/** A request may be on its way on a connection that looks idle. It is still served for this long. */
const graceMs = 100

/** Closes a server without disconnecting clients that have sent a request. */
export function openClosing(app: Pick<FastifyInstance, 'server' | 'close'>, clock: Clock): () => Promise<void> {
  const { server } = app
  const all = new Set<Socket>()
  // Connections without a request yet: Node counts them as busy when it closes.
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    silent.add(socket)
    socket.once('close', () => {
      all.delete(socket)
      silent.delete(socket)
    })
  })
  server.on('request', ({ socket }) => silent.delete(socket))

  return async () => {
    // From now on each response tells its client to use another connection next time.
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    if (all.size > silent.size) await clock.sleep(graceMs)
    const closed = new AbortController()
    // A connection whose response ends only now would be kept open for the next request.
    server.keepAliveTimeout = 1
    const closing = app.close().finally(() => closed.abort())
    // The first request of a new connection may also be on its way.
    if (silent.size > 0) await clock.sleep(graceMs, closed.signal)
    for (const socket of silent) socket.destroy()
    await Promise.race([closing, clock.sleep(finishMs, closed.signal)])
    server.closeAllConnections()
    await closing
  }
}
