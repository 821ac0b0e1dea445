import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { columns, deliveryColumns, toRow } from '../core/row.ts'
import { newEndpoint } from './contract/webhooks.ts'
import { cardOf, newTask, sent, taken } from './contract/world.ts'
import { testStore } from './contract.ts'
import { assertNoScan } from './quickest.fixture.ts'
import { prepareFigures } from './sqlite/figures.ts'
import { openSqlite } from './sqlite.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-sqlite-'))
after(() => rmSync(folder, { recursive: true }))

const open = (now = 0) =>
  openSqlite({
    folder,
    now,
    onFatal: (error) => {
      throw error
    },
  })
const wipe = async () => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
}

const queue = {
  cards: [{ card: 'm', cap: null, accounts: [{ name: 'p', cap: 9, maxNewTasks: 9, spare: 0 }] }],
  ownerCaps: {},
  limit: 9,
}

testStore('sqlite', { open: () => open(), wipe })

it('a task that a dead process had under lease is due at once when the store is opened again', async () => {
  await wipe()
  {
    await using store = await open()
    await store.insert(newTask('1'))
    await store.insert(newTask('2', { state: 'fetching' }))
    await store.claimQueued({ ...queue, now: 10, leaseUntil: 1_000_000 })
    const ofAlice = [{ owner: 'alice', limit: 1 }]
    await store.claimShares({ state: 'fetching' }, ofAlice, { now: 10, leaseUntil: 1_000_000 })
  }
  await using store = await open(20)
  assert.deepEqual(await store.nextDue([{ state: 'fetching' }]), [20])
  assert.equal((await store.claimQueued({ ...queue, now: 19, leaseUntil: 1_000_000 })).nextDue, 20)
  const { tasks } = await store.claimQueued({ ...queue, now: 20, leaseUntil: 1_000_000 })
  assert.equal(tasks[0]?.fence, 2)
})

it('a sum that an earlier release let grow too large is shown as the largest one, and refuses what is not free', async () => {
  await wipe()
  const priced = { price: { currency: 'USD', charge: 5, cost: null, billsFailures: true } }
  {
    await using store = await open()
    await store.insert(newTask('1', priced))
  }
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    database.exec('UPDATE spends SET amount = 9007199254740995')
  }
  await using store = await open()
  const counter = { scope: 'alice', currency: 'USD', period: 'total', starts: 0, ends: 9 }
  assert.equal(await store.spent(counter), Number.MAX_SAFE_INTEGER)
  await assert.rejects(store.insert(newTask('2', priced)), { code: 'insufficient_quota' })
  await store.insert(newTask('3'))
})

it('a queued row that can not be read does not block the others', async () => {
  await wipe()
  {
    await using store = await open()
    for (const number of ['1', '2', '3']) await store.insert(newTask(number))
  }
  const database = new DatabaseSync(join(folder, 'filmgate.db'))
  for (const [number, column] of Object.entries({ 1: 'parameters', 2: 'tried' }))
    database.prepare(`UPDATE tasks SET ${column} = '{' WHERE id = ?`).run(newTask(number).id)
  database.close()
  await using store = await open()
  const { tasks } = await store.claimQueued({ ...queue, now: 20, leaseUntil: 1_000_000 })
  assert.deepEqual(
    tasks.map(({ id }) => id),
    [newTask('3').id],
  )
})

it('a database of a newer version is refused and left as it is', async () => {
  await wipe()
  {
    await using _ = await open()
  }
  const database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec('PRAGMA user_version = 999')
  database.close()
  await assert.rejects(open(), /newer version of Filmgate/)
})

it('a video that an older version completed has no facts, no warnings and no metadata', async () => {
  await wipe()
  const task = newTask('1', { state: 'completed', completedAt: 2, expiresAt: 3 })
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    for (const name of ['0001-tasks', '0002-notices', '0003-webhooks'])
      database.exec(readFileSync(new URL(`migrations/sqlite/${name}.sql`, import.meta.url), 'utf8'))
    const known = new Set(
      database
        .prepare("SELECT name FROM pragma_table_info('tasks')")
        .all()
        .map(({ name }) => name),
    )
    const row = columns.map((name, at) => [name, toRow(task)[at] ?? null] as const).filter(([name]) => known.has(name))
    const marks = row.map(() => '?').join(', ')
    const names = row.map(([name]) => name).join(', ')
    database.prepare(`INSERT INTO tasks (${names}) VALUES (${marks})`).run(...row.map(([, value]) => value))
    database.exec('PRAGMA user_version = 3')
  }
  await using store = await open()
  assert.deepEqual(await store.find(task.id), task)
  const view = await store.read('alice', task.id)
  assert.deepEqual([view?.videoFacts, view?.warnings, view?.metadata, view?.seconds], [null, [], null, 4])
})

