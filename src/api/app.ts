import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { Console } from '../console/console.ts'
import { Problem } from '../core/problem.ts'
import type { Store } from '../stores/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { authenticate, requireAdmin } from './auth.ts'
import { multipartOptions } from './body.ts'
import { boundBodies } from './budget.ts'
import { type ContentDependencies, openContent } from './content.ts'
import { limitUnread, limitUnreadOfAnyone } from './crowding.ts'
import { derivedRoutes } from './derive.ts'
import { docRoutes, redirectToDocs } from './docs.ts'
import { type Estimates, openEstimates } from './estimates.ts'
import { eventRoutes } from './events.ts'
import { type Guesses, openGuesses } from './guesses.ts'
import { healthRoutes } from './health.ts'
import { listVideos } from './list.ts'
import { openListeners } from './listeners.ts'
import { wrongMethod } from './methods.ts'
import { maySkipToken, metricsRoute } from './metrics.ts'
import { modelRoutes } from './models.ts'
import { type AccountDependencies, accountRoutes } from './operator/accounts.ts'
import { alarmRoutes } from './operator/alarms.ts'
import { auditRoutes } from './operator/audit.ts'
import { decisionRoutes } from './operator/decide.ts'
import { declaredModelRoutes } from './operator/models.ts'
import { searchRoute } from './operator/search.ts'
import { type SettingsDependencies, settingsRoute } from './operator/settings.ts'
import { type StatusDependencies, statusRoute } from './operator/status.ts'
import { storageRoute } from './operator/storage.ts'
import { type TokenDependencies, tokenRoutes } from './operator/tokens.ts'
import { operatorRoutes } from './operator.ts'
import { openPieceTurns, type PieceTurns } from './pieces.ts'
import { openPolls } from './polls.ts'
import { isQuote, openQuotes, quotePath } from './quote.ts'
import { limitQuotes, limitWrites, openRates } from './rates.ts'
import { videoRoutes } from './retrieve.ts'
import { accessTo, addRoute, type Route } from './route.ts'
import { dropStalled, openServer, type ServerDependencies } from './server.ts'
import type { StoredBytes } from './stored-bytes.ts'
import { openSubmit, type VideoDependencies } from './submit.ts'
import { type TracedRequests, traceRequests } from './traces.ts'
import { parseUrlencoded, urlencoded } from './urlencoded.ts'
import { operatorUsageRoute, usageRoute } from './usage.ts'
import { createVideo, generationRoutes, generations, type UploadHooks } from './videos.ts'
import { deliveryRoutes } from './webhooks/deliveries.ts'
import { endpointRoutes, type WebhookDependencies } from './webhooks/endpoints.ts'

