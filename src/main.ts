import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { buildApp } from './api/app.ts'
import { openDisk } from './buckets/index.ts'
import { defaultTokenName } from './config/tokens.ts'
import type { Config } from './config.ts'
import type { Clock, Random } from './core/clock.ts'
import { digestSecret, newSecret, type Token } from './core/token.ts'
import { openDataFolder } from './data-folder.ts'
import { startEngine } from './engine.ts'
import { openLog } from './log.ts'
import { openMedia } from './media/pool.ts'
import { openOutbound } from './outbound.ts'
import { providers as members } from './providers/index.ts'
import type { ProviderAccount } from './providers/provider.ts'
import { openRandom } from './random.ts'
import { openSqlite } from './stores/index.ts'
import type { Store } from './stores/store.ts'
import { discard, workers } from './workers/index.ts'

/** The running service. Disposing it drains: requests finish, nothing new is begun, and all is released. */
export interface Service extends AsyncDisposable {
  /** Where it listens, without a path. */
  readonly url: string
  /** The secret of the token that this start made, as a start without any token does. */
  readonly firstSecret: string | null
  /** Resolves only if the service can't go on. */
  readonly failed: Promise<Error>
}

/** What a test may want to decide. */
export interface World {
  clock: Clock
  random: Random
  writeLog: (line: string) => void
}

const world: World = {
  clock: { now: () => Date.now(), sleep },
  random: openRandom(),
  writeLog: (line) => process.stderr.write(line),
}

export async function start(config: Config, given: Partial<World> = {}): Promise<Service> {
  const { clock, random, writeLog } = { ...world, ...given }
  const failure = Promise.withResolvers<Error>()
  await using stack = new AsyncDisposableStack()

  const folder = stack.use(openDataFolder(config.data))
  const log = openLog({ write: writeLog, now: () => clock.now(), secrets: config.secrets })
  const store = stack.use(await openSqlite({ folder: folder.path, now: clock.now(), onFatal: failure.resolve }))
  const bucket = await openDisk({ folder: folder.bucket })
  const media = stack.use(openMedia({ clock, renderers: config.providers.studio?.concurrency ?? 1 }))
  const outbound = stack.use(openOutbound({ allow: [...config.outboundAllow] }))
  const providers = new Map<string, ProviderAccount>()
  for (const [name, { concurrency }] of Object.entries(config.providers)) {
    const provider = await members[name]?.create({ folder: join(folder.path, name), media })
    if (provider) providers.set(name, { provider, concurrency })
  }
  const tokens = await gatherTokens(config, store)

  const tools = { clock, bucket, media, outbound, providers, scratch: folder.scratch, retentionMs: config.retentionMs }
  const engine = startEngine({ store, workers, discard, tools, clock, random, log })
  const app = buildApp({ catalog: config.catalog, tokens, store, bucket, media, outbound, clock, random, log })
  stack.defer(async () => {
    // Both at once: what is being served and what is being made get the same time to end.
    await Promise.all([engine[Symbol.asyncDispose](), closeServer(app, clock)])
  })
  await app.listen({ host: config.host, port: config.port })
  const firstSecret = tokens.size === 0 ? await makeFirstToken(tokens, store, clock.now(), random) : null

  const resources = stack.move()
  return {
    url: addressOf(app.server.address(), config.host),
    firstSecret,
    failed: failure.promise,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/**
 * The tokens of the configuration, or else those of the store. Where some are configured, the one that an earlier start
 * made is dropped for good: an operator who sets his own must not leave another key in the door.
 */
async function gatherTokens({ tokens }: Config, store: Store): Promise<Map<string, Token>> {
  if (tokens.length > 0) await store.deleteToken(defaultTokenName)
  const all = [...(await store.tokens()), ...tokens]
  return new Map(all.map((token) => [token.digest, token]))
}

/** Made only once the service listens: a start that fails has nowhere to show it. */
async function makeFirstToken(tokens: Map<string, Token>, store: Store, now: number, random: Random): Promise<string> {
  const secret = newSecret(random)
  const token: Token = { name: defaultTokenName, digest: digestSecret(secret), models: ['*'] }
  await store.insertToken(token, now)
  tokens.set(token.digest, token)
  return secret
}

/** Open requests get 15 s to finish; a client that reads slower than that is cut off. */
async function closeServer(app: ReturnType<typeof buildApp>, clock: Clock): Promise<void> {
  const closed = new AbortController()
  const closing = app.close().finally(() => closed.abort())
  await Promise.race([closing, clock.sleep(15_000, closed.signal)])
  app.server.closeAllConnections()
  await closing
}

function addressOf(address: ReturnType<ReturnType<typeof buildApp>['server']['address']>, host: string): string {
  const port = typeof address === 'object' ? address?.port : undefined
  // "Every interface" is no place to send a request to.
  const name = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host)
  return `http://${name}:${port}`
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // Aborting is how a sleeper is woken: not an error. A sleeper alone is no reason for the process to stay.
  await setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
}
