import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import { cardOf, decide, fresh, ids, idsOf, newTask, type StoreWorld, take, taken } from './world.ts'

/** Leases: which process may write a task, and until when. */
export function testLeases(world: StoreWorld): void {
  testClaims(world)
  testDecisions(world)
  testClaimOne(world)
}

function testClaims(world: StoreWorld): void {
  it('claims what is due, oldest first, each task once', async () => {
    await using store = await fresh(world)
    for (const [id, dueAt] of [
      ['1', 300],
      ['2', 100],
      ['3', 200],
      ['4', 900],
    ] as const)
      await store.insert(newTask(id, { dueAt }))
    const wanted = { limit: 2, now: 500, leaseUntil: 1_000 }
    // In any order.
    const claims = await Promise.all([take(store, wanted), take(store, wanted)])
    const [second = [], first = []] = claims.sort((one, other) => one.length - other.length)
    assert.deepEqual(ids(first), idsOf('2', '3'))
    assert.deepEqual(ids(second), idsOf('1'))
    assert.equal(first[0]?.fence, 1)
  })

  it('claims no more than the cap allows, running tasks and those being submitted included', async () => {
    await using store = await fresh(world)
    const running = await taken(store, '6')
    await store.record(decide(running, { state: 'running', dueAt: 900 }))
    for (const id of ['1', '2', '3', '4']) await store.insert(newTask(id))
    await store.insert(newTask('5', { card: 'other' }))
    const cards = [cardOf('m', { p: 3 })]
    assert.equal((await take(store, { cards })).length, 2)
    assert.equal((await take(store, { cards })).length, 0)
    assert.deepEqual(ids(await take(store, { cards: [...cards, cardOf('other', { other: 3 })] })), idsOf('5'))
  })

  it('hands a task out again when its lease ended, and the old holder can write nothing', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1'))
    const [old] = await take(store)
    assert.deepEqual(await take(store, { now: 99, leaseUntil: 200 }), [])
    const [again] = await take(store, { now: 100, leaseUntil: 200 })
    assert.ok(old && again)
    assert.ok(again.fence > old.fence)
    assert.equal(await store.record(decide(old, { state: 'failed', dueAt: null })), false)
    assert.equal(await store.remove(old), false)
    assert.deepEqual(await store.renew([old, again], 300), [old])
    assert.equal((await store.read('alice', old.id))?.state, 'queued')
    assert.equal(await store.record(decide(again, { state: 'running', dueAt: 400 })), true)
    assert.equal((await store.read('alice', old.id))?.state, 'running')
  })

  it('gives a task to no other claim as long as its lease is renewed', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    assert.deepEqual(await store.renew([task], 300), [])
    assert.deepEqual(await take(store, { now: 299, leaseUntil: 400 }), [])
    assert.equal((await take(store, { now: 300, leaseUntil: 400 })).length, 1)
  })
}

function testDecisions(world: StoreWorld): void {
  it('gives the lease back with a decision: its holder can write once', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    assert.equal(await store.record(decide(task, { progress: 5, dueAt: 20 })), true)
    assert.equal(await store.record(decide(task, { progress: 9, dueAt: 20 })), false)
    assert.equal((await store.read('alice', task.id))?.progress, 5)
  })

  it('leaves the lease with a decision that keeps it: its holder can write again, and no other claim gets the task', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    assert.equal(
      await store.record(decide(task, { state: 'held', progress: 1, dueAt: null }, { keepsLease: true })),
      true,
    )
    const kept = await store.find(task.id)
    assert.deepEqual([kept?.state, kept?.progress, kept?.dueAt, kept?.fence], ['held', 1, 100, task.fence])
    const lane = { state: 'held', account: 'p', limit: 1, leaseUntil: 200 } as const
    assert.deepEqual(await store.claim({ ...lane, now: 99 }), [])
    assert.equal(await store.record(decide(task, { state: 'running', progress: 2, dueAt: 50 })), true)
    assert.equal(await store.record(decide(task, { progress: 3 })), false)
    assert.equal((await store.find(task.id))?.progress, 2)
  })

  it('keeps everything that a decision can write', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    const asset = { key: 'a/b', bytes: 3, sha256: 'c' }
    const after: Task = {
      ...task,
      state: 'completed',
      progress: 100,
      image: { asset, type: 'image/png', size: { width: 1, height: 2 } },
      startBy: 4,
      startedAt: 1,
      missingAt: 5,
      completedAt: 2,
      expiresAt: 3,
      account: 'q',
      attempt: 'att_1',
      attempts: 6,
      tried: ['r', "s'"],
      operation: { deep: [1, 'two', null, { three: true }] },
      output: 'text',
      video: asset,
      error: { code: 'internal', message: "it's" },
      dueAt: null,
      tries: 7,
    }
    assert.equal(await store.record({ task: after }), true)
    assert.deepEqual(await store.find(task.id), after)
    const view = await store.read('alice', task.id)
    assert.deepEqual(view, Object.fromEntries(Object.keys(view ?? {}).map((name) => [name, after[name as keyof Task]])))
  })

  it('removes a row under its lease', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    assert.equal(await store.remove(task), true)
    assert.equal(await store.read('alice', task.id), undefined)
    assert.equal(await store.remove(task), false)
  })
}

function testClaimOne(world: StoreWorld): void {
  it('claims one task by its id, due or not, if it is in that state and not under lease', async () => {
    await using store = await fresh(world)
    const { id } = newTask('1')
    await store.insert(newTask('1', { state: 'held', account: 'p', dueAt: 1e9 }))
    assert.equal(await store.claimOne(id, 'running', 100), undefined)
    assert.equal(await store.claimOne(newTask('2').id, 'held', 100), undefined)
    const both = await Promise.all([store.claimOne(id, 'held', 100), store.claimOne(id, 'held', 100)])
    const [first, second] = both.filter((task) => task !== undefined)
    assert.deepEqual([first?.id, first?.fence, first?.dueAt, second], [id, 1, 100, undefined])
    assert.ok(first && (await store.record(decide(first, { dueAt: 1e9 }))))
    assert.equal((await store.claimOne(id, 'held', 100))?.fence, 2)
  })
}