it('a store that is opened anew frees the slots of tasks that no attempt was opened for, and no others', async () => {
  const one = { ...queue, cards: [cardOf('m', { p: 3 })], now: 10, leaseUntil: 100 }
  await wipe()
  {
    await using store = await open()
    await sent(store, '1', 'a')
    await taken(store, '2')
    for (const number of ['3', '4', '5']) await store.insert(newTask(number))
  }
  await using store = await open()
  assert.equal((await store.claimQueued(one)).tasks.length, 2)
})

it('finds the deliveries of a state at once, however many others an endpoint has', async () => {
  await wipe()
  await using store = await open()
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    database.exec(`INSERT INTO deliveries (${deliveryColumns.join(', ')})
      WITH RECURSIVE counted (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < 50000)
      SELECT printf('wh_%044x', number), '${newEndpoint('1').id}', 'alice', 'evt_1', 'video.completed', 'video_1', 1,
        'delivered', NULL, 1, 1, 2, '[]' FROM counted`)
  }
  for (const state of ['failed', 'pending'] as const) {
    await assertNoScan(
      async () => {
        assert.deepEqual(await store.deliveries(newEndpoint('1').id, { limit: 20, state }), [])
      },
      scanOf('deliveries', "log <> ''"),
    )
  }
})

const scanOf = (table: string, condition: string) => async () => {
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.prepare(`SELECT count(*) FROM ${table} NOT INDEXED WHERE ${condition}`).get()
}

const counted = (count: number) =>
  `WITH RECURSIVE counted (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < ${count})`

it('knows the first and the last notice at once, however many there are', async () => {
  await wipe()
  await using store = await open()
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    database.exec(`INSERT INTO notices (owner, task, at, kind)
      ${counted(200_000)} SELECT 'alice', 'video_1', 1, 'completed' FROM counted`)
  }
  await assertNoScan(
    async () => {
      assert.deepEqual(await store.noticeRange(), { first: 1, last: 200_000 })
    },
    scanOf('notices', "kind <> ''"),
  )
})

it('reads the first thousand of very many queued tasks at once, as it blocks the main thread', async () => {
  await wipe()
  await using store = await open()
  await store.insert(newTask('1'))
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    const [row] = database.prepare('SELECT * FROM tasks').all()
    const others = Object.keys(row ?? {}).filter((name) => !['id', 'owner', 'due_at'].includes(name))
    database.exec(`INSERT INTO tasks (id, owner, due_at, ${others.join(', ')})
      ${counted(50_000)} SELECT printf('video_%048x', number + 1), 'owner ' || (number % 50), number + 1, ${others.join(', ')}
      FROM counted, tasks`)
  }
  await assertNoScan(
    async () => {
      assert.equal((await store.queueOf('m', 1000)).length, 1000)
    },
    scanOf('tasks', "prompt <> ''"),
  )
})

it('counts the waiting tasks of an owner, and sums its bytes, without a look at the others', async () => {
  await wipe()
  await using store = await open()
  const video = { key: 'video.mp4', bytes: 7, sha256: '0' }
  await store.insert(newTask('1', { owner: 'bob' }))
  await store.insert(newTask('2', { owner: 'bob', state: 'completed', video }))
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    const [row] = database.prepare('SELECT * FROM tasks').all()
    const others = Object.keys(row ?? {}).filter((name) => !['id', 'owner'].includes(name))
    database.exec(`INSERT INTO tasks (id, owner, ${others.join(', ')})
      ${counted(50_000)} SELECT id || number, 'alice', ${others.join(', ')} FROM counted, tasks`)
  }
  const scan = scanOf('tasks', "prompt <> ''")
  await assertNoScan(async () => assert.equal(await store.countQueued('bob', 10_000), 1), scan)
  await assertNoScan(async () => {
    assert.deepEqual(await store.sumStored('owner', { owner: 'bob', id: '' }, 5_000), { bytes: 7, next: null })
  }, scan)
  await assertNoScan(async () => assert.equal(await store.countQueued('alice', 10), 10), scan)
})

