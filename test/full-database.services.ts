import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import type { TestService } from './service.ts'
import {
  allEnd,
  ask,
  comes,
  isReady,
  openWorld,
  refused,
  serve,
  submit,
  submitMany,
  type World,
} from './services/outage-world.ts'
import { type PostgresServer, startPostgres } from './services/postgres.ts'
import { mountDisk, notMounted } from './small-disk.ts'

/* A PostgreSQL that runs but can't serve: its disk is full, or all its connections are in use. */

/** A request that can't be served is refused within this time, even on a busy machine. */
const boundMs = 3_000

/** So long that it needs new pages, even compressed. A short prompt may fit into existing ones. */
const long = () => randomBytes(15_000).toString('hex')

async function isRefused(service: TestService, text: string): Promise<void> {
  const begun = Date.now()
  const answer = await ask(service, 'none', text)
  const took = Date.now() - begun
  await refused(answer)
  assert.ok(took < boundMs, `the answer took ${took} ms`)
}

/** All connections that a process may have, and the one that listens, are idle. */
async function leavesNoConnection(world: World): Promise<void> {
  const sessions = () => world.sql("SELECT state, query FROM pg_stat_activity WHERE application_name = 'filmgate'")
  await comes('all connections are idle', async () => (await sessions()).every(({ state }) => state === 'idle'))
  assert.ok((await sessions()).length <= 9, JSON.stringify(await sessions()))
}

const count = ({ log }: TestService, what: RegExp) => log.filter((line) => what.test(line)).length

/** Only tasks that their client was promised were sent. */
function sentOnly({ upstream }: World, promised: ReadonlySet<string>): void {
  const others = upstream.ledger().accepts.filter((accept) => !promised.has(accept.prompt))
  assert.deepEqual(others, [])
}

describe('a PostgreSQL whose disk is full', () => {
  it('where its rows are: 503, nothing unstored is sent, and all is well once there is room', (test) =>
    fillUp(test, { what: 'data', megabytes: 160, sign: /could not extend file/ }))

  it('where its log is, by which it dies: the same', (test) =>
    fillUp(test, { what: 'log', megabytes: 80, sign: /pg_wal|terminated/, spend: spendLog, after: restart }))
})

interface Filling {
  what: 'data' | 'log'
  megabytes: number
  /** What the log says about it. */
  sign: RegExp
  /** What it can still serve without disk space. */
  spend?: (world: World) => Promise<void>
  after?: (postgres: PostgresServer) => Promise<void>
}

async function fillUp(test: TestContext, { what, megabytes, sign, spend, after }: Filling): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-full-'))
  test.after(() => rmdirSync(path))
  using disk = mountDisk(path, `size=${megabytes}m`)
  if (!disk) return test.skip(notMounted)
  await using postgres = await startPostgres({ fsync: 'off' }, { for: what, folder: path })
  await using world = await openWorld(postgres)
  world.upstream.setFaults({ speed: 3_000 })
  await using service = await serve(world)
  await submitMany(service, 10, 'early')
  disk.fill()
  await spend?.(world)
  const promised = new Set(Array.from({ length: 10 }, (_, at) => `early ${at}`))
  const last = await submitUntilFull(service, promised)
  await refused(last)
  for (let at = 0; at < 3; at += 1) await isRefused(service, long())
  await comes('it is not ready', async () => !(await isReady(service)))
  assert.equal((await service.fetch('/livez')).status, 200)
  sentOnly(world, promised)
  assert.ok(count(service, sign) > 0, service.log.slice(-3).join(''))
  disk.free()
  await after?.(postgres)
  await comes('it is ready', () => isReady(service))
  await comes('it stores again', async () => (await ask(service, 'none', 'once there was room')).ok)
  promised.add('once there was room')
  await allEnd(world, promised.size)
  sentOnly(world, promised)
  await leavesNoConnection(world)
  test.diagnostic(`${promised.size} were accepted, the first refusal was after ${promised.size - 11} more`)
}

/** Existing pages of the database may still have room for some rows. */
async function submitUntilFull(service: TestService, promised: Set<string>): Promise<Response> {
  for (let round = 0; round < 200; round += 1) {
    const text = long()
    const answer = await ask(service, 'none', text)
    if (!answer.ok) return answer
    promised.add(text)
  }
  throw new Error('it never was full')
}

