import { readFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { availableParallelism, hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { followTokens } from './access/follow.ts'
import { gatherTokens, generateToken, requireToken } from './access/tokens.ts'
import { openAccess } from './access.ts'
import { followDeclared, openDeclared } from './accounts/declared.ts'
import { openDiscovery } from './accounts/discovery.ts'
import { diagnose } from './accounts/doctor.ts'
import { openHealths } from './accounts/healths.ts'
import { localise, openAccounts } from './accounts.ts'
import { startAlarms } from './alarms/start.ts'
import { watchUpstreams } from './alarms/upstreams.ts'
import { openAlarms } from './alarms.ts'
import { type AppDependencies, buildApp, buildOperatorApp } from './api/app.ts'
import { openReadiness } from './api/health.ts'
import { openClosing } from './api/server.ts'
import { openStoredBytes } from './api/stored-bytes.ts'
import type { Bucket } from './buckets/bucket.ts'
import { explainS3, openDisk, openS3, probe } from './buckets/index.ts'
import type { Config } from './config.ts'
import { type Console, openConsole } from './console/console.ts'
import { findConsoleFiles } from './console/files.ts'
import type { AlarmKind } from './core/alarms.ts'
import { sharedSpacing } from './core/bell.ts'
import { openBounded } from './core/bounded.ts'
import type { Clock, Random } from './core/clock.ts'
import { figureLimits } from './core/figures.ts'
import { messageOf } from './core/problem.ts'
import type { StorageFault } from './core/storage-fault.ts'
import type { Token } from './core/token.ts'
import { openVault } from './core/vault.ts'
import { type DataFolder, identityOf, openDataFolder } from './data-folder.ts'
import { startUsageEvents } from './deliveries/usage-events.ts'
import { startDeliveries } from './deliveries.ts'
import { openSpill } from './engine/spill.ts'
import { openUnsentNotes } from './engine/unsent.ts'
import { startUpkeep } from './engine/upkeep.ts'
import { startEngine } from './engine.ts'
import { checkCurrency } from './main/currency.ts'
import { openFreeSpace } from './main/free-space.ts'
import { openKeptAlarms } from './main/kept-alarms.ts'
import { measureBucket, measureMedia, measureStore, measureUpstream } from './main/measured.ts'
import { mediaOriginsOf } from './main/media-origins.ts'
import { limitConnections, openFilesLeft } from './main/open-files.ts'
import { openRandom } from './main/random.ts'
import { findReadOnly, openStartWrites } from './main/start-writes.ts'
import { openMedia } from './media/pool.ts'
import { type OutboundOptions, openOutbound } from './outbound.ts'
import { type Member, providers } from './providers/index.ts'
import { renewSecrets } from './secrets/renew.ts'
import { openSecretKeys, withSealedSecrets } from './secrets.ts'
import { openPostgres, openSqlite } from './stores/index.ts'
import type { PoolUse, Store, StoreMeter } from './stores/store.ts'
import { shareReads } from './telemetry/figures.ts'
import { type Log, openTelemetry } from './telemetry/log.ts'
import { openMetrics } from './telemetry/metrics.ts'
import { openTraces } from './telemetry/traces.ts'
import { discard, rehome, workers } from './workers/index.ts'

/** The running service. Disposing it drains: requests finish, nothing new starts, and everything is closed. */
export interface Service extends AsyncDisposable {
  /** The address where it listens, without a path. */
  readonly url: string
  /** The address of the routes for operators, if they have a listener of their own. */
  readonly operatorUrl: string | null
  /** The operator's console; null if it is off. */
  readonly webConsole: Pick<Console, 'createCode' | 'isBuilt'> | null
  /** The secrets of the tokens that this start generated, because there were none. */
  readonly firstSecret: string | null
  readonly operatorSecret: string | null
  /** Why the store was read-only at the start; null if it was writable. */
  readonly readOnly: StorageFault | null
  /** Settings that are accepted, but are probably a mistake. */
  readonly warnings: readonly string[]
  /** Resolves only if the service can't continue. */
  readonly failed: Promise<Error>
}

/** What tests replace. */
export interface World {
  clock: Clock
  random: Random
  writeLog: (line: string) => void
  members: Readonly<Record<string, Member>>
  /** The time and size limits of outbound requests. */
  outbound: Omit<Partial<OutboundOptions>, 'allow'>
  maxVideoBytes: number
  /** How often a process looks for alarms. */
  alarmLookMs: number
  /** The built console. */
  consoleFolder: string
}

/** How long the test of an account waits for its provider. */
const testMs = 15_000

/** About 15 MB. */
const mostKeyVersions = 100_000

const world: World = {
  clock: { now: () => Date.now(), sleep },
  random: openRandom(),
  writeLog: (line) => process.stderr.write(line),
  members: providers,
  outbound: {},
  maxVideoBytes: 4 * 2 ** 30,
  alarmLookMs: 15_000,
  consoleFolder: fileURLToPath(new URL('../console/dist', import.meta.url)),
}

export async function start(given: Config, changes: Partial<World> = {}): Promise<Service> {
  const { random, writeLog, members, maxVideoBytes, alarmLookMs, consoleFolder, ...others } = { ...world, ...changes }
  const failure = Promise.withResolvers<Error>()
  await using stack = new AsyncDisposableStack()

  const folder = stack.use(openDataFolder(given.data))
  const isShared = given.store.kind !== 'sqlite'
  const identity = isShared ? identityOf(folder.identity, random) : ''
  const config = isShared ? localise(given, members, identity) : given
  let time = others.clock
  const telemetry = openTelemetry({ write: writeLog, now: () => time.now(), secrets: config.secrets })
  const { log } = telemetry
  if (folder.warning) log.warn('other users can read the data folder', { why: folder.warning })
  const times = { now: () => time.now(), monotonic: () => performance.now(), sleep: others.clock.sleep }
  const build = buildOf(config)
  const { prices } = config
  const currencies = prices ? [prices.currency, ...(prices.formerCurrencies ?? [])] : []
  const metrics = stack.use(openMetrics({ catalog: config.catalog, currencies, ...times, build }))
  const places = { folder, random, onFatal: failure.resolve, log, meter: metrics.commits }
  const { store: opened, clock, connections } = await openStore(config, { ...places, clock: others.clock })
  stack.use(opened)
  time = clock
  const startWrites = stack.use(openStartWrites({ clock, log }))
  const { sealed, ...secrets } = await sealStore(opened, { config, folder, random, log, write: startWrites.do })
  const store = measureStore(sealed, metrics)
  await checkCurrency(store, config.prices, log)
  const bucket = measureBucket(await openBucket(config, folder), metrics.work)
  const alarms = openAlarms({ store, clock, random, log, kept: openKeptAlarms(folder.alarms) })
  // Several processes of a machine may share a store: a healthy one must not clear the alarms of another.
  const machine = isShared ? `${hostname()}:${folder.path}` : hostname()
  const upstreams = watchUpstreams({ alarms, clock, systemNow: () => others.clock.now(), machine })
  // Not awaited: a bucket that hangs must not delay the start.
  if (config.bucket.kind === 's3') void warnOfBucket(bucket, log)
  const studios = config.accounts.filter(({ provider }) => provider === 'studio')
  const renderers =
    studios.reduce((sum, { concurrency }) => sum + concurrency + (members.studio?.spareSlots ?? 0), 0) || 1
  const pool = stack.use(openMedia({ clock, renderers, cores: availableParallelism() }))
  const media = measureMedia(pool, metrics.work)
  const reaching = { ...others.outbound, allow: [...config.outboundAllow], see: upstreams.see }
  const outbound = stack.use(openOutbound(reaching))
  // Closed before outbound, which sends the spans, and before the store, from which they are read.
  const { traces } = stack.use(openTraces({ settings: config.traces, clock, random, log, outbound }))
  const showsLocal = config.role !== 'api'
  const accounts = openAccounts({
    members,
    folder: folder.accounts,
    media,
    outbound,
    showsLocal,
    measure: (name, upstream) => measureUpstream(name, upstream, metrics.work),
  })
  await accounts.change({ set: config.accounts })
  const declared = openDeclared({
    combining: config.combining,
    configured: config,
    localise: (combined) => (isShared ? localise(combined, members, identity) : combined),
    accounts,
    catalog: config.catalog,
    hide: telemetry.hide,
    warn: log.warn,
  })
  const declarations = await store.declarations()
  if (declarations.length > 0) await declared.adopt(declarations)
  const gathering = { store, now: clock.now(), write: startWrites.do, warn: log.warn }
  const { tokens, revision } = await gatherTokens(config.tokens, gathering)
  const isPartial = config.role === 'worker' && !config.tokens.some(({ kind }) => kind === 'client')
  const { ratePerMinute, queued, storedBytes } = config
  const access = openAccess({ tokens, ratePerMinute, queued, storedBytes, isPartial })
  // Only one process uses a data folder.
  const following = isShared ? stack.use(followTokens({ store, access, clock, since: revision, log })) : null
  if (isShared) {
    const since = declarations.at(-1)?.revision ?? 0
    stack.use(followDeclared(store, declared, { clock, since, log }))
  }
  const since = config.store.kind === 'sqlite' ? clock.now() : 0
  const healths = openHealths({ store, accounts: accounts.all, clock, log, process: identity, since })
  const readFigures = async () => {
    await healths.refresh()
    return store.figures({ accounts: [...accounts.shown.keys()], ...figureLimits })
  }
  const figures = shareReads(readFigures, () => clock.now())
  const countAlarms = (kind: AlarmKind) => alarms.active(kind).length
  const { refresh } = healths
  const followed = { accounts: accounts.shown, refresh, figures, alarms: countAlarms, children: pool.children }
  metrics.follow({ ...followed, connections })

  const tools = {
    bucket,
    media,
    outbound,
    scratch: folder.scratch,
    retentionMs: config.retentionMs,
    catalog: config.catalog,
    durations: await store.durations(),
    keyVersions: openBounded<string>(mostKeyVersions),
    accounts: accounts.all,
    clock,
    random,
    maxVideoBytes,
    meter: metrics.work,
    alarms,
  }
  stack.use(await openDiscovery({ catalog: config.catalog, accounts, clock, log, file: folder.models }))
  const draining = new AbortController()
  const readiness = openReadiness({ store, bucket, clock, log, alarms, machine, draining: draining.signal })
  const reserve = { folder: given.data, reserveBytes: config.diskReserveBytes }
  const checkSpace = openFreeSpace({ ...reserve, clock, log, alarms, machine })
  const stored = openStoredBytes({ store, bucketLimit: config.bucketLimit, clock, log, alarms })
  const files = findConsoleFiles({ folder: consoleFolder, mediaOrigins: mediaOriginsOf(config) })
  const { version } = build
  const hasConsole = config.console && config.role !== 'worker'
  const webConsole = hasConsole ? openConsole({ ...secrets, files, access, store, clock, random, log, version }) : null
  const api: AppDependencies = {
    ...(webConsole && { webConsole }),
    catalog: config.catalog,
    access,
    ...(following && { catchUp: following.catchUp }),
    store,
    bucket,
    media,
    outbound,
    healths,
    clock,
    random,
    log,
    traces,
    accounts: accounts.shown,
    declared,
    providers: Object.keys(members).filter((name) => !members[name]?.needsNothing),
    async testAccount(name) {
      const account = declared.configOf(name)
      const now = () => clock.now()
      return account && diagnose(account, { outbound, members, now, signal: AbortSignal.timeout(testMs) })
    },
    scratch: folder.scratch,
    draining: draining.signal,
    healthOnly: config.role === 'worker',
    handover: config.handover,
    docs: config.docs,
    azure: config.azure,
    unknownParameters: config.unknownParameters,
    prices: config.prices,
    corsOrigins: config.corsOrigins,
    checkSpace,
    alarms,
    figures,
    localAlarms: alarms.local.active,
    readiness,
    bucketLimit: config.bucketLimit,
    stored,
    service: { name: identity || machine, ...build },
    settings: { origins: given.origins, reread: given.reread },
    trustedProxies: config.trustedProxies,
    metrics,
    metricsAllow: config.metricsAllow,
  }
  const operatorPort = config.role === 'worker' ? null : config.operatorPort
  const app = buildApp({ ...api, ...limitConnections(clock, log), servesOperators: operatorPort === null })
  const operatorApp = operatorPort === null ? null : buildOperatorApp(api, () => portOf(app.server.address()))
  const closings = [app, ...(operatorApp ? [operatorApp] : [])].map((server) => openClosing(server, clock))
  const spill = openSpill(folder.spill, (file) => log.error("a spilled response can't be read", { file }))
  const unsent = stack.use(openUnsentNotes(folder.unsent))
  const common = {
    ...telemetry,
    traces,
    alarms,
    access,
    store,
    clock,
    random,
    hasFiles: openFilesLeft(clock, log),
    ...(isShared && { spacing: sharedSpacing(healths.processes, random) }),
  }
  const engine = { ...common, workers, discard, rehome, tools, healths, spill, unsent, meter: metrics.tasks }
  const upkeep = { ...common, usageRetentionMs: config.usageRetentionMs }
  // Only one process uses a data folder: after a restart it is the same holder.
  const holder = config.store.kind === 'sqlite' ? 'filmgate' : Buffer.from(random(8)).toString('hex')
  const sending = { ...common, outbound, holder }
  const works: AsyncDisposable[] =
    config.role === 'api'
      ? []
      : [
          await startEngine(engine),
          startDeliveries({ ...common, outbound }),
          startUpkeep(upkeep),
          ...(config.usageWebhook ? [startUsageEvents({ ...sending, webhook: config.usageWebhook })] : []),
        ]
  stack.defer(async () => {
    draining.abort()
    // In parallel, so that requests, tasks and deliveries get the same time to end.
    await Promise.all([...works.map((work) => work[Symbol.asyncDispose]()), ...closings.map((close) => close())])
  })
  // The thread that writes is starting meanwhile.
  await app.ready()
  const readOnly = await findReadOnly(store, startWrites, log)
  await app.listen({ host: config.host, port: config.port })
  if (operatorPort !== null) await operatorApp?.listen({ host: config.host, port: operatorPort })
  const watched = { accounts: accounts.all, figures, catalog: config.catalog, prices: config.prices }
  const watching = { ...common, ...watched, outbound, readiness, checkSpace, stored, upstreams }
  const { queueAgeMs } = config.alarms
  // A start that fails raises no alarm.
  works.push(startAlarms({ ...watching, receivers: config.alarms, queueAgeMs, everyMs: alarmLookMs }))
  const make = (kind: Token['kind']) =>
    readOnly === null ? generateToken(kind, access, { store, now: clock.now(), random }) : requireToken(kind, access)
  const mayMake = config.role !== 'worker'
  const [firstSecret, operatorSecret] = mayMake ? [await make('client'), await make('operator')] : [null, null]

  const resources = stack.move()
  return {
    url: addressOf(app.server.address(), config.host),
    operatorUrl: operatorApp && addressOf(operatorApp.server.address(), config.host),
    webConsole,
    firstSecret,
    operatorSecret,
    readOnly,
    // With the models that were declared or discovered.
    warnings: [...config.warnings, ...config.warningsOfModels(config.catalog)],
    failed: failure.promise,
    async [Symbol.asyncDispose]() {
      // Sleeps do not keep the process alive, and a part may be sleeping until its database recovers.
      const alive = setInterval(() => {}, 60_000)
      await resources.disposeAsync().finally(() => clearInterval(alive))
    },
  }
}

/** What runs, for the metrics. */
function buildOf({ store, bucket, role }: Config) {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(text) as { version: string }
  return { version, node: process.versions.node, store: store.kind, bucket: bucket.kind, role }
}

interface Places {
  folder: DataFolder
  clock: Clock
  random: Random
  onFatal: (error: Error) => void
  log: Log
  meter: StoreMeter
}

interface OpenedStore {
  store: Store
  clock: Clock
  /** Of a database with connections. */
  connections: (() => PoolUse) | undefined
}

/** Processes that share a store share its clock. */
async function openStore({ store: place }: Config, places: Places): Promise<OpenedStore> {
  const { folder, clock, random, onFatal, log, meter } = places
  if (place.kind === 'sqlite') {
    const about = { folder: folder.path, now: clock.now(), claimFolder: folder.claim, report: log }
    return { store: await openSqlite({ ...about, onFatal, meter }), clock, connections: undefined }
  }
  const name = Buffer.from(random(8)).toString('hex')
  const times = { monotonic: () => performance.now(), sleep: clock.sleep }
  const store = await openPostgres({ url: place.url, ...times, name, onFatal, meter })
  return { store, clock: store.clock, connections: store.connections }
}

interface Sealing extends Pick<Places, 'folder' | 'random' | 'log'> {
  config: Config
  write: ReturnType<typeof openStartWrites>['do']
}

/** The store with its secrets encrypted. Throws if there are secrets that no key of this process can read. */
async function sealStore(store: Store, { config, folder, random, log, write }: Sealing) {
  const file = config.store.kind === 'sqlite' ? folder.secretKey : null
  const keys = openSecretKeys({ given: config.secretKeys, file, random })
  const vault = openVault(keys, random)
  await renewSecrets({ store, keys, vault, file, write, log })
  return { sealed: withSealedSecrets(store, { vault, warn: log.warn }), keys, vault }
}

function openBucket({ bucket: place }: Config, folder: DataFolder): Promise<Bucket> {
  return place.kind === 'disk' ? openDisk({ folder: folder.bucket }) : openS3(place)
}

/** The service starts anyway: the bucket may recover. */
async function warnOfBucket(bucket: Bucket, log: Log): Promise<void> {
  try {
    await probe(bucket)
  } catch (error) {
    const { why, fix } = explainS3(error) ?? { why: messageOf(error), fix: 'check its URL' }
    log.warn(`FILMGATE_BUCKET: the bucket can't be used: ${why}; ${fix}`)
  }
}

function portOf(address: ReturnType<Server['address']>): number | undefined {
  return typeof address === 'object' ? address?.port : undefined
}

function addressOf(address: ReturnType<Server['address']>, host: string): string {
  // "Every interface" is not an address for requests.
  const name = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host)
  return `http://${name}:${portOf(address)}`
}

/**
 * An abort ends the sleep without an error. A sleep alone does not keep the process alive. Not the one of
 * node:timers/promises: it creates an error for each abort, and most sleeps of a busy service are aborted.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    resolve()
  }
  const timer = setTimeout(end, ms).unref()
  signal?.addEventListener('abort', end, { once: true })
  return promise
}
