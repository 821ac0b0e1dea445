import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task, TaskPrice } from '../../core/task.ts'
import type { UsageRecord } from '../../core/usage.ts'
import type { Store } from '../store.ts'
import { decide, factOf, fresh, newTask, type StoreWorld, sent } from './world.ts'

const dollar = 1_000_000
const price: TaskPrice = { currency: 'USD', charge: 3 * dollar, cost: 2 * dollar, billsFailures: true }
const always = { since: 0, before: 1e12 }
const error = { code: 'generation_failed', message: 'it failed' } as const
const ends = (state: string, at: number) => [{ at, name: state, detail: null }]

/** Steps until there are no more records. */
async function readAll(store: Store, range: { since: number; before: number; owner?: string }, limit = 100) {
  const found: UsageRecord[] = []
  for (;;) {
    const after = found.at(-1)
    const step = await store.usage(range, { ...(after && { after }), limit })
    found.push(...step)
    if (step.length < limit) return found
  }
}

function timesOf(records: readonly UsageRecord[]): number[] {
  return records.map(({ at }) => at)
}

/** Without their numbers. */
async function recordsOf(store: Store): Promise<Omit<UsageRecord, 'number'>[]> {
  return (await readAll(store, always)).map(({ number: _, ...record }) => record)
}

/** A task that was accepted, and runs under its lease. */
async function running(store: Store, number: string, fields: Partial<Task> = {}): Promise<Task> {
  const task = await sent(store, number, `a${number}`, fields)
  const fact = factOf(`a${number}`, 'accepted', `op ${number}`)
  const change = decide(task, { state: 'running', startedAt: 10 }, { fact, keepsLease: true })
  assert.ok(await store.record(change))
  return change.task
}

/** Adds a record with this time. */
async function cancel(store: Store, number: string, at: number, owner = 'alice'): Promise<void> {
  await store.insert(newTask(number, { owner }))
  assert.ok(await store.delete(owner, newTask(number).id, at))
}

/** What the operator pays for these tasks, by the ledger. */
async function costOf(store: Store, tasks: readonly Task[]): Promise<number> {
  const entries = (await Promise.all(tasks.map(({ id }) => store.entries(id)))).flat()
  return entries.filter(({ account }) => account.startsWith('cost ')).reduce((sum, { amount }) => sum + amount, 0)
}

/** The cost and revenue of ended tasks. */
export function testUsage(world: StoreWorld): void {
  testEnds(world)
  testReads(world)
  testCursor(world)
}

function testEnds(world: StoreWorld): void {
  it('counts each task once, with its end, and keeps that after the row is gone', async () => {
    await using store = await fresh(world)
    const done = await running(store, '1', { price, token: 'tok_1' })
    assert.equal((await store.find(done.id))?.token, 'tok_1')
    assert.deepEqual(await recordsOf(store), [], 'nothing is counted before the end')
    const completed = { state: 'completed', completedAt: 20, expiresAt: 30, dueAt: 30 } as const
    assert.ok(await store.record(decide(done, completed, { events: ends('completed', 20) })))
    const failed = await running(store, '2')
    assert.ok(await store.record(decide(failed, { state: 'failed', error }, { events: ends('failed', 40) })))
    const deleted = newTask('3', { price, owner: 'bob' })
    await store.insert(deleted)
    assert.ok(await store.delete('bob', deleted.id, 50))
    const free = { revenue: 0, cost: 0, currency: null, code: null, token: null }
    const usual = { owner: 'alice', model: 'm', account: 'p', seconds: 4 }
    const expected = [
      {
        ...{ id: done.id, task: done.id, at: 20, ...usual, token: 'tok_1', outcome: 'completed', code: null },
        ...{ tookMs: 19, revenue: 3 * dollar, cost: 2 * dollar, currency: 'USD' },
      },
      { id: failed.id, task: failed.id, at: 40, ...usual, ...free, outcome: 'failed', code: error.code, tookMs: 39 },
      {
        ...{ id: deleted.id, task: deleted.id, at: 50, ...usual, ...free, owner: 'bob', account: null },
        ...{ outcome: 'cancelled', tookMs: 49, currency: 'USD' },
      },
    ]
    assert.deepEqual(await recordsOf(store), expected)
    assert.ok(await store.delete('alice', done.id, 60))
    const [last] = await store.claim({ state: 'completed', limit: 1, now: 70, leaseUntil: 99 })
    assert.ok(last && (await store.remove(last)))
    assert.deepEqual(await recordsOf(store), expected, 'a deletion after the end is no other end')
  })

  it('a decision whose lease is lost counts nothing', async () => {
    await using store = await fresh(world)
    const task = await running(store, '1', { price })
    assert.ok(!(await store.record(decide({ ...task, fence: task.fence + 1 }, { state: 'failed', error }))))
    assert.deepEqual(await recordsOf(store), [])
  })

  it('counts the cost of attempts that no task uses apart from the tasks, once, as the ledger does', async () => {
    await using store = await fresh(world)
    // Accepted after its task had failed.
    const late = await sent(store, '1', 'a1', { price, token: 'tok_1' })
    const abandoned = { fact: factOf('a1', 'abandoned'), events: ends('failed', 20) }
    assert.ok(await store.record(decide(late, { state: 'failed', error }, abandoned)))
    for (const _ of [1, 2]) await store.settle(late.id, factOf('a1', 'accepted', 'op 1'))
    // Deleted while it ran, and followed to its end.
    const followed = await running(store, '2', { price })
    assert.ok(await store.delete('alice', followed.id, 30))
    assert.ok(await store.record(decide(followed, { state: 'failed', error }, { events: ends('failed', 40) })))
    // Deleted while it ran, and removed.
    const removed = await running(store, '3', { price })
    assert.ok(await store.delete('alice', removed.id, 50))
    assert.ok(await store.remove(removed))
    const records = await recordsOf(store)
    const shown = records.map(({ id, outcome, cost }) => `${id.slice(-2)} ${outcome} ${cost / dollar}`)
    assert.deepEqual(shown.toSorted(), [
      '01 failed 0',
      '02 cancelled 0',
      '03 cancelled 0',
      'a1 unused 2',
      'a2 unused 2',
      'a3 unused 2',
    ])
    const unused = records.find(({ id }) => id === 'a1')
    assert.deepEqual([unused?.task, unused?.token, unused?.account], [late.id, 'tok_1', 'p'])
    const counted = records.reduce((sum, { cost }) => sum + cost, 0)
    assert.equal(counted, await costOf(store, [late, followed, removed]))
  })
}