export interface AppDependencies
  extends VideoDependencies,
    ContentDependencies,
    AccountDependencies,
    TokenDependencies,
    StatusDependencies,
    SettingsDependencies,
    Omit<ServerDependencies, 'turns' | 'answerPlain'>,
    TracedRequests,
    WebhookDependencies {
  store: Store
  access: Access
  /** The bytes in the bucket. */
  stored: StoredBytes
  /** Aborted when the service begins to stop. */
  draining?: AbortSignal
  metrics?: Metrics
  /** The addresses that may read metrics without a token. */
  metricsAllow?: readonly string[]
  /** Reads what other processes changed about tokens, if this one was stopped meanwhile; undefined if it was not. */
  catchUp?: () => Promise<void> | undefined
  /** The operator's console, if it is on. */
  webConsole?: Console | undefined
  /** Whether to serve the API reference. */
  docs?: boolean
  /** False if the routes for operators have a listener of their own. The document has them anyway. */
  servesOperators?: boolean
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { healthOnly = false, docs = true, servesOperators = true } = dependencies
  const turns = openPieceTurns()
  if (healthOnly) {
    const app = openServer({ ...dependencies, turns })
    for (const route of healthRoutes(dependencies)) addRoute(app, route)
    const guesses = openGuesses(dependencies.clock)
    addMetrics(app, metricRoutes(dependencies), { ...dependencies, guesses, trustsLoopback: false })
    return app
  }
  const { access, clock, azure = false, webConsole, catchUp } = dependencies
  const { identify, known } = authenticate(access, 'client', { clock, azure, sessions: webConsole?.sessions })
  const [rates, estimates] = [openRates(dependencies), openEstimates(dependencies)]
  const guesses = openGuesses(clock)
  const answerPlain = openPolls({ ...dependencies, estimates, known, rateHeaders: rates.headerList })
  const app = openServer({ ...dependencies, turns, answerPlain, sendNotFound: webConsole?.sendNotFound })
  const content = openContent(dependencies)
  app.addHook('onClose', () => content[Symbol.asyncDispose]())
  const parts = { ...dependencies, identify, turns, estimates, bounds: boundBodies(), content }
  const routes = allRoutes(parts)
  const serves = servesOperators ? (['client', 'operator'] as const) : (['client'] as const)
  const admitBody = limitUnreadOfAnyone(dependencies.connections)
  webConsole?.addTo(app, { guesses, admitBody, serves, docs, ...(catchUp && { catchUp }) })
  if (docs && !webConsole?.isBuilt) app.get('/', redirectToDocs)
  const served = docs ? [...routes, ...docRoutes(routes, dependencies, webConsole?.sendReference)] : routes
  const { anyone = [], client = [], operator = [], metrics = [] } = Object.groupBy(served, accessTo)
  for (const route of anyone) addRoute(app, route)
  app.register(async (scope) => addClientRoutes(scope, client, { ...dependencies, identify, rates, guesses }))
  if (!servesOperators) return app
  app.register(async (scope) => addOperatorRoutes(scope, operator, { ...dependencies, guesses }))
  addMetrics(app, metrics, { ...dependencies, guesses, trustsLoopback: false })
  return app
}

type Parts = AppDependencies & UploadHooks & { turns: PieceTurns; content: ReturnType<typeof openContent> }

/** In the order of the documentation. */
function allRoutes(dependencies: Parts & Pick<ClientHooks, 'identify'> & { estimates: Estimates }): Route[] {
  const watched = { ...dependencies, listeners: openListeners(dependencies) }
  const submit = openSubmit(dependencies, dependencies.stored)
  const quotes = openQuotes(dependencies)
  const create = createVideo(dependencies, submit, quotes.quote)
  const videos = videoRoutes(watched)
  const limit = limitWrites(dependencies)
  return [
    create,
    listVideos(watched),
    ...videos,
    dependencies.content.route,
    ...generationRoutes(create, videos[0]),
    quotes.clientRoute,
    ...derivedRoutes(dependencies, submit),
    ...eventRoutes(watched),
    ...endpointRoutes(dependencies, limit),
    ...deliveryRoutes(dependencies, limit),
    ...modelRoutes(dependencies),
    usageRoute(dependencies),
    ...allOperatorRoutes(dependencies, quotes.operatorRoute),
    ...healthRoutes(dependencies),
  ]
}

function allOperatorRoutes(dependencies: Parts, quote: Route): Route[] {
  return [
    ...operatorRoutes(dependencies),
    searchRoute(dependencies),
    dependencies.content.operatorRoute,
    quote,
    ...decisionRoutes(dependencies),
    ...accountRoutes(dependencies),
    ...declaredModelRoutes(dependencies),
    ...tokenRoutes(dependencies, dependencies.stored),
    operatorUsageRoute(dependencies),
    ...auditRoutes(dependencies),
    ...metricRoutes(dependencies),
    ...alarmRoutes(dependencies),
    statusRoute(dependencies, dependencies.stored),
    storageRoute(dependencies),
    settingsRoute(dependencies),
    ...(dependencies.webConsole?.operatorRoutes ?? []),
  ]
}