it('counts for metrics up to its limits, without a look at the other tasks', async () => {
  await wipe()
  await using store = await open()
  await store.insert(newTask('1', { account: 'p' }))
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    const [row] = database.prepare('SELECT * FROM tasks').all()
    const others = Object.keys(row ?? {}).filter((name) => !['id', 'state'].includes(name))
    for (const state of ['completed', 'queued', 'fetching', 'running'])
      database.exec(`INSERT INTO tasks (id, state, ${others.join(', ')})
        ${counted(20_000)} SELECT '${state} ' || number, '${state}', ${others.join(', ')}
        FROM counted, tasks WHERE id = '${newTask('1').id}'`)
  }
  const scan = scanOf('tasks', "prompt <> ''")
  await assertNoScan(async () => {
    const { queues, fetching, work } = await store.figures({ accounts: ['p'], mostCounted: 10, mostAttempts: 10 })
    const running = work.find(({ state }) => state === 'running')
    assert.deepEqual([queues[0]?.tasks, fetching, running?.tasks], [10, 10, 10])
  }, scan)
})

it('reads each figure in a turn of its own, so that polls come between them', async () => {
  await wipe()
  await using store = await open()
  await sent(store, '4', 'att_4')
  for (const [number, fields] of Object.entries<object>({ 1: {}, 2: { card: 'n' }, 3: { state: 'fetching' } }))
    await store.insert(newTask(number, fields))
  const times = Array.from({ length: 150 }, (_, at) => 1_000 + Math.abs(at - 100))
  await Promise.all(
    times.map((createdAt, at) =>
      store.insert(newTask(String(100 + at), { owner: `o${100 + at}`, card: 'z', createdAt })),
    ),
  )
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  /** The statements of this turn. */
  const turn = new Set<string>()
  let most = 0
  const note = (sql: string) => {
    turn.add(sql)
    most = Math.max(most, turn.size)
    setImmediate(() => turn.clear())
  }
  const prepare = (sql: string) => {
    const statement = database.prepare(sql)
    return {
      get(...given: string[]) {
        note(sql)
        return statement.get(...given)
      },
      all(...given: string[]) {
        note(sql)
        return statement.all(...given)
      },
    }
  }
  const { figures } = prepareFigures({ prepare } as unknown as DatabaseSync, async () => ['p', 'q'])
  const wanted = { accounts: ['p', 'q'], mostCounted: 10, mostAttempts: 10 }
  const { queues, fetching, open: held } = await figures(wanted)
  assert.deepEqual([queues.length, fetching, held.length], [3, 1, 1])
  assert.deepEqual(queues[2], { card: 'z', tasks: 10, oldestAt: 1_000 })
  assert.equal(most, 1)
})

it('the database refuses to change or to remove an entry of the ledger', async () => {
  await wipe()
  await using store = await open()
  const price = { currency: 'USD', charge: 3, cost: null, billsFailures: false }
  await store.insert(newTask('1', { price }))
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  assert.throws(() => database.exec('UPDATE entries SET amount = 0'), /never changed/)
  assert.throws(() => database.exec('DELETE FROM entries'), /never removed/)
  assert.equal((await store.entries(newTask('1').id)).length, 2)
})

it('reads a step of usage at once, however much there is, as it blocks the main thread', async () => {
  await wipe()
  await using store = await open()
  {
    using database = new DatabaseSync(join(folder, 'filmgate.db'))
    database.exec(`INSERT INTO usages (id, at, owner, model, outcome, seconds, took_ms, revenue, cost)
      ${counted(200_000)} SELECT 'video_' || number, number, 'owner ' || (number % 2), 'm', 'completed', 4, 7, 0, 0
      FROM counted`)
  }
  const range = { since: 0, before: 1_000_000 }
  const step = { after: { at: 100_000, number: 100_000 }, limit: 10 }
  await assertNoScan(
    async () => {
      assert.equal((await store.usage(range, step))[0]?.number, 100_001)
      assert.equal((await store.usage({ ...range, owner: 'owner 0' }, step))[0]?.number, 100_002)
      assert.equal((await store.usageBeyond(100_000, 10))[0]?.number, 100_001)
    },
    scanOf('usages', "model <> ''"),
  )
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  assert.throws(() => database.exec('UPDATE usages SET cost = 0'), /never changed/)
})