function testReads(world: StoreWorld): void {
  it('reads each record of a range once, by its time, in steps of any size, for all owners or one', async () => {
    await using store = await fresh(world)
    // Several have the same time, and the times are not in the order of the numbers.
    const times = [500, 100, 300, 300, 300, 200, 500]
    for (const [at, time] of times.entries()) await cancel(store, String(at), time, at % 2 === 0 ? 'alice' : 'bob')
    for (const limit of [1, 2, 3, 100]) {
      const atTimes = async (range: { since: number; before: number; owner?: string }) =>
        timesOf(await readAll(store, range, limit))
      assert.deepEqual(await atTimes(always), [100, 200, 300, 300, 300, 500, 500])
      assert.deepEqual(await atTimes({ since: 200, before: 500 }), [200, 300, 300, 300])
      assert.deepEqual(await atTimes({ since: 300, before: 301, owner: 'alice' }), [300, 300])
      assert.deepEqual(await atTimes({ ...always, owner: 'bob' }), [100, 200, 300])
      assert.deepEqual(await atTimes({ ...always, owner: 'nobody' }), [])
    }
  })

  it('drops records from before a time, a limited number at once', async () => {
    await using store = await fresh(world)
    for (const [at, time] of [300, 100, 200].entries()) await cancel(store, String(at), time)
    assert.equal(await store.trimUsage(300, 1), 1)
    assert.deepEqual(timesOf(await readAll(store, always)), [200, 300])
    assert.equal(await store.trimUsage(300, 9), 1)
    assert.equal(await store.trimUsage(300, 9), 0)
    assert.equal((await readAll(store, always)).length, 1)
  })
}

function testCursor(world: StoreWorld): void {
  it('shows what is beyond a number, in the order in which it was added', async () => {
    await using store = await fresh(world)
    assert.equal(await store.lastUsage(), 0)
    for (const [at, time] of [300, 100, 200].entries()) await cancel(store, String(at), time)
    const [first, ...others] = await store.usageBeyond(0, 9)
    assert.ok(first)
    assert.deepEqual(timesOf([first, ...others]), [300, 100, 200])
    assert.deepEqual(await store.usageBeyond(first.number, 1), others.slice(0, 1))
    assert.deepEqual(await store.usageBeyond(others.at(-1)?.number ?? 0, 9), [])
    assert.equal(await store.lastUsage(), others.at(-1)?.number)
  })

  it('one holder at a time moves the cursor, until its lease ends', async () => {
    await using store = await fresh(world)
    assert.equal(await store.moveUsageCursor('one', 5), false, 'there is no lease')
    assert.equal(await store.leaseUsageCursor({ holder: 'one', now: 10, until: 20 }), 0)
    assert.equal(await store.leaseUsageCursor({ holder: 'two', now: 19, until: 29 }), undefined)
    assert.equal(await store.moveUsageCursor('two', 7), false)
    assert.equal(await store.moveUsageCursor('one', 5), true)
    assert.equal(await store.leaseUsageCursor({ holder: 'one', now: 15, until: 25 }), 5)
    assert.equal(await store.leaseUsageCursor({ holder: 'two', now: 24, until: 34 }), undefined, 'it was renewed')
    assert.equal(await store.leaseUsageCursor({ holder: 'two', now: 25, until: 35 }), 5)
    assert.equal(await store.moveUsageCursor('one', 9), false)
    assert.equal(await store.leaseUsageCursor({ holder: 'one', now: 35, until: 45 }), 5)
  })
}
