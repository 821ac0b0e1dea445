import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { openAccess } from '../src/access.ts'
import type { Declared } from '../src/accounts/declared.ts'
import { openDisk } from '../src/buckets/disk.ts'
import { loadConfig } from '../src/config.ts'
import type { Catalog } from '../src/core/catalog.ts'
import { digestSecret, type Token } from '../src/core/token.ts'
import { alwaysTraced } from '../src/core/trace.fixture.ts'
import { openRandom } from '../src/main/random.ts'
import type { Media } from '../src/media/media.ts'
import { openOutbound } from '../src/outbound.ts'
import { openPostgres, openSqlite } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { openTraces } from '../src/telemetry/traces.ts'
import { buildBareApp } from '../test/bare-app.ts'

/*
 * One server in a process of its own: our application without the engine, or the limit that it is compared with. The
 * parent process says which.
 */
export type ServerKind =
  | { kind: 'bare'; answer: string; headers: Record<string, string> }
  | { kind: 'app'; folder: string; store: 'sqlite' | 'ungrouped' | 'none'; metrics?: true; traces?: true }
  | { kind: 'app'; folder: string; store: 'postgres' | 'postgres-single'; url: string }

export const token = 'bench'
/** Of a token with every limit that there is. It reads the videos of the other. */
export const limitedToken = 'bench-with-limits'

const limited: Token = {
  kind: 'client',
  name: 'limited',
  digest: digestSecret(limitedToken),
  project: 'bench',
  models: ['*'],
  rate: 10_000_000,
  concurrency: 100_000,
  ipRanges: ['10.0.0.0/8', '127.0.0.0/8', '::1/128'],
  spend: [{ period: 'month', limit: 1_000_000_000_000, zone: 'Europe/Berlin' }],
  expiresAt: Date.now() + 86_400_000,
}

/** An abort ends it without an error. */
const sleep = (ms: number, signal?: AbortSignal) => pause(ms, undefined, { ref: false, signal }).catch(() => {})

async function serve(wanted: ServerKind): Promise<number> {
  if (wanted.kind === 'bare') {
    const body = Buffer.from(wanted.answer)
    const headers = { ...wanted.headers, 'content-length': String(body.length) }
    const server = createServer((_request, response) => {
      response.writeHead(200, headers)
      response.end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as { port: number }).port
  }
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null' } })
  const store = await openStore(wanted)
  const metrics = 'metrics' in wanted ? measure(catalog) : undefined
  const clock = { now: () => Date.now(), sleep }
  const random = openRandom()
  const log = {
    info() {},
    warn() {},
    error: (event: string, fields?: object) => void process.stderr.write(`${event} ${JSON.stringify(fields)}\n`),
  }
  const settings = 'traces' in wanted ? alwaysTraced : null
  const outbound = openOutbound({ allow: [] })
  const { traces } = openTraces({ settings, clock, random, log, outbound })
  const app = buildBareApp({
    catalog,
    access: openAccess({
      tokens: [{ kind: 'client', name: 'bench', digest: digestSecret(token), models: ['*'] }, limited],
      // Never reached, but each response has the headers of a rate limit, as in production.
      ratePerMinute: 10_000_000,
    }),
    store,
    bucket: await openDisk({ folder: `${wanted.folder}/bucket` }),
    scratch: `${wanted.folder}/scratch`,
    media: {} as Media,
    outbound,
    accounts: new Map(),
    healths: { report: async () => {}, refresh: async () => {} },
    declared: {} as Declared,
    testAccount: async () => undefined,
    ...(metrics && { metrics }),
    clock,
    random,
    log,
    traces,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as { port: number }).port
}

function measure(catalog: Catalog) {
  const build = { version: '', node: '', store: '', bucket: '', role: '' }
  return openMetrics({
    catalog,
    currencies: [],
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: async () => {},
    build,
  })
}

async function openStore(wanted: ServerKind & { kind: 'app' }): Promise<Store> {
  const onFatal = (error: Error) => process.abort() ?? error
  if ('url' in wanted) {
    const clock = { monotonic: () => performance.now(), sleep: async () => {} }
    const store = await openPostgres({ url: wanted.url, ...clock, name: `bench ${process.pid}`, onFatal })
    return wanted.store === 'postgres' ? store : unbatched(store)
  }
  const sqlite = await openSqlite({ folder: wanted.folder, now: Date.now(), onFatal })
  return { sqlite, ungrouped: ungrouped(sqlite), none: storeless(sqlite) }[wanted.store]
}

/** One query for each poll, to compare batching with. */
function unbatched(store: Store): Store {
  return { ...store, read: (_owner, id) => store.find(id) }
}

/** One commit for each submit, to compare grouping with. */
function ungrouped(store: Store): Store {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...store,
    insert(task) {
      const next = last.then(() => store.insert(task))
      last = next.catch(() => {})
      return next
    },
  }
}

/** The same handler, without a write. */
function storeless(store: Store): Store {
  return { ...store, insert: async () => {} }
}

if (process.send) {
  process.once('message', async (wanted: ServerKind) => process.send?.(await serve(wanted)))
  process.once('disconnect', () => process.exit())
}
