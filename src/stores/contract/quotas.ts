import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import { capsAt, type SpendCap } from '../../core/spend.ts'
import type { Task, TaskPrice } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { fresh, newAttempt, newTask, type StoreWorld, take } from './world.ts'

/** Whether the task was inserted, if so many tasks of its owner may wait. */
async function queues(store: Store, task: Task, most?: number): Promise<boolean> {
  try {
    await store.insert(task, [], most)
    return true
  } catch (thrown) {
    assert.equal(Problem.from(thrown).code, 'queue_full', String(thrown))
    assert.equal(await store.find(task.id), undefined, 'a refused task is not stored')
    return false
  }
}

/** Limits on the waiting tasks of an owner. */
export function testQuotas(world: StoreWorld): void {
  it('counts the waiting tasks of an owner, of all cards, and those that wait for an image', async () => {
    await using store = await fresh(world)
    for (const task of [newTask('1'), newTask('2', { card: 'n' }), newTask('3', { state: 'fetching' })])
      assert.ok(await queues(store, task, 3))
    assert.ok(!(await queues(store, newTask('4'), 3)))
    assert.ok(await queues(store, newTask('5', { owner: 'bob' }), 3), 'each owner by itself')
    assert.ok(await queues(store, newTask('6')), 'without a limit')
    assert.ok(!(await queues(store, newTask('7'), 4)), 'it counts whatever inserted them')
    assert.ok(await queues(store, newTask('7'), 5))
    assert.ok(!(await queues(store, newTask('8'), 2)), 'a limit may be below what waits')
  })

  it('has room again when a task has left the queue', async () => {
    await using store = await fresh(world)
    for (const number of ['1', '2']) assert.ok(await queues(store, newTask(number), 2))
    assert.ok(!(await queues(store, newTask('3'), 2)))
    const [task] = await take(store, { limit: 1 })
    assert.ok(task)
    const held: Task = { ...task, state: 'held', attempt: 'a', attempts: 1 }
    assert.ok(await store.record({ task: held, opened: newAttempt('a', task), keepsLease: true }))
    assert.ok(await queues(store, newTask('3'), 2))
    assert.ok(!(await queues(store, newTask('4'), 2)))
  })

  it('finished tasks do not count, however many there are', async () => {
    await using store = await fresh(world)
    for (let number = 10; number < 20; number += 1)
      await store.insert(newTask(String(number), { state: number % 2 ? 'completed' : 'running', account: 'p' }))
    assert.ok(await queues(store, newTask('1'), 1))
    assert.ok(!(await queues(store, newTask('2'), 1)))
  })

  it('of a hundred submits at once, a limit of ten admits ten', async () => {
    await using store = await fresh(world)
    const tasks = Array.from({ length: 100 }, (_, at) => newTask(String(at)))
    const results = await Promise.all(tasks.map((task) => queues(store, task, 10)))
    assert.equal(results.filter(Boolean).length, 10)
    assert.equal((await take(store, { limit: 100 })).length, 10)
  })

  it('admits many under a large limit, and then knows that a smaller one is reached', async () => {
    await using store = await fresh(world)
    const tasks = Array.from({ length: 200 }, (_, at) => newTask(String(at)))
    const results = await Promise.all(tasks.map((task) => queues(store, task, 10_000)))
    assert.ok(results.every(Boolean))
    assert.ok(!(await queues(store, newTask('999'), 200)))
    assert.ok(await queues(store, newTask('999'), 201))
  })

  it('a task with a price has to fit the limit and the cap, and reserves nothing if it does not', async () => {
    await using store = await fresh(world)
    const price: TaskPrice = { currency: 'USD', charge: 3, cost: 2, billsFailures: true }
    const caps: SpendCap[] = [{ period: 'total', limit: 6, zone: 'UTC' }]
    const codeOf = async (number: string, most: number) => {
      const task = newTask(number, { price })
      return store.insert(task, capsAt(caps, task), most).then(
        () => 'admitted',
        (error) => Problem.from(error).code,
      )
    }
    assert.equal(await codeOf('1', 1), 'admitted')
    assert.equal(await codeOf('2', 1), 'queue_full')
    assert.deepEqual(await store.entries(newTask('2').id), [])
    assert.equal(await codeOf('2', 5), 'admitted')
    assert.equal(await codeOf('3', 5), 'insufficient_quota')
    assert.ok(await queues(store, newTask('3'), 3), 'a free task has no cap')
  })
}
