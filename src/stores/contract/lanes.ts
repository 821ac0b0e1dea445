import assert from 'node:assert/strict'
import { it } from 'node:test'
import { longestDelayMs } from '../../core/timing.ts'
import type { Lane } from '../store.ts'
import { cardOf, decide, fresh, ids, idsOf, newTask, type StoreWorld, take, taken } from './world.ts'

/** Which tasks a claim returns, and when. */
export function testLanes(world: StoreWorld): void {
  testAccounts(world)
  testOverdue(world)
  testDue(world)
}

function testAccounts(world: StoreWorld): void {
  it('claims the due tasks of a lane, the oldest first, each once', async () => {
    await using store = await fresh(world)
    const dues = { 1: 300, 2: 100, 3: 200, 4: 900 }
    for (const [number, dueAt] of Object.entries(dues)) await store.insert(newTask(number, { state: 'failed', dueAt }))
    const wanted = { state: 'failed', limit: 2, now: 500, leaseUntil: 1_000 } as const
    const [first, second] = [await store.claim(wanted), await store.claim(wanted)]
    assert.deepEqual(ids(first).sort(), idsOf('2', '3'))
    assert.deepEqual(ids(second), idsOf('1'))
    assert.deepEqual([second[0]?.fence, second[0]?.dueAt], [1, 1_000])
  })

  it('gives no task to two claims at once', async () => {
    await using store = await fresh(world)
    for (let at = 0; at < 50; at += 1) await store.insert(newTask(String(at), { state: 'failed' }))
    const wanted = { state: 'failed', limit: 7, now: 500, leaseUntil: 1_000 } as const
    const claims = await Promise.all(Array.from({ length: 9 }, () => store.claim(wanted)))
    const claimed = claims.flatMap(ids)
    assert.deepEqual([claimed.length, new Set(claimed).size], [50, 50])
  })

  for (const state of ['held', 'running'] as const) {
    it(`claims ${state} tasks by account: a thousand due ones of another do not slow it down`, async () => {
      await using store = await fresh(world)
      const numbers = Array.from({ length: 1000 }, (_, at) => String(at))
      await Promise.all(numbers.map((number) => store.insert(newTask(number, { state, account: 'slow' }))))
      await store.insert(newTask('2000', { state, account: 'p', dueAt: 9 }))
      const wanted = { limit: 10, now: 10, leaseUntil: 100 }
      assert.deepEqual(ids(await store.claim({ state, account: 'p', ...wanted })), idsOf('2000'))
      assert.deepEqual(await store.claim({ state, account: 'p', ...wanted }), [])
      assert.equal((await store.claim({ state, account: 'slow', ...wanted })).length, 10)
    })
  }

  for (const state of ['completed', 'failed'] as const) {
    it(`claims ${state} tasks of every account, and none that is never due`, async () => {
      await using store = await fresh(world)
      await store.insert(newTask('1', { state, account: 'a' }))
      await store.insert(newTask('2', { state }))
      await store.insert(newTask('3', { state, dueAt: null }))
      const claimed = await store.claim({ state, limit: 10, now: 10, leaseUntil: 100 })
      assert.deepEqual(ids(claimed).sort(), idsOf('1', '2'))
    })
  }
}

