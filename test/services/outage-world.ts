import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { simulated } from '../../simulators/provider.ts'
import { type Mode, startUpstream, type Upstream } from '../../simulators/upstream.ts'
import { startService, type TestService } from '../service.ts'
import type { PostgresServer } from './postgres.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/* For tests of a failing database: a service, its upstream, and a database behind a proxy. */

export const prompt = 'a film'

type Rows = Record<string, unknown>[]

export interface World extends AsyncDisposable {
  upstream: Upstream
  proxy: TcpProxy
  /** Queries the database directly, not through the proxy. */
  sql(text: string): Promise<Rows>
  /** Switches to the database at another port. */
  moveTo(server: Pick<PostgresServer, 'port'>): void
  store: string
  yaml: string
}

export interface WorldOptions {
  mode?: Mode
  /** Of the only account. */
  concurrency?: number
}

let databases = 0

export async function openWorld(
  postgres: Pick<PostgresServer, 'port'>,
  { mode = 'none', concurrency = 100 }: WorldOptions = {},
): Promise<World> {
  await using stack = new AsyncDisposableStack()
  const upstream = stack.use(await startUpstream({ mode }))
  const proxy = stack.use(await startTcpProxy(postgres.port))
  databases += 1
  const name = `outage_${databases}`
  let { port } = postgres
  await askDatabase(port, 'postgres', `CREATE DATABASE ${name}`)
  const resources = stack.move()
  return {
    upstream,
    proxy,
    sql: (text) => askDatabase(port, name, text),
    moveTo(server) {
      port = server.port
      proxy.retarget(port)
    },
    store: `postgres://filmgate@127.0.0.1:${proxy.port}/${name}`,
    yaml: JSON.stringify({
      accounts: { [`sim-${mode}`]: { base_url: upstream.url, key: 'the upstream key', concurrency } },
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function askDatabase(port: number, database: string, text: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: `postgres://filmgate@127.0.0.1:${port}/${database}` })
  // A connection that is cut while it is idle reports that only to its listeners.
  client.on('error', () => {})
  await client.connect()
  return (await client.query(text).finally(() => client.end())).rows as Rows
}

export function serve({ store, yaml }: World): Promise<TestService> {
  return startService({ yaml, members: simulated, env: { FILMGATE_STORE: store } })
}

export const ask = (service: TestService, mode: Mode, text = prompt) =>
  service.submit({ model: `sim-${mode}`, prompt: text }, { connection: 'close' })

export async function submit(service: TestService, mode: Mode, text = prompt): Promise<string> {
  const answer = await ask(service, mode, text)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { id: string }).id
}

/** Creates videos with different prompts, all at once. */
export function submitMany(service: TestService, count: number, name: string): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => submit(service, 'none', `${name} ${at}`)))
}

/** Like `until`, but waits longer: leases have to end, and the machine may be busy. */
export async function comes<T>(what: string, look: () => T | Promise<T>, withinMs = 90_000): Promise<T> {
  for (const end = Date.now() + withinMs; ; ) {
    const seen = await look()
    if (seen) return seen
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await pause(100)
  }
}

export async function isReady(service: TestService): Promise<boolean> {
  return (await service.fetch('/readyz', { headers: { connection: 'close' } })).status === 200
}

/** Like `finish`, but with a time limit. */
export async function completes(service: TestService, id: string): Promise<void> {
  const look = async () => {
    const answer = await service.fetch(`/v1/videos/${id}`, { headers: { connection: 'close' } })
    const { status, error } = (await answer.json()) as { status: string; error?: unknown }
    assert.notEqual(status, 'failed', JSON.stringify(error))
    return status === 'completed'
  }
  await comes(`${id} is completed`, look)
}

/** The status is 503, with a Retry-After. */
export async function refused(answer: Response): Promise<void> {
  assert.equal(answer.status, 503, await answer.text())
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
}

/** How many tasks are in each state. */
export async function countStates(world: World): Promise<Record<string, number>> {
  const rows = await world.sql('SELECT state, count(*)::int AS count FROM tasks GROUP BY state')
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

/** Every task completes, was accepted once, and no attempt is left open. */
export async function allEnd(world: World, count: number, withinMs?: number): Promise<void> {
  const states = () => world.sql('SELECT DISTINCT state FROM tasks')
  const isOver = async () => (await states()).every(({ state }) => state === 'completed' || state === 'failed')
  await comes('all tasks end', isOver, withinMs).catch(async (error) => {
    const open = "state NOT IN ('completed', 'failed')"
    const rows = await world.sql(`SELECT state, leased, due_at, attempt, tries FROM tasks WHERE ${open} LIMIT 20`)
    throw new Error(`${error.message}: ${JSON.stringify(rows)}`)
  })
  assert.deepEqual(
    await world.sql('SELECT state, count(*)::int AS count, min(error) AS error FROM tasks GROUP BY state'),
    [{ state: 'completed', count, error: null }],
  )
  const accepts = Map.groupBy(world.upstream.ledger().accepts, (accept) => accept.prompt)
  assert.deepEqual([...accepts.values()].filter(({ length }) => length > 1).flat(), [], 'it was paid for twice')
  assert.equal(accepts.size, count)
  const bound = await world.sql("SELECT operation FROM attempts WHERE state = 'accepted'")
  assert.deepEqual(
    bound.map(({ operation }) => JSON.parse(String(operation))).sort(),
    [...accepts.values()].flatMap((all) => all.map(({ id }) => id)).sort(),
  )
  assert.deepEqual(await world.sql("SELECT * FROM attempts WHERE state NOT IN ('accepted', 'refused')"), [])
  assert.deepEqual(await world.sql('SELECT * FROM slots'), [])
}
