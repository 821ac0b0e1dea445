import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { startPgBouncer } from '../../test/services/pgbouncer.ts'
import { startPostgres } from '../../test/services/postgres.ts'
import { columns, deliveryColumns } from '../core/row.ts'
import type { Task } from '../core/task.ts'
import { newEndpoint } from './contract/webhooks.ts'
import { cardOf, decide, newTask, queueClaim, sent, take } from './contract/world.ts'
import { testStore } from './contract.ts'
import { openDatabase } from './postgres/database.ts'
import { queueLock, submitLock } from './postgres/migrate.ts'
import { openPostgresTransfer } from './postgres/transfer.ts'
import { openPostgres, type PostgresOptions, type PostgresStore } from './postgres.ts'
import { assertNoScan } from './quickest.fixture.ts'
import type { Transfer } from './transfer/transfer.ts'

const server = await startPostgres()
const pooler = await startPgBouncer(server.port)
after(async () => {
  await pooler[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const sleep = (ms: number, signal?: AbortSignal) =>
  setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
let count = 0

/** By a connection without the service's time limits: an autovacuum may hold a table for longer than those. */
async function wipe(): Promise<void> {
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public').finally(() => client.end())
}

const openAt = (url: string, more: Partial<PostgresOptions> = {}) => {
  const usual = { monotonic: () => performance.now(), sleep, name: `test ${count++}`, onFatal: assert.ifError }
  return openPostgres({ url, ...usual, ...more })
}

it('starts on a finished schema for a user who may not create tables, and says what is missing on an empty one', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  await database.write((query) => query('CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA public TO guest'))
  const guest = server.url.replace('filmgate@', 'guest@')
  await assert.rejects(openAt(guest), /^Error: FILMGATE_STORE: .*permission denied for schema public; .*GRANT/)
  await (await openAt(server.url))[Symbol.asyncDispose]()
  await database.write((query) => query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest'))
  await using store = await openAt(guest)
  assert.deepEqual(await store.tokens(), [])
})

it('brings the tables of an earlier release up to date, with the timelines in them', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  const folder = new URL('./migrations/postgres/', import.meta.url)
  const files = readdirSync(folder).sort().slice(0, 7)
  await database.write(async (query) => {
    await query('CREATE TABLE schema_versions (version integer PRIMARY KEY, usable_by integer NOT NULL)')
    await query('INSERT INTO schema_versions VALUES ($1, 3)', [files.length])
    for (const name of files) await query(readFileSync(new URL(name, folder), 'utf8'))
    await query("INSERT INTO tokens VALUES ('default', 'client', 'digest', '[\"*\"]', 1700000000000)")
    for (const [task, name] of Object.entries({ b: 'first of b', a: 'first of a' }))
      await query('INSERT INTO events (task, at, name) VALUES ($1, 1, $2)', [newTask(task).id, name])
  })
  await using store = await openAt(server.url)
  const [token] = await store.tokens()
  assert.deepEqual([token?.name, token?.project, token?.digest, token?.models], ['default', 'default', 'digest', ['*']])
  const task = newTask('a')
  await store.insert(task)
  const [claimed] = await take(store)
  assert.ok(claimed)
  const events = [{ at: 2, name: 'second of a', detail: null }]
  assert.ok(await store.record({ ...decide(claimed, { state: 'failed' }), events }))
  assert.deepEqual(
    (await store.events(task.id)).map(({ name }) => name),
    ['first of a', 'second of a'],
  )
})

it('a start that the database refuses names the setting and the fix', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  await database.write((query) => query('CREATE TABLE tasks (id text)'))
  await assert.rejects(openAt(server.url), /FILMGATE_STORE: .*"tasks" already exists; .*use an empty database/)
  await assert.rejects(openAt(server.url.replace('filmgate@', 'nobody@')), /FILMGATE_STORE: .*; check the user/)
  await assert.rejects(openAt(server.url.replace(/postgres$/, 'nowhere')), /FILMGATE_STORE: .*; create the database/)
  await assert.rejects(openAt('postgres://filmgate@127.0.0.1:1/x'), /FILMGATE_STORE: .*; check the host and the port/)
  await wipe()
})

it('stops if its rows were moved while it could not listen', async () => {
  await wipe()
  const fatal = Promise.withResolvers<Error>()
  await using _store = await openAt(server.url, { onFatal: fatal.resolve })
  await using database = await openDatabase(server.url)
  const others =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'filmgate' AND pid <> pg_backend_pid()"
  const openTransfer = async (): Promise<Transfer> => {
    await database.write((query) => query(others))
    return openPostgresTransfer(server.url).catch(openTransfer)
  }
  {
    await using transfer = await openTransfer()
    await transfer.retire('elsewhere')
  }
  assert.match((await fatal.promise).message, /elsewhere|a move is running/)
  await wipe()
})

it('inserts a task at once if the clock of the database has changed', async () => {
  await wipe()
  let behind = 0
  await using store = await openAt(server.url, { monotonic: () => performance.now() - behind })
  behind = 60_000
  await store.insert(newTask('1'))
  assert.ok(await store.find(newTask('1').id))
  assert.ok(store.clock.now() > Date.now() - 30_000)
})

it('what docs/scaling.md copies out is every finished task of that day', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  const docs = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8')
  const [, copied = ''] = /COPY \(\n(.+?)\n\) TO STDOUT/s.exec(docs) ?? []
  const [{ noon }] = (await database.read('SELECT (extract(epoch FROM current_date - 8) + 43200) * 1000 AS noon')) as [
    { noon: string },
  ]
  const createdAt = Number(noon)
  await store.insert(newTask('1', { state: 'completed', createdAt, completedAt: createdAt }))
  await store.insert(newTask('2', { state: 'failed', createdAt }))
  await store.insert(newTask('3', { state: 'running', createdAt }))
  await store.insert(newTask('4', { state: 'completed', createdAt: createdAt + 86_400_000 }))
  const ids = (await database.read(copied)).map(({ id }) => id).sort()
  assert.deepEqual(ids, [newTask('1').id, newTask('2').id])
})

