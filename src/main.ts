import type { Server } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { buildApp } from './api/app.ts'
import { openClosing } from './api/closing.ts'
import type { Bucket } from './buckets/bucket.ts'
import { explainS3, openDisk, openS3, probe } from './buckets/index.ts'
import type { AccountConfig } from './config/accounts.ts'
import { defaultTokenName, operatorTokenName } from './config/tokens.ts'
import type { Config } from './config.ts'
import { isLocalName, keyVersionOf } from './core/account.ts'
import type { Clock, Random } from './core/clock.ts'
import { healthy } from './core/health.ts'
import type { StorageFault } from './core/storage-fault.ts'
import { digestSecret, newSecret, type Token } from './core/token.ts'
import { type DataFolder, openDataFolder } from './data-folder.ts'
import { startDeliveries } from './deliveries.ts'
import { openDiscovery } from './discovery.ts'
import { startEngine } from './engine.ts'
import { openHealths } from './healths.ts'
import { identityOf, localise } from './local.ts'
import { type Log, openLog, openRedactor } from './log.ts'
import { openMedia } from './media/pool.ts'
import { limitConnections, openFilesLeft } from './open-files.ts'
import { type OutboundOptions, openOutbound, readBase } from './outbound.ts'
import { type Member, providers } from './providers/index.ts'
import { openRandom } from './random.ts'
import { openSpill } from './spill.ts'
import { findReadOnly, openStartWrites, type StartWrites } from './start-writes.ts'
import { openPostgres, openSqlite } from './stores/index.ts'
import type { Store } from './stores/store.ts'
import { openUnsentNotes } from './unsent.ts'
import { startUpkeep } from './upkeep.ts'
import { discard, rehome, workers } from './workers/index.ts'
import type { Account } from './workers/worker.ts'

/** The running service. Disposing it drains: requests finish, nothing new is begun, and all is released. */
export interface Service extends AsyncDisposable {
  /** Where it listens, without a path. */
  readonly url: string
  /** The secrets of the tokens that this start made, as a start without any does. */
  readonly firstSecret: string | null
  readonly operatorSecret: string | null
  /** Why it began with a store that can only be read; null if it can be written. */
  readonly readOnly: StorageFault | null
  /** Resolves only if the service can't go on. */
  readonly failed: Promise<Error>
}

/** What a test may want to decide. */
export interface World {
  clock: Clock
  random: Random
  writeLog: (line: string) => void
  members: Readonly<Record<string, Member>>
  /** How patient it is with others, and how much it takes from them. */
  outbound: Omit<Partial<OutboundOptions>, 'allow'>
  maxVideoBytes: number
}

const world: World = {
  clock: { now: () => Date.now(), sleep },
  random: openRandom(),
  writeLog: (line) => process.stderr.write(line),
  members: providers,
  outbound: {},
  maxVideoBytes: 4 * 2 ** 30,
}

