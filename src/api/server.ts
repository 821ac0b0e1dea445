import fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from 'fastify'
import type { Clock, Random } from '../core/clock.ts'
import type { FairTurns } from '../core/fair.ts'
import type { Log } from '../telemetry/log.ts'
import { openCors } from './cors.ts'
import { type ConnectionLimit, limitConnections } from './crowding.ts'
import { clientErrorHandler, errorHandler, notFoundHandler, workerHandler } from './errors.ts'
import { jsonParser } from './json.ts'
import { collectMethods } from './methods.ts'
import { toProblem } from './validation.ts'

export interface ServerDependencies {
  log: Log
  clock: Clock
  random: Random
  /** In which large bodies are read. */
  turns: FairTurns
  /** Whether it also answers as Azure does. */
  azure?: boolean
  /** Whose pages may read the answers; of none by default. */
  corsOrigins?: readonly string[]
  /** A process that only works has nothing else to say. */
  healthOnly?: boolean
  /** Where the system says how many files may be open. */
  connections?: ConnectionLimit
}

/**
 * Of a request that uploads nothing. The largest that is valid is an operation of 16 KiB, each byte of it escaped: 96 KiB.
 * Routes with a larger limit count what they hold in a budget.
 */
const maxSmallBodyBytes = 128 * 2 ** 10

/** Without a route: how requests are read, and what becomes of those that can't be. */
export function openServer(dependencies: ServerDependencies): FastifyInstance {
  const { log, clock, random, turns, azure, corsOrigins = [], healthOnly, connections } = dependencies
  // Unique for ever by its first half, in order by its second; chance for each request costs more than reading the row.
  const series = Buffer.from(random(8)).toString('hex')
  let count = 0
  const newRequestId = () => `req_${series}${(count++).toString(16).padStart(16, '0')}`
  const onError = errorHandler(log, clock)
  const app = fastify({
    bodyLimit: maxSmallBodyBytes,
    // Slow senders: a body that takes 5 minutes is dropped, and by Node's own limit a head that takes one.
    requestTimeout: 300_000,
    routerOptions: {
      // Longer than any URL that Node lets through: each route says itself that it has no such id.
      maxParamLength: 2 ** 20,
      ignoreTrailingSlash: true,
    },
    genReqId: newRequestId,
    ...azureOptions(azure),
    ajv: {
      customOptions: {
        // Nothing is bent silently: no coercion, no dropped fields, no defaults.
        ...{ coerceTypes: false, removeAdditional: false, useDefaults: false },
        ...{ allowUnionTypes: true, verbose: true },
      },
    },
    schemaErrorFormatter: toProblem,
    frameworkErrors: (error, request, reply) => onError(error, request, reply),
    clientErrorHandler: clientErrorHandler(newRequestId),
    // While we close, requests on open connections are still served.
    return503OnClosing: false,
  })
  const admit = connections && limitConnections(app.server, connections)
  const methods = collectMethods(app)
  const refuse = healthOnly ? workerHandler : notFoundHandler
  app.setErrorHandler(onError)
  app.setNotFoundHandler(refuse)
  const cors = corsOrigins.length > 0 ? openCors(corsOrigins) : undefined
  app.addHook('onRequest', (request, reply, done) => {
    cors?.allow(request, reply)
    reply.header('x-request-id', request.id)
    admit?.(request, reply)
    if (request.headers['transfer-encoding'] !== undefined) refuseCrumbs(request, reply)
    if (cors?.answerPreflight(request, reply)) return
    // Before its body is read: nobody has to be known for a path that does not exist.
    if (request.is404) {
      methods.refuse(request, reply)
      refuse(request)
    }
    done()
  })
  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(app, turns))
  return app
}

/**
 * The hook for routes whose responses may be large: a response of which the client reads nothing for 2 minutes is
 * dropped. Small ones wait in the system's buffers, and a timer for each poll costs a tenth of its speed.
 */
export function dropStalled(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.raw.setTimeout(120_000)
  done()
}

/** A body of several thousand pieces has at least so many bytes in each, on average. */
const fewestPieceBytes = 16
const crumbs = 4_000

/**
 * Each piece of a chunked body costs as much time and memory as one of 64 KiB: a million pieces of one byte stopped all
 * other requests for seconds. Such a body ends its connection, and so does one that was answered before its end: Node
 * reads the rest of it, to throw it away.
 */
function refuseCrumbs({ raw }: FastifyRequest, reply: FastifyReply): void {
  const push = raw.push.bind(raw)
  let [pieces, bytes] = [0, 0]
  raw.push = (piece: Buffer | null, ...rest) => {
    pieces += 1
    bytes += piece?.length ?? 0
    if (pieces > crumbs && bytes < pieces * fewestPieceBytes) raw.socket.destroy()
    return push(piece, ...rest)
  }
  reply.raw.once('finish', () => {
    if (!raw.complete) raw.socket.destroySoon()
  })
}

/** Nothing where it is off: a function that is called for each request costs polls a fiftieth. */
function azureOptions(azure = false): Pick<FastifyHttpOptions<RawServerDefault>, 'rewriteUrl'> {
  return azure ? { rewriteUrl: ({ url = '' }) => fromAzure(url) } : {}
}

/** Azure has the same routes at /openai/v1, and some clients leave out one of the two, or both. */
function fromAzure(url: string): string {
  return url.replace(/^(\/openai)?(\/v1)?(?=\/(videos|models|webhook_endpoints|webhook_event_types)(?![\w-]))/, '/v1')
}