it("an attempt that was changed by hand and can't be read fails only the reads of its own task", async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  const [one, two] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
  await database.write((query) => query("UPDATE attempts SET operation = 'not JSON' WHERE id = 'a'"))
  const [broken, whole] = await Promise.allSettled([one, two].map(({ id }) => store.attempts(id)))
  assert.deepEqual([broken?.status, whole?.status], ['rejected', 'fulfilled'])
})

it('the database refuses to change or to remove an entry of the ledger', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  const price = { currency: 'USD', charge: 3, cost: null, billsFailures: false }
  await store.insert(newTask('1', { price }))
  for (const change of ['UPDATE entries SET amount = 0', 'DELETE FROM entries'])
    await assert.rejects(database.run(change), /never changed/)
  assert.equal((await store.entries(newTask('1').id)).length, 2)
})

it('the database refuses to change a row of usage', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await store.insert(newTask('1'))
  assert.ok(await store.delete('alice', newTask('1').id, 5))
  await assert.rejects(database.run('UPDATE usages SET cost = 7'), /never changed/)
  assert.equal((await store.usageBeyond(0, 9))[0]?.cost, 0)
})

it('the COMMIT of a transaction may take as long as its statements', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  await database.write((query) =>
    query(`CREATE TABLE slow (id int);
      CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.3); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION linger()`),
  )
  await database.write((query) => query('INSERT INTO slow VALUES (1)'), 10_000)
  assert.equal((await database.read('SELECT id FROM slow')).length, 1)
  await wipe()
})

/** Another transaction, which keeps its locks until the end of the test. */
async function locking(statement: string, values: unknown[]): Promise<AsyncDisposable> {
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('BEGIN')
  await client.query(statement, values)
  return { [Symbol.asyncDispose]: () => client.end() }
}

/** Whether each was fulfilled, or why not. */
async function outcomesOf(changes: readonly Promise<unknown>[]): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(changes)
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.code))
}

it('fails only the change of a task that another transaction has locked', async () => {
  await wipe()
  await using store = await openAt(server.url)
  const tasks = [await sent(store, '1', 'a'), await sent(store, '2', 'b'), await sent(store, '3', 'c')]
  await using _other = await locking('SELECT FROM tasks WHERE id = $1 FOR UPDATE', [newTask('2').id])
  const changes = tasks.map((task) => store.record(decide(task, { state: 'running' })))
  assert.deepEqual(await outcomesOf(changes), [true, 'storage_unavailable', true])
})

it('fails only the submits of an owner that another transaction has locked', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using _other = await locking('SELECT pg_advisory_xact_lock($1::int, hashtext($2))', [submitLock, 'bob'])
  const submits = ['alice', 'bob', 'carol'].map((owner, at) => store.insert(newTask(String(at), { owner }), [], 10))
  assert.deepEqual(await outcomesOf(submits), [undefined, 'storage_unavailable', undefined])
})