export async function start(given: Config, changes: Partial<World> = {}): Promise<Service> {
  const { random, writeLog, members, maxVideoBytes, ...others } = { ...world, ...changes }
  const failure = Promise.withResolvers<Error>()
  await using stack = new AsyncDisposableStack()

  const openAccount = async ({ name, provider, baseUrl, credential, ...rest }: AccountConfig): Promise<Account> => {
    const member = members[provider]
    if (!member) throw new Error(`there is no provider '${provider}'`)
    return {
      ...{ ...rest, name, credential, health: healthy, spareSlots: member.spareSlots ?? 0 },
      provider: await member.create({ folder: join(folder.accounts, name), media }),
      keyVersion: keyVersionOf(`${provider} ${baseUrl && readBase(baseUrl).below('/').url.href}`, credential ?? ''),
      upstream: baseUrl === null ? null : outbound.upstream(baseUrl),
    }
  }

  const folder = stack.use(openDataFolder(given.data))
  const config = given.store.kind === 'sqlite' ? given : localise(given, members, identityOf(folder.identity, random))
  let time = others.clock
  const log = openLog({ write: writeLog, now: () => time.now(), secrets: config.secrets })
  if (folder.warning) log.warn('other users can read the data folder', { why: folder.warning })
  const places = { folder, random, onFatal: failure.resolve, log }
  const { store, clock } = await openStore(config, { ...places, clock: others.clock })
  stack.use(store)
  time = clock
  const startWrites = stack.use(openStartWrites({ clock, log }))
  const readOnly = await findReadOnly(store, startWrites, log)
  const bucket = await openBucket(config, folder)
  // Not waited for: a bucket that hangs must not hold up the start.
  if (config.bucket.kind === 's3') void warnOfBucket(bucket, log)
  const studios = config.accounts.filter(({ provider }) => provider === 'studio')
  const renderers =
    studios.reduce((sum, { concurrency }) => sum + concurrency + (members.studio?.spareSlots ?? 0), 0) || 1
  const media = stack.use(openMedia({ clock, renderers, cores: availableParallelism() }))
  const outbound = stack.use(openOutbound({ ...others.outbound, allow: [...config.outboundAllow] }))
  const accounts = new Map<string, Account>()
  for (const account of config.accounts) accounts.set(account.name, await openAccount(account))
  const tokens = await gatherTokens(config, store, startWrites)
  const since = config.store.kind === 'sqlite' ? clock.now() : 0
  const healths = openHealths({ store, accounts, clock, log, since })

  const means = { bucket, media, outbound, accounts, scratch: folder.scratch, retentionMs: config.retentionMs }
  const knowledge = { catalog: config.catalog, durations: await store.durations() }
  const tools = { ...means, ...knowledge, clock, random, maxVideoBytes }
  const ownerCaps = Object.fromEntries(
    [...tokens.values()].flatMap(({ name, concurrency }) => (concurrency === undefined ? [] : [[name, concurrency]])),
  )
  stack.use(await openDiscovery({ catalog: config.catalog, accounts, clock, log, file: folder.models }))
  const redact = openRedactor(config.secrets)
  const draining = new AbortController()
  const app = buildApp({
    ...{ catalog: config.catalog, tokens, store, bucket, media, outbound, healths, clock, random, log },
    accounts: shownAccounts(config, accounts),
    ...{ scratch: folder.scratch, draining: draining.signal, healthOnly: config.role === 'worker' },
    ...limitConnections(clock, log),
    ...{ handover: config.handover, docs: config.docs, ratePerMinute: config.ratePerMinute, azure: config.azure },
    ...{ unknownParameters: config.unknownParameters, corsOrigins: config.corsOrigins },
  })
  const closeServer = openClosing(app, clock)
  const spill = openSpill(folder.spill, (file) =>
    log.error('an answer that was kept can not be read any more', { file }),
  )
  const unsent = stack.use(openUnsentNotes(folder.unsent))
  let clients = clientsOf(tokens)
  // A process that was given no tokens, as one that only works may be, takes everybody's word.
  const knows = (owner: string) => clients.size === 0 || clients.has(owner)
  const common = { store, clock, random, log, hasFiles: openFilesLeft(clock, log) }
  const engine = { ...common, workers, discard, rehome, tools, ownerCaps, healths, spill, unsent, redact }
  const works: AsyncDisposable[] =
    config.role === 'api'
      ? []
      : [await startEngine(engine), startDeliveries({ ...common, outbound, knows }), startUpkeep(common)]
  stack.defer(async () => {
    draining.abort()
    // All at once: what is being served, made and told gets the same time to end.
    await Promise.all([...works.map((work) => work[Symbol.asyncDispose]()), closeServer()])
  })
  await app.listen({ host: config.host, port: config.port })
  const make = (kind: Token['kind']) =>
    readOnly === null ? makeToken(kind, tokens, store, clock.now(), random) : needToken(kind, tokens)
  const mayMake = config.role !== 'worker'
  const [firstSecret, operatorSecret] = mayMake ? [await make('client'), await make('operator')] : [null, null]
  clients = clientsOf(tokens)

  const resources = stack.move()
  return {
    url: addressOf(app.server.address(), config.host),
    firstSecret,
    operatorSecret,
    readOnly,
    failed: failure.promise,
    async [Symbol.asyncDispose]() {
      // Whoever waits, for a database that may come back, waits with a timer that keeps no process alive.
      const alive = setInterval(() => {}, 60_000)
      await resources.disposeAsync().finally(() => clearInterval(alive))
    },
  }
}

interface Places {
  folder: DataFolder
  clock: Clock
  random: Random
  onFatal: (error: Error) => void
  log: Log
}

/** Where processes share a store, they share its clock. */
async function openStore({ store: place }: Config, places: Places): Promise<{ store: Store; clock: Clock }> {
  const { folder, clock, random, onFatal, log } = places
  if (place.kind === 'sqlite') {
    const about = { folder: folder.path, now: clock.now(), claimFolder: folder.claim, report: log }
    return { store: await openSqlite({ ...about, onFatal }), clock }
  }
  const name = Buffer.from(random(8)).toString('hex')
  const times = { monotonic: () => performance.now(), sleep: clock.sleep }
  const store = await openPostgres({ url: place.url, ...times, name, onFatal })
  return { store, clock: store.clock }
}