/** Fills the last segment nearly to its end, so that the next rows need a new one. */
async function spendLog({ sql }: World): Promise<void> {
  const [at] = await sql('SELECT file_offset AS offset FROM pg_walfile_name_offset(pg_current_wal_insert_lsn())')
  const rest = Math.max(0, 16 * 2 ** 20 - Number(at?.offset) - 60_000)
  // The server may already fail here, if other connections write meanwhile.
  await sql(`SELECT pg_logical_emit_message(false, 'fill', repeat('x', ${rest}))`).catch(() => {})
}

/** The server may have restarted by itself, or not. */
async function restart(postgres: PostgresServer): Promise<void> {
  await postgres.stop('SIGQUIT')
  await postgres.start()
}

it('a PostgreSQL that can only be read: not ready, reads go on, and all is well when it can be written', async () => {
  await using postgres = await startPostgres({ fsync: 'off' })
  await using world = await openWorld(postgres)
  await using service = await serve(world)
  const id = await submit(service, 'none', 'early')
  await allEnd(world, 1)
  await setReadOnly(world, 'on')
  await comes('it is not ready', async () => {
    const answer = await service.fetch('/readyz', { headers: { connection: 'close' } })
    return answer.status === 503 && ((await answer.json()) as { store: string }).store === 'read_only'
  })
  await isRefused(service, 'while it is read')
  // A new process also serves what is stored.
  await service.restart()
  assert.equal(count(service, /the service starts read-only/), 1)
  assert.equal(await isReady(service), false)
  await isRefused(service, 'after a start')
  for (const path of ['', `/${id}`, `/${id}/content`])
    assert.equal((await service.fetch(`/v1/videos${path}`, { headers: { connection: 'close' } })).status, 200)
  await setReadOnly(world, 'off')
  await comes('it is ready', () => isReady(service))
  await comes('it says so', () => count(service, /after a read-only start: the store can be written/) === 1)
  await submit(service, 'none', 'later')
  await allEnd(world, 2)
})

/** For every connection, also those that are open. */
async function setReadOnly({ sql }: World, state: 'on' | 'off'): Promise<void> {
  const name = (await sql('SELECT current_database() AS name'))[0]?.name
  // In a transaction that may write, whatever the default of the database is.
  await sql(`BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${state}; COMMIT`)
  await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'filmgate'`)
}

it('a PostgreSQL without free connections: 503, nothing unstored is sent, and all is well when some are free', async () => {
  await using postgres = await startPostgres({ fsync: 'off', max_connections: '15' })
  await using world = await openWorld(postgres)
  world.upstream.setFaults({ speed: 3_000 })
  await using service = await serve(world)
  await submitMany(service, 10, 'early')
  await world.proxy.refuse()
  const others = await takeAll(postgres)
  await world.proxy.accept()
  const promised = new Set(Array.from({ length: 10 }, (_, at) => `early ${at}`))
  const begun = Date.now()
  await Promise.all(Array.from({ length: 20 }, (_, at) => isRefused(service, `refused ${at}`)))
  assert.ok(Date.now() - begun < boundMs)
  assert.equal(await isReady(service), false)
  // Longer than a lease. The log has one line for all tries.
  const tries = world.proxy.connections
  await comes('the engine has tried for a while', () => world.proxy.connections > tries + 20)
  assert.ok(count(service, /too many clients/) > 0)
  sentOnly(world, promised)
  for (const other of others) await other.end()
  await comes('it is ready', () => isReady(service))
  await submit(service, 'none', 'when some were free')
  await allEnd(world, 11)
  await leavesNoConnection(world)
})

/** Another client, which opens all free connections, and retries while old ones are being closed. */
async function takeAll({ url }: PostgresServer): Promise<pg.Client[]> {
  const taken: pg.Client[] = []
  const takeOne = async () => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    taken.push(client)
  }
  await comes('all are taken', async () => {
    const isFull = await takeOne().then(
      () => false,
      (error: { code?: string }) => error.code === '53300',
    )
    if (!isFull) return false
    const { rows } = (await taken[0]?.query(
      "SELECT count(*)::int AS left FROM pg_stat_activity WHERE application_name = 'filmgate'",
    )) ?? { rows: [] }
    return rows[0]?.left === 0
  })
  return taken
}
