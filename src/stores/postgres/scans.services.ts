import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startPostgres } from '../../../test/services/postgres.ts'
import { columns, deliveryColumns } from '../../core/row.ts'
import { capsAt } from '../../core/spend.ts'
import type { Task, TaskPrice } from '../../core/task.ts'
import { newEndpoint } from '../contract/webhooks.ts'
import { decide, factOf, newAttempt, newTask, take } from '../contract/world.ts'
import { openPostgres, type PostgresStore } from '../postgres.ts'
import { type Database, openDatabase } from './database.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const sleep = (ms: number, signal?: AbortSignal) =>
  setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
let count = 0

const openStore = () =>
  openPostgres({
    url: server.url,
    monotonic: () => performance.now(),
    sleep,
    name: `test ${count++}`,
    onFatal: assert.ifError,
  })

it('writes without a scan of a table of some thousand rows', async () => {
  // A connection reports its last scans when it closes: those of the filling must not come later.
  {
    await using store = await openStore()
    await using database = await openDatabase(server.url)
    await fillTables(store, database, 3_000)
  }
  const ofStart = await scansOf(async () => {})
  const ofTasks = await scansOf(async (store) => {
    // From its sixth execution on, PostgreSQL may use one plan of a statement for all values.
    for (let number = 1; number <= 8; number += 1) await finishOne(store, String(number))
  })
  assert.deepEqual(ofTasks, ofStart)
})

it('claims without a read of the whole queue, also when PostgreSQL expects it to be short', async () => {
  {
    await using store = await openStore()
    await using database = await openDatabase(server.url)
    await database.write((query) => query('ANALYZE tasks'))
    await fillQueue(store, database, 3_000)
  }
  const read = await queueReadsOf(async (store) => {
    for (let number = 1; number <= 8; number += 1) assert.equal((await take(store, { limit: 1 })).length, 1)
  })
  assert.ok(read < 1_000, `${read} entries for eight tasks`)
})

/** How many entries of the index of the queue are read by a process that does this. */
async function queueReadsOf(work: (store: PostgresStore) => Promise<void>): Promise<number> {
  await using database = await openDatabase(server.url)
  const read = async () => {
    const text = "SELECT idx_tup_read::integer AS entries FROM pg_stat_user_indexes WHERE indexrelname = 'tasks_queue'"
    const [row] = await database.read(text)
    return Number(row?.entries)
  }
  const before = await read()
  {
    await using store = await openStore()
    await work(store)
  }
  return (await read()) - before
}

/** How often each large table was scanned by a process that does this. */
async function scansOf(work: (store: PostgresStore) => Promise<void>): Promise<Record<string, number>> {
  await using database = await openDatabase(server.url)
  const read = async () => {
    const rows = await database.read('SELECT relname, seq_scan::integer AS scans FROM pg_stat_user_tables')
    return new Map(rows.map(({ relname, scans }) => [String(relname), Number(scans)]))
  }
  const before = await read()
  {
    await using store = await openStore()
    await work(store)
  }
  const all = await read()
  const large = ['tasks', 'attempts', 'spends', 'deliveries']
  return Object.fromEntries(large.map((name) => [name, Number(all.get(name)) - Number(before.get(name))]))
}

const price: TaskPrice = { currency: 'USD', charge: 1, cost: 1, billsFailures: true }
const spendCaps = (task: Task) => capsAt([{ period: 'total', limit: 1e9, zone: 'UTC' }], task)

/** An endpoint, and so many rows in each table. */
async function fillTables(store: PostgresStore, database: Database, rows: number): Promise<void> {
  const task = newTask('0', { price })
  await store.insert(task, spendCaps(task))
  await store.insertEndpoint(newEndpoint('1'), 9)
  const others = columns.filter((name) => name !== 'id' && name !== 'state').join(', ')
  await database.write(async (query) => {
    await query(`INSERT INTO tasks (id, state, ${others})
      SELECT 'video_' || number, 'running', ${others} FROM tasks, generate_series(1, ${rows}) AS number`)
    await query(`DELETE FROM tasks WHERE id = '${task.id}'`)
    await query(`INSERT INTO attempts (id, task, number, account, key_version, upstream_model, opened_at, state)
      SELECT number, 'video_' || number, 1, 'p', 'k', 'u', 1, 'accepted' FROM generate_series(1, ${rows}) AS number`)
    await query(`INSERT INTO spends (scope, currency, period, starts, ends, amount)
      SELECT number, 'USD', 'total', 0, 1, 0 FROM generate_series(1, ${rows}) AS number`)
    await query(`INSERT INTO deliveries (${deliveryColumns.join(', ')})
      SELECT 'wh_' || number, '${newEndpoint('1').id}', 'alice', 'evt_1', 'video.completed', 'video_1', 1,
        'delivered', NULL, 0, 0, 9, '[]' FROM generate_series(1, ${rows}) AS number`)
    await query('ANALYZE')
  }, 60_000)
}

async function fillQueue(store: PostgresStore, database: Database, rows: number): Promise<void> {
  const task = newTask('queue')
  await store.insert(task)
  const others = columns.filter((name) => name !== 'id').join(', ')
  await database.write((query) =>
    query(`INSERT INTO tasks (id, ${others})
    SELECT '${task.id}' || number, ${others} FROM tasks, generate_series(1, ${rows}) AS number WHERE id = '${task.id}'`),
  )
}

/** A task from its submit to the delivery of its end. */
async function finishOne(store: PostgresStore, number: string): Promise<void> {
  const task = newTask(number, { price })
  await store.insert(task, spendCaps(task))
  const [claimed] = await take(store, { limit: 1 })
  const held: Task = { ...(claimed as Task), state: 'held', attempt: `a${number}`, attempts: 1 }
  assert.ok(await store.record({ task: held, opened: newAttempt(`a${number}`, held), keepsLease: true }))
  const fact = factOf(`a${number}`, 'accepted', `op ${number}`)
  const running = decide(held, { state: 'running', operation: `op ${number}` }, { fact, keepsLease: true })
  assert.ok(await store.record(running))
  const end = { state: 'completed', completedAt: 20, expiresAt: 30, dueAt: store.clock.now() + 1e9 } as const
  assert.ok(await store.record(decide(running.task, end)))
  const now = store.clock.now()
  const [delivery] = await store.claimDeliveries([{ endpoint: newEndpoint('1').id, limit: 1 }], now, now + 1e6)
  assert.ok(delivery && (await store.recordDelivery({ ...delivery, state: 'delivered', dueAt: null, endedAt: 30 })))
}
