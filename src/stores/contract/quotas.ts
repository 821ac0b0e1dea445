import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import type { StoredPlace } from '../../core/row.ts'
import { capsAt, type SpendCap } from '../../core/spend.ts'
import type { Asset, Task, TaskPrice } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { decide, fresh, newAttempt, newTask, type StoreWorld, take, taken } from './world.ts'

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

/** Limits on the waiting tasks of an owner, and what is stored of it. */
export function testQuotas(world: StoreWorld): void {
  testQueued(world)
  testStored(world)
}

function testQueued(world: StoreWorld): void {
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
    assert.ok(await queues(store, newTask('8'), 9))
    for (const number of ['9', '10']) assert.ok(await queues(store, newTask(number)))
    assert.ok(!(await queues(store, newTask('11'), 8)))
    const counts = [store.countQueued('alice', 100), store.countQueued('alice', 5), store.countQueued('dave', 5)]
    assert.deepEqual(await Promise.all(counts), [8, 5, 0])
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

const asset = (key: string, bytes: number): Asset => ({ key, bytes, sha256: '0' })
const image = (bytes: number): Task['image'] => ({
  asset: asset('image', bytes),
  type: 'image/png',
  size: { width: 1, height: 1 },
})

/** By steps of that many tasks. */
async function stored(store: Store, owner: string | null, limit = 100): Promise<number> {
  let bytes = 0
  let after: StoredPlace = { owner: owner ?? '', id: '' }
  for (;;) {
    const step = await store.sumStored(owner === null ? 'all' : 'owner', after, limit)
    bytes += step.bytes
    if (step.next === null) return bytes
    after = step.next
  }
}

function testStored(world: StoreWorld): void {
  it('counts the bytes of a video and of its inputs until they are removed', async () => {
    await using store = await fresh(world)
    const source = { kind: 'edit', video: null, prompt: null, seconds: 4, asset: asset('source.mp4', 30) } as const
    const task = await taken(store, '1', { image: image(20), source })
    assert.equal(await stored(store, 'alice'), 50)
    const times = { completedAt: 20, expiresAt: 30, dueAt: 30 }
    const video = asset('video.mp4', 4_000_000_000)
    assert.ok(await store.record(decide(task, { state: 'completed', video, ...times })))
    assert.equal(await stored(store, 'alice'), 4_000_000_050)
    const [expired] = await store.claim({ state: 'completed', limit: 1, now: 40, leaseUntil: 99 })
    assert.ok(expired)
    assert.deepEqual([expired.video, expired.image, expired.source], [video, image(20), source])
    assert.ok(await store.record(decide(expired, { video: null, image: null, dueAt: 50 })))
    assert.equal(await stored(store, 'alice'), 0)
  })

  it('counts an image of a URL when it is stored, and nothing of a task that failed without one', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { state: 'fetching', image: { url: 'https://example.com/a.png' } }))
    assert.equal(await stored(store, 'alice'), 0)
    const shares = [{ owner: 'alice', limit: 1 }]
    const [fetched] = await store.claimShares({ state: 'fetching' }, shares, { now: 10, leaseUntil: 99 })
    assert.ok(fetched && (await store.record(decide(fetched, { state: 'queued', image: image(7), dueAt: 11 }))))
    assert.equal(await stored(store, 'alice'), 7)
    const [queued] = await take(store, { limit: 1, now: 12 })
    const error = { code: 'generation_failed', message: 'it failed' } as const
    assert.ok(queued && (await store.record(decide(queued, { state: 'failed', error, image: null, dueAt: 13 }))))
    assert.equal(await stored(store, 'alice'), 0)
  })

  it('counts a deleted video until its row is removed', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { state: 'completed', video: asset('video.mp4', 9), dueAt: 30 }))
    assert.ok(await store.delete('alice', newTask('1').id, 5))
    assert.equal(await stored(store, 'alice'), 9)
    const [deleted] = await store.claim({ state: 'completed', limit: 1, now: 40, leaseUntil: 99 })
    assert.ok(deleted && (await store.remove(deleted)))
    assert.equal(await stored(store, 'alice'), 0)
  })

  it('sums by owner and over all of them, in steps of any size', async () => {
    await using store = await fresh(world)
    const owners = ['alice', 'bob', 'bob', 'carla', 'alice', 'bob']
    const tasks = owners.map((owner, at) =>
      newTask(String(at), { owner, state: 'completed', video: asset('video.mp4', 10 ** at) }),
    )
    await Promise.all([...tasks, newTask('99', { owner: 'bob' })].map((task) => store.insert(task)))
    for (const limit of [1, 2, 3, 100]) {
      assert.equal(await stored(store, null, limit), 111_111)
      assert.equal(await stored(store, 'alice', limit), 10_001)
      assert.equal(await stored(store, 'bob', limit), 100_110)
      assert.equal(await stored(store, 'dave', limit), 0)
    }
  })

  it('sums by the hour of expiry, in steps of any size', async () => {
    await using store = await fresh(world)
    const hour = 3_600_000
    const expiries = [5 * hour, 5 * hour + 1, 7 * hour - 1, null]
    const tasks = expiries.map((expiresAt, at) =>
      newTask(String(at), { owner: `owner ${at}`, state: 'completed', video: asset('video.mp4', 10 ** at), expiresAt }),
    )
    await Promise.all([...tasks, newTask('99', { expiresAt: hour })].map((task) => store.insert(task)))
    for (const limit of [1, 2, 3, 4, 100])
      assert.deepEqual(await expiring(store, limit), { 5: [2, 11], 6: [1, 100], null: [1, 1_000] })
  })
}

/** The tasks and bytes of each hour, by steps of that many tasks. */
async function expiring(store: Store, limit: number): Promise<Record<string, number[]>> {
  const hours: Record<string, [tasks: number, bytes: number]> = {}
  let after: StoredPlace = { owner: '', id: '' }
  for (;;) {
    const step = await store.storedExpiries(after, limit)
    for (const { hour, tasks, bytes } of step.sums) {
      const [others, otherBytes] = hours[String(hour)] ?? [0, 0]
      hours[String(hour)] = [others + tasks, otherBytes + bytes]
    }
    if (step.next === null) return hours
    after = step.next
  }
}