it('a transaction sees what was committed while it waited, whatever the default of the database', async () => {
  await wipe()
  const url = new URL(server.url)
  url.searchParams.set('options', '-c default_transaction_isolation=serializable')
  for (const address of [url.href, pooler.url]) {
    await using database = await openDatabase(address)
    const isolation = () => database.write((query) => query('SHOW transaction_isolation'))
    assert.deepEqual(await isolation(), [{ transaction_isolation: 'read committed' }])
  }
})

it('a deletion waits for no other task', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  const [stuck, free] = [newTask('1'), newTask('2', { owner: 'bob' })]
  for (const task of [stuck, free]) await store.insert(task)
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const other = database.write(async (query) => {
    await query('SELECT FROM tasks WHERE id = $1 FOR UPDATE', [stuck.id])
    locked.resolve()
    await release.promise
  })
  await locked.promise
  let isOver = false
  const waiting = store.delete(stuck.owner, stuck.id, 5).finally(() => {
    isOver = true
  })
  assert.equal(await store.delete('bob', free.id, 5), true)
  assert.equal(isOver, false)
  release.resolve()
  await other
  assert.equal(await waiting, true)
})

it('a task can end while an endpoint of its owner is being deleted, and the delivery is dropped', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await store.insertEndpoint(newEndpoint('1'), 9)
  const held = await sent(store, '1', 'attempt_1')
  await database.write(async (query) => {
    await query('DELETE FROM endpoints')
    assert.ok(await store.record(decide(held, { state: 'completed', startedAt: 15 })))
  })
  assert.equal((await store.deliveries(newEndpoint('1').id, { limit: 9 })).length, 1)
  assert.equal(await store.trimStrayDeliveries(9), 1)
})

it('finds the deliveries of a state at once, however many others an endpoint has', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await database.write(async (query) => {
    await query(
      `INSERT INTO deliveries (${deliveryColumns.join(', ')})
       SELECT 'wh_' || lpad(to_hex(number), 44, '0'), $1, 'alice', 'evt_1', 'video.completed', 'video_1', 1,
         'delivered', NULL, 1, 1, 2, '[]' FROM generate_series(1, 100000) AS number`,
      [newEndpoint('1').id],
    )
    await query('ANALYZE deliveries')
  }, 30_000)
  for (const state of ['failed', 'pending'] as const) {
    await assertNoScan(
      async () => assert.deepEqual(await store.deliveries(newEndpoint('1').id, { limit: 20, state }), []),
      async () => void (await database.read("SELECT count(*) FROM deliveries WHERE log <> ''")),
    )
  }
})

it('claims of each owner and of each endpoint at once, however many wait', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await store.insert(newTask('1', { state: 'fetching' }))
  const others = columns.filter((name) => name !== 'id' && name !== 'due_at').join(', ')
  await database.write(async (query) => {
    await query(`INSERT INTO tasks (id, due_at, ${others})
      SELECT 'video_' || number, number, ${others} FROM tasks, generate_series(1, 100000) AS number`)
    await query(
      `INSERT INTO deliveries (${deliveryColumns.join(', ')})
       SELECT 'wh_' || lpad(to_hex(number), 44, '0'), $1, 'alice', 'evt_1', 'video.completed', 'video_1', 1,
         'pending', number, 0, 0, NULL, '[]' FROM generate_series(1, 100000) AS number`,
      [newEndpoint('1').id],
    )
    await query('ANALYZE')
  }, 60_000)
  const times = { now: store.clock.now(), leaseUntil: store.clock.now() + 1e9 }
  await assertNoScan(
    async () => {
      assert.deepEqual(await store.dueOwners({ state: 'fetching' }, times.now), ['alice'])
      const tasks = await store.claimShares({ state: 'fetching' }, [{ owner: 'alice', limit: 9 }], times)
      assert.equal(tasks.length, 9)
    },
    async () => void (await database.read("SELECT count(*) FROM tasks WHERE prompt <> ''")),
  )
  await assertNoScan(
    async () => {
      const wanted = [{ endpoint: newEndpoint('1').id, limit: 9 }]
      assert.equal((await store.claimDeliveries(wanted, times.now, times.leaseUntil)).length, 9)
    },
    async () => void (await database.read("SELECT count(*) FROM deliveries WHERE log <> ''")),
  )
})