function testOverdue(world: StoreWorld): void {
  const overdue = { state: 'overdue', limit: 10, leaseUntil: 1_000 } as const

  it('claims queued tasks past their time to start although no slot is free, and whenever they are due', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { startBy: 50, dueAt: 1e9 }))
    await store.insert(newTask('2', { startBy: 60 }))
    await store.insert(newTask('3', { startBy: 50, state: 'running', account: 'p' }))
    assert.deepEqual(await take(store, { cards: [cardOf('m', { p: 0 })], now: 55 }), [])
    assert.deepEqual(await store.claim({ ...overdue, now: 49 }), [])
    assert.deepEqual(ids(await store.claim({ ...overdue, now: 50 })), idsOf('1'))
    assert.deepEqual(ids(await store.claim({ ...overdue, now: 70 })), idsOf('2'))
  })

  it('leaves a task that is being submitted alone, until its lease ends', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1', { startBy: 50 })
    assert.deepEqual(await store.claim({ ...overdue, now: 99 }), [])
    const [late] = await store.claim({ ...overdue, now: 100 })
    assert.equal(late?.fence, task.fence + 1)
    assert.equal(await store.record(decide(task, { state: 'held' })), false)
    assert.ok(late && (await store.record(decide(late, { state: 'failed', dueAt: null }))))
  })

  it('claims a deleted queued task at once', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { dueAt: 1e9 }))
    await store.delete('alice', newTask('1').id, 20)
    const [due = 1e9] = await store.nextDue([{ state: 'overdue' }])
    assert.ok(due <= 20)
    const [deleted] = await store.claim({ ...overdue, now: 20 })
    assert.equal(deleted?.deletedAt, 20)
  })

  it('claims a task at once that was deleted while it was fetched', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { state: 'fetching' }))
    const share = [{ owner: 'alice', limit: 1 }]
    const [task] = await store.claimShares({ state: 'fetching' }, share, { now: 10, leaseUntil: 100 })
    await store.delete('alice', newTask('1').id, 20)
    assert.ok(task && (await store.record(decide(task, { state: 'queued', dueAt: 30 }))))
    assert.deepEqual(ids(await store.claim({ ...overdue, now: 30 })), idsOf('1'))
  })
}

function testDue(world: StoreWorld): void {
  it('makes tasks due that are due too late after the clock was set back, but none under lease or finished', async () => {
    await using store = await fresh(world)
    const late = 10_000_000
    await store.insert(newTask('1', { dueAt: late }))
    await store.insert(newTask('2', { dueAt: late, state: 'running', account: 'p' }))
    await store.insert(newTask('3', { dueAt: late, state: 'completed' }))
    await store.insert(newTask('4', { dueAt: 1 }))
    const others = ['fetching', 'held', 'storing', 'failed'] as const
    for (const [at, state] of others.entries()) await store.insert(newTask(String(5 + at), { dueAt: late, state }))
    await store.insert(newTask('9', { dueAt: 50 + longestDelayMs }))
    await take(store, { limit: 1, now: 1, leaseUntil: late })
    await store.repairDueTimes(50)
    const numbers = ['1', '2', '3', '4', '5', '6', '7', '8', '9']
    const dues = await Promise.all(numbers.map(async (number) => (await store.find(newTask(number).id))?.dueAt))
    assert.deepEqual(dues, [50, 50, late, late, 50, 50, 50, late, 50 + longestDelayMs])
  })

  it('says when the next task of a lane is due, leased ones when their lease ends', async () => {
    await using store = await fresh(world)
    const running = (account: string): Lane => ({ state: 'running', account })
    const lanes: Lane[] = [running('p'), running('q'), { state: 'fetching' }, { state: 'overdue' }, { state: 'failed' }]
    const dues = () => store.nextDue(lanes)
    assert.deepEqual(await dues(), [undefined, undefined, undefined, undefined, undefined])
    await store.insert(newTask('1', { state: 'running', account: 'p', dueAt: 70 }))
    await store.insert(newTask('2', { state: 'fetching', dueAt: 80 }))
    await store.insert(newTask('3', { startBy: 90 }))
    await store.insert(newTask('4', { state: 'failed', dueAt: null }))
    assert.deepEqual(await dues(), [70, undefined, 80, 90, undefined])
    await store.claim({ state: 'running', account: 'p', limit: 1, now: 70, leaseUntil: 170 })
    assert.deepEqual(await dues(), [170, undefined, 80, 90, undefined])
  })

  it('calls back when a task may have become due, or a slot free, until it is stopped', async () => {
    await using store = await fresh(world)
    let calls = 0
    const stop = store.onDue(() => {
      calls += 1
    })
    const rises = async (act: () => Promise<unknown>) => {
      const before = calls
      await act()
      assert.ok(calls > before, String(act))
    }
    for (const number of ['1', '2']) await rises(() => store.insert(newTask(number)))
    const [first, second] = await take(store)
    assert.ok(first && second)
    await rises(() => store.record(decide(first, { state: 'failed' })))
    await rises(() => store.delete('alice', second.id, 20))
    await rises(() => store.remove(second))
    await rises(() => store.repairDueTimes(30))
    stop()
    const before = calls
    await store.insert(newTask('3'))
    assert.equal(calls, before)
  })
}