/** The routes for operators, and health checks, for a listener of their own. `clientPort` is that of the other one. */
export function buildOperatorApp(dependencies: AppDependencies, clientPort: () => number | undefined): FastifyInstance {
  const turns = openPieceTurns()
  const { webConsole, catchUp } = dependencies
  const app = openServer({ ...dependencies, turns, sendNotFound: webConsole?.sendNotFound })
  for (const route of healthRoutes(dependencies)) addRoute(app, route)
  const content = openContent(dependencies)
  app.addHook('onClose', () => content[Symbol.asyncDispose]())
  const parts = { ...dependencies, turns, estimates: openEstimates(dependencies), bounds: boundBodies(), content }
  const routes = allOperatorRoutes(parts, openQuotes(parts).operatorRoute)
  const { operator = [], metrics = [] } = Object.groupBy(routes, accessTo)
  const guesses = openGuesses(dependencies.clock)
  const listener = { guesses, admitBody: limitUnreadOfAnyone(dependencies.connections), clientPort }
  webConsole?.addTo(app, { ...listener, serves: ['operator'], docs: false, ...(catchUp && { catchUp }) })
  app.register(async (scope) => addOperatorRoutes(scope, operator, { ...dependencies, guesses }))
  addMetrics(app, metrics, { ...dependencies, guesses, trustsLoopback: true })
  return app
}

interface ClientHooks {
  identify(request: FastifyRequest): void
  rates: ReturnType<typeof openRates>
  guesses: Guesses
}

function addClientRoutes(
  scope: FastifyInstance,
  routes: readonly Route[],
  { identify, rates, guesses, connections, ...dependencies }: AppDependencies & ClientHooks,
): void {
  scope.decorateRequest('token')
  scope.decorateRequest('bodyPlace')
  const admitBody = limitUnread(connections)
  // One hook for all three: a second hook slows each poll by 5 %.
  const admit: Admit = (request, reply, done) => {
    try {
      identify(request)
    } catch (error) {
      return guesses.refuse(error, request, reply, done)
    }
    keepFromCaches(request, reply)
    rates.addHeaders(request, reply)
    admitBody(request, reply)
    done()
  }
  scope.addHook('onRequest', caughtUp(dependencies.catchUp, admit))
  const acceptsForm = ({ body }: Route) => body?.as === 'json or form'
  scope.register(async (uploads) => {
    // In a scope of its own: the work of the plugin for every request would slow polls by a third.
    uploads.register(multipart, multipartOptions)
    uploads.addContentTypeParser(urlencoded, { parseAs: 'buffer' }, parseUrlencoded)
    uploads.decorateRequest('sentAs')
    traceRequests(uploads, dependencies)
    const { checkSpace } = dependencies
    // Before files are written to the disk.
    uploads.addHook('preValidation', async ({ headers }) => {
      if (headers['content-type']?.startsWith('multipart/')) await checkSpace?.()
    })
    const takeQuote = limitQuotes(dependencies)
    uploads.addHook('onRequest', (request, reply, done) =>
      isQuote(request) ? takeQuote(request, reply, done) : rates.take(request, reply, done),
    )
    for (const route of routes.filter(acceptsForm)) addRoute(uploads, checkedAgain(route, identify))
  })
  for (const route of routes) if (!acceptsForm(route)) addRoute(scope, checkedAgain(route, identify))
  addRefusals(scope)
}

/** Shared caches keep no response to a token. What a session gets looks public to them. */
function keepFromCaches({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers.authorization === undefined) reply.header('cache-control', 'private, no-store')
}

type Admit = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Requests that waited while this process was stopped are not admitted by what it knew before. */
function caughtUp(catchUp: AppDependencies['catchUp'], admit: Admit): Admit {
  if (!catchUp) return admit
  return (request, reply, done) => {
    const catching = catchUp()
    if (!catching) return admit(request, reply, done)
    void catching.then(() => {
      try {
        admit(request, reply, done)
      } catch (error) {
        done(Problem.from(error))
      }
    })
  }
}