it('claims as quickly if the statistics of the database are from before many tasks came', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await store.insert(newTask('1', { state: 'completed', dueAt: null }))
  const others = columns.filter((name) => !['id', 'owner', 'state', 'account', 'due_at'].includes(name)).join(', ')
  const insert = (state: string) =>
    `INSERT INTO tasks (id, owner, state, account, due_at, ${others})
     SELECT 'video_${state}' || number, 'owner ' || number % 20, '${state}', 'p', number, ${others}
     FROM tasks, generate_series(1, 20000) AS number WHERE id = '${newTask('1').id}'`
  await database.write(async (query) => {
    await query('ALTER TABLE tasks SET (autovacuum_enabled = off)')
    await query(insert('completed'))
    await query('ANALYZE tasks')
    for (const state of ['queued', 'fetching', 'storing']) await query(insert(state))
  }, 60_000)
  const times = { now: store.clock.now(), leaseUntil: store.clock.now() + 1e9 }
  const scan = async () => void (await database.read("SELECT count(*) FROM tasks WHERE prompt <> ''"))
  await assertNoScan(async () => {
    assert.equal((await store.claimQueued(queueClaim({ limit: 40, ...times }))).tasks.length, 40)
  }, scan)
  for (const lane of [{ state: 'fetching' }, { state: 'storing', account: 'p' }] as const)
    await assertNoScan(async () => {
      assert.equal((await store.dueOwners(lane, times.now)).length, 20)
      const shares = [{ owner: 'owner 1', limit: 9 }]
      assert.equal((await store.claimShares(lane, shares, times)).length, 9)
    }, scan)
})

it('counts for metrics up to its limits, also with statistics from before many tasks came', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  await store.insert(newTask('1', { state: 'completed', dueAt: null }))
  const others = columns.filter((name) => !['id', 'state', 'account', 'due_at'].includes(name)).join(', ')
  const insert = (state: string) =>
    `INSERT INTO tasks (id, state, account, due_at, ${others})
     SELECT 'video_${state}' || number, '${state}', 'p', number, ${others}
     FROM tasks, generate_series(1, 50000) AS number WHERE id = '${newTask('1').id}'`
  await database.write(async (query) => {
    await query('ALTER TABLE tasks SET (autovacuum_enabled = off)')
    await query(insert('completed'))
    await query('ANALYZE tasks')
    for (const state of ['queued', 'fetching', 'running']) await query(insert(state))
  }, 60_000)
  const scan = async () => void (await database.read("SELECT count(*) FROM tasks WHERE prompt <> ''"))
  const look = async () => {
    const { queues, fetching, work } = await store.figures({ accounts: ['p'], mostCounted: 10, mostAttempts: 10 })
    const running = work.find(({ state }) => state === 'running')
    assert.deepEqual([queues[0]?.tasks, fetching, running?.tasks], [10, 10, 10])
  }
  await assertNoScan(look, scan)
  await database.write((query) => query('ANALYZE tasks'), 60_000)
  await assertNoScan(look, scan)
})

/** That many processes on one database. */
async function openSeveral(count: number, stack: AsyncDisposableStack): Promise<PostgresStore[]> {
  await wipe()
  const first = stack.use(await openAt(server.url))
  const others = Array.from({ length: count - 1 }, async () => stack.use(await openAt(server.url)))
  return [first, ...(await Promise.all(others))]
}

it('claims for one account while another process claims for another', async () => {
  await using stack = new AsyncDisposableStack()
  const [one, other] = (await openSeveral(2, stack)) as [PostgresStore, PostgresStore]
  for (const [number, card] of Object.entries({ 1: 'm', 2: 'n' })) await one.insert(newTask(number, { card }))
  const cards = { m: cardOf('m', { p: 9 }), n: cardOf('n', { q: 9 }) }
  const claim = (store: PostgresStore, ...claimed: (keyof typeof cards)[]) =>
    store.claimQueued(queueClaim({ cards: claimed.map((name) => cards[name]) }))
  await using database = await openDatabase(server.url)
  await database.write(async (query) => {
    // As long as this transaction lasts, another process seems to claim for account p.
    await query("SELECT pg_advisory_xact_lock($1, hashtext('account:p'))", [queueLock])
    const none = await claim(one, 'm')
    assert.deepEqual([none.tasks, none.nextDue], [[], 10])
    const some = await claim(other, 'm', 'n')
    assert.deepEqual([some.tasks.map(({ card }) => card), some.nextDue], [['n'], 10])
  })
  assert.equal((await claim(one, 'm')).tasks.length, 1)
})