function openBucket({ bucket: place }: Config, folder: DataFolder): Promise<Bucket> {
  return place.kind === 'disk' ? openDisk({ folder: folder.bucket }) : openS3(place)
}

/** The service starts all the same: the bucket may come back. */
async function warnOfBucket(bucket: Bucket, log: Log): Promise<void> {
  try {
    await probe(bucket)
  } catch (error) {
    const { why, fix } = explainS3(error) ?? { why: (error as Error).message, fix: 'check its URL' }
    log.warn(`FILMGATE_BUCKET: the bucket can't be used: ${why}; ${fix}`)
  }
}

/** A process that only takes requests makes nothing itself: those of its accounts that are its own are nobody's. */
function shownAccounts({ role }: Config, accounts: ReadonlyMap<string, Account>): ReadonlyMap<string, Account> {
  return role === 'api' ? new Map([...accounts].filter(([name]) => !isLocalName(name))) : accounts
}

/**
 * The tokens of the configuration, or else those of the store. Where some are configured, the one that an earlier start
 * made is dropped for good: an operator who sets his own must not leave another key in the door.
 */
async function gatherTokens({ tokens }: Config, store: Store, startWrites: StartWrites): Promise<Map<string, Token>> {
  const stored = await store.tokens()
  for (const { name, kind, digest } of tokens) {
    const same = stored.find((token) => token.digest === digest && token.kind !== kind)
    if (same)
      throw new Error(
        `the ${kind} token '${name}' is the secret of the ${same.kind} token '${same.name}'; choose another`,
      )
  }
  const kinds = (['client', 'operator'] as const).filter((kind) => tokens.some((token) => token.kind === kind))
  const replaced = new Set(kinds.map((kind) => madeNames[kind]))
  const isReplaced = ({ name }: Token) => replaced.has(name)
  for (const { name } of stored.filter(isReplaced))
    await startWrites.do(`the generated token '${name}' is deleted`, () => store.deleteToken(name))
  const kept = stored.filter((token) => !isReplaced(token))
  return new Map([...kept, ...tokens].map((token) => [token.digest, token]))
}

function clientsOf(tokens: ReadonlyMap<string, Token>): ReadonlySet<string> {
  return new Set([...tokens.values()].flatMap(({ kind, name }) => (kind === 'client' ? [name] : [])))
}

const madeNames = { client: defaultTokenName, operator: operatorTokenName }

/**
 * Where there is none of that kind; the secret, if it is this process's own. Only once the service listens: a start that
 * fails has nowhere to show it.
 */
export async function makeToken(
  kind: Token['kind'],
  tokens: Map<string, Token>,
  store: Store,
  now: number,
  random: Random,
): Promise<string | null> {
  if ([...tokens.values()].some((token) => token.kind === kind)) return null
  const secret = newSecret(random)
  const models = kind === 'client' ? ['*'] : []
  const token: Token = { kind, name: madeNames[kind], digest: digestSecret(secret), models }
  const insert = () => store.insertToken(token, now)
  try {
    // A first try without an answer may still be on its way: the second waits for it, and one of them is refused.
    await insert().catch(insert)
  } catch (error) {
    const there = (await store.tokens()).find(({ name }) => name === token.name)
    if (!there) throw error
    tokens.set(there.digest, there)
    // Another process of the same store was quicker, and shows its own; or it is ours, which nobody else can show.
    return there.digest === token.digest ? secret : null
  }
  tokens.set(token.digest, token)
  return secret
}

/** Where none can be stored, none is generated: without one for clients nobody could read anything. */
function needToken(kind: Token['kind'], tokens: ReadonlyMap<string, Token>): null {
  if (kind === 'client' && clientsOf(tokens).size === 0)
    throw new Error(
      "there is no token, and the store can't be written, so that none can be generated; set FILMGATE_TOKEN",
    )
  return null
}

function addressOf(address: ReturnType<Server['address']>, host: string): string {
  const port = typeof address === 'object' ? address?.port : undefined
  // "Every interface" is no place to send a request to.
  const name = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host)
  return `http://${name}:${port}`
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // Aborting is how a sleeper is woken: not an error. A sleeper alone is no reason for the process to stay.
  await setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
}