/** A body may arrive minutes after its headers. Its token is checked again then: it may be revoked, or have other limits. */
function checkedAgain(route: Route, identify: (request: FastifyRequest) => void): Route {
  if (!route.body) return route
  const preHandler = (request: FastifyRequest, _: FastifyReply, done: () => void) => {
    identify(request)
    done()
  }
  return { ...route, options: { ...route.options, preHandler } }
}

/** Routes of OpenAI's Videos API that are not offered. Their paths would otherwise match the id of a video. */
function addRefusals(scope: FastifyInstance): void {
  const config = { isRefusal: true } as const
  // Refused before the body is read: nothing in it could change the response.
  const characters = { config, onRequest: refuseCharacters, handler: refuseCharacters }
  scope.route({ method: ['GET', 'POST'], url: '/v1/videos/characters', ...characters })
  scope.get('/v1/videos/characters/:id', characters)
  for (const url of ['/v1/videos/edits', '/v1/videos/extensions', quotePath, ...generations.map(({ path }) => path)])
    scope.route({
      method: ['GET', 'DELETE'],
      url,
      config,
      // Videos that are created here are read at /v1/videos/{id} like all others.
      handler: async (request, reply) => {
        throw wrongMethod(request, reply, ['POST'])
      },
    })
}

async function refuseCharacters(): Promise<never> {
  const message =
    'No model here generates characters. Describe the character in the prompt, or send a picture of it as ' +
    "'input_reference' to POST /v1/videos."
  throw new Problem('invalid_request', message)
}

function addOperatorRoutes(
  scope: FastifyInstance,
  routes: readonly Route[],
  { access, catchUp, clock, connections, webConsole, guesses }: AppDependencies & { guesses: Guesses },
): void {
  scope.decorateRequest('token')
  scope.decorateRequest('bodyPlace')
  const { identify } = authenticate(access, 'operator', { clock, sessions: webConsole?.sessions })
  const admitBody = limitUnread(connections)
  const admit: Admit = (request, reply, done) => {
    try {
      identify(request)
    } catch (error) {
      return guesses.refuse(error, request, reply, done)
    }
    keepFromCaches(request, reply)
    requireAdmin(request)
    admitBody(request, reply)
    done()
  }
  scope.addHook('onRequest', caughtUp(catchUp, admit))
  scope.addHook('onRequest', dropStalled)
  const identifyAdmin = (request: FastifyRequest) => {
    identify(request)
    requireAdmin(request)
  }
  for (const route of routes) addRoute(scope, checkedAgain(route, identifyAdmin))
}

function metricRoutes({ metrics }: AppDependencies): Route[] {
  return metrics ? [metricsRoute(metrics)] : []
}

interface ScrapeDependencies extends AppDependencies {
  guesses: Guesses
  /** The listener is the operator's own. */
  trustsLoopback: boolean
}

/** For an operator token, or an address that needs none. */
function addMetrics(app: FastifyInstance, routes: readonly Route[], dependencies: ScrapeDependencies): void {
  const { access, catchUp, clock, guesses, metricsAllow: allow = [], trustsLoopback } = dependencies
  const { identify } = authenticate(access, 'operator', { clock })
  const admit: Admit = (request, reply, done) => {
    try {
      identify(request)
    } catch (error) {
      return guesses.refuse(error, request, reply, done)
    }
    done()
  }
  const admitToken = caughtUp(catchUp, admit)
  app.register(async (scope) => {
    scope.decorateRequest('token')
    // An address needs no database: the metrics tell that it is away.
    scope.addHook('onRequest', (request, reply, done) =>
      maySkipToken(request, { allow, trustsLoopback }) ? done() : admitToken(request, reply, done),
    )
    scope.addHook('onRequest', dropStalled)
    for (const route of routes) addRoute(scope, route)
  })
}