it('leaves the tasks of an owner with a cap that another process is booking, and looks only at owners whose tasks it takes', async () => {
  await using stack = new AsyncDisposableStack()
  const [store] = (await openSeveral(1, stack)) as [PostgresStore]
  for (const [number, owner] of Object.entries({ 1: 'alice', 2: 'bob', 3: 'carol' }))
    await store.insert(newTask(number, { owner }))
  const claim = async (limit: number) => {
    const ownerCaps = { alice: 5, bob: 5 }
    const { tasks, nextDue } = await store.claimQueued(queueClaim({ limit, ownerCaps }))
    return { owners: tasks.map(({ owner }) => owner), nextDue }
  }
  await using database = await openDatabase(server.url)
  await database.write(async (query) => {
    await query("SELECT pg_advisory_xact_lock($1, hashtext('owner:bob'))", [queueLock])
    assert.deepEqual(await claim(1), { owners: ['alice'], nextDue: null })
    assert.deepEqual(await claim(9), { owners: ['carol'], nextDue: 10 })
  })
  assert.deepEqual((await claim(9)).owners, ['bob'])
})

it('several processes share the queue fairly, and each task is claimed once', async () => {
  await using stack = new AsyncDisposableStack()
  const stores = await openSeveral(4, stack)
  const counts = { alice: 200, bob: 60, carol: 100 }
  const tasks = Object.entries(counts).flatMap(([owner, count]) =>
    Array.from({ length: count }, (_, at) =>
      newTask(`${owner.charCodeAt(0)}${String(at).padStart(4, '0')}`, { owner }),
    ),
  )
  await Promise.all(tasks.map((task) => stores[0]?.insert(task)))
  const claimed: Task[] = []
  const drain = async (store: PostgresStore) => {
    while (claimed.length < 120) claimed.push(...(await take(store, { limit: 5 })))
  }
  await Promise.all(stores.map(drain))
  assert.equal(new Set(claimed.map(({ id }) => id)).size, claimed.length)
  const shares = Object.keys(counts).map((name) => claimed.filter(({ owner }) => owner === name).length)
  // Each process is ahead by one turn at most.
  assert.ok(Math.max(...shares) - Math.min(...shares) <= stores.length, String(shares))
})

it('keeps to the cap of an owner while several processes claim its tasks for several accounts', async () => {
  await using stack = new AsyncDisposableStack()
  const stores = await openSeveral(4, stack)
  for (let number = 0; number < 40; number += 1)
    await stores[0]?.insert(newTask(String(number), { card: `card ${number % 4}` }))
  const claims = stores.map((store, at) =>
    take(store, { cards: [cardOf(`card ${at}`, { [`account ${at}`]: 9 })], ownerCaps: { alice: 5 } }),
  )
  assert.equal((await Promise.all(claims)).flat().length, 5)
})

it('of a hundred submits to several processes at once, a limit of ten waiting tasks admits ten', async () => {
  await using stack = new AsyncDisposableStack()
  const stores = await openSeveral(4, stack)
  const submits = Array.from({ length: 100 }, (_, at) => stores[at % 4]?.insert(newTask(String(at)), [], 10))
  const results = await Promise.allSettled(submits)
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10)
  assert.equal(await stores[0]?.countQueued('alice', 100), 10)
})

it('counts the waiting tasks of an owner, and sums its bytes, without a look at the others', async () => {
  await wipe()
  await using store = await openAt(server.url)
  await using database = await openDatabase(server.url)
  const video = { key: 'video.mp4', bytes: 7, sha256: '0' }
  for (const [number, state] of Object.entries({ 1: 'queued', 2: 'completed' } as const))
    await store.insert(newTask(number, { owner: 'bob', state, video: state === 'completed' ? video : null }))
  const others = columns.filter((name) => name !== 'id' && name !== 'owner').join(', ')
  await database.write(async (query) => {
    await query(`INSERT INTO tasks (id, owner, ${others})
      SELECT tasks.id || number, 'alice', ${others} FROM tasks, generate_series(1, 50000) AS number`)
    await query('ANALYZE')
  }, 60_000)
  const scan = async () => void (await database.read("SELECT count(*) FROM tasks WHERE prompt <> ''"))
  await assertNoScan(async () => assert.equal(await store.countQueued('bob', 10_000), 1), scan)
  await assertNoScan(async () => {
    assert.deepEqual(await store.sumStored('owner', { owner: 'bob', id: '' }, 5_000), { bytes: 7, next: null })
  }, scan)
  await assertNoScan(async () => assert.equal(await store.countQueued('alice', 10), 10), scan)
})

for (const [name, url] of [
  ['postgres', server.url],
  ['postgres behind PgBouncer', pooler.url],
] as const) {
  testStore(name, { open: () => openAt(url), wipe })
}
