import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { decide, fresh, newTask, type StoreWorld, sent } from './world.ts'

/** Notices for clients, and idempotency keys. */
export function testNotices(world: StoreWorld): void {
  it('writes a notice for each new status of a task, and for nothing else', async () => {
    await using store = await fresh(world)
    const held = await sent(store, '1', 'attempt_1')
    assert.deepEqual(await told(store), [])
    const running = { ...held, state: 'running' as const, startedAt: 20 }
    assert.ok(
      await store.record(
        decide(running, {}, { keepsLease: true, events: [{ at: 21, name: 'running', detail: null }] }),
      ),
    )
    assert.ok(await store.record(decide(running, { progress: 40 }, { keepsLease: true })))
    assert.ok(await store.record(decide(running, { state: 'failed', error: { code: 'internal', message: 'x' } })))
    assert.deepEqual(await told(store), [
      ['alice', held.id, 'in_progress', 21],
      ['alice', held.id, 'failed', 20],
    ])
  })

  it('writes no notice if the lease was lost, and for a deleted task only the deletion', async () => {
    await using store = await fresh(world)
    const held = await sent(store, '1', 'attempt_1')
    assert.equal(await store.record(decide({ ...held, fence: 99 }, { state: 'running', startedAt: 20 })), false)
    assert.ok(await store.delete('alice', held.id, 30))
    assert.equal(await store.delete('alice', held.id, 31), false)
    assert.ok(await store.record(decide(held, { state: 'running', startedAt: 32 })))
    assert.deepEqual(await told(store), [['alice', held.id, 'deleted', 30]])
  })

  it('returns notices in the order of their numbers, all or those of one owner, from any position', async () => {
    await using store = await fresh(world)
    assert.deepEqual(await store.noticeRange(), { first: 0, last: 0 })
    for (const [number, owner] of [
      ['1', 'alice'],
      ['2', 'bob'],
      ['3', 'alice'],
      ['4', 'alice'],
    ] as const) {
      await store.insert(newTask(number, { owner }))
      await store.delete(owner, newTask(number).id, Number(number))
    }
    const all = await store.notices(0, [], 10)
    const numbers = all.map(({ number }) => number)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
    )
    assert.deepEqual(
      all.map(({ task }) => task),
      ['1', '2', '3', '4'].map((number) => newTask(number).id),
    )
    const [first = 0, second = 0, , last = 0] = numbers
    assert.deepEqual(await store.noticeRange(), { first, last })
    assert.deepEqual(
      (await store.notices(second, [], 1)).map(({ task }) => task),
      [newTask('3').id],
    )
    const own = await store.noticesOf('alice', first, 10)
    assert.deepEqual(
      own.map(({ task }) => task),
      [newTask('3').id, newTask('4').id],
    )
  })

  it('drops the oldest notices, but never the newest, and never uses a number twice', async () => {
    await using store = await fresh(world)
    const remove = async (number: string) => {
      await store.insert(newTask(number))
      await store.delete('alice', newTask(number).id, Number(number))
    }
    for (const number of ['1', '2', '3']) await remove(number)
    const { last } = await store.noticeRange()
    assert.equal(await store.trimNotices(2, 10), 1)
    assert.equal(await store.trimNotices(100, 1), 1)
    assert.equal(await store.trimNotices(100, 10), 0)
    await remove('4')
    const numbers = (await store.notices(0, [], 10)).map(({ number }) => number)
    assert.equal(numbers[0], last)
    assert.ok((numbers[1] ?? 0) > last)
  })

  it('calls back when there may be a notice, until it is stopped', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1'))
    const heard = Promise.withResolvers<void>()
    const stop = store.onNotice(heard.resolve)
    await store.delete('alice', newTask('1').id, 1)
    await heard.promise
    stop()
  })

  it('does not call back for progress or a poll', async () => {
    await using store = await fresh(world)
    const begun = { state: 'running' as const, startedAt: 20 }
    let task: Task = { ...(await sent(store, '1', 'attempt_1')), ...begun }
    let calls = 0
    const stop = store.onNotice(() => {
      calls += 1
    })
    for (let progress = 1; progress <= 20; progress += 1) {
      assert.ok(await store.record(decide(task, { progress }, { events: [] })))
      task = (await store.claimOne(task.id, 'running', 100)) as Task
    }
    // A process is called once when it begins to listen to the others.
    assert.ok(calls <= 1, `it was called ${calls} times`)
    const before = calls
    assert.ok(await store.record(decide(task, {}, { events: [{ at: 21, name: 'noted', detail: null }] })))
    assert.ok(calls > before)
    stop()
  })

  it("keeps a client's key with its task, once for each owner, until the row is removed", async () => {
    await using store = await fresh(world)
    const task = newTask('1', { idempotencyKey: 'k' })
    await store.insert(task)
    const results = await Promise.allSettled([
      store.insert(newTask('5')),
      store.insert(newTask('2', { idempotencyKey: 'k' })),
      store.insert(newTask('3', { idempotencyKey: 'k', owner: 'bob' })),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    const { reason } = results[1] as PromiseRejectedResult
    assert.equal(reason.code, 'idempotency_key_taken')
    assert.deepEqual(await store.findByKey('alice', 'k'), task)
    assert.equal((await store.findByKey('bob', 'k'))?.id, newTask('3').id)
    assert.equal(await store.findByKey('alice', 'other'), undefined)
    await store.delete('alice', task.id, 2)
    assert.equal((await store.findByKey('alice', 'k'))?.id, task.id)
    const [due] = await store.claim({ state: 'overdue', limit: 1, now: 2, leaseUntil: 100 })
    assert.ok(due && (await store.remove(due)))
    assert.equal(await store.findByKey('alice', 'k'), undefined)
    await store.insert(newTask('4', { idempotencyKey: 'k' }))
  })
}

async function told(store: Store): Promise<unknown[]> {
  return (await store.notices(0, [], 100)).map(({ owner, task, kind, at }) => [owner, task, kind, at])
}
