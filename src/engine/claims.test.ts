import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../core/problem.ts'
import { newTask } from '../stores/contract.ts'
import type { Store } from '../stores/store.ts'
import { poll } from '../workers/poll.ts'
import { type Run, wakeUntil, world } from './world.fixture.ts'

const farAway = 1e12
const fetching = (number: string, dueAt = 1) => newTask(number, { state: 'fetching', dueAt })

/** Resolves once the condition holds. The clock stands still. */
async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

/** An engine that makes a round of claims when the test says so, on a clock that stands still; and the tasks it began. */
async function openLooking(change: (store: Store) => Partial<Store> = () => ({})) {
  const begun: string[] = []
  let looks = 0
  const run: Run = async ({ id }) => {
    begun.push(id)
    return { change: { state: 'queued', dueAt: null } }
  }
  const engine = await world(run, (store) => ({
    ...store,
    ...change(store),
    nextDue(lanes) {
      looks += 1
      return store.nextDue(lanes)
    },
  }))
  /** An insert wakes the engine. */
  const look = async (number: string, dueAt = farAway) => {
    const before = looks
    await engine.store.insert(fetching(number, dueAt))
    await untilTrue(() => looks > before)
  }
  return { ...engine, begun, look }
}

it('nothing is claimed while a decision waits for the store to come back', async () => {
  let isAway = true
  let recorded = 0
  await using engine = await openLooking((store) => ({
    async record(entry) {
      if (isAway) throw new Problem('storage_unavailable', 'away', { retryable: true })
      recorded += 1
      return store.record(entry)
    },
  }))
  const [first, second] = [fetching('1'), fetching('2')]
  await engine.store.insert(first)
  await untilTrue(() => engine.lines.some((line) => line.startsWith('a decision could not be recorded')))
  // When the second round after it has begun, an earlier round is over.
  for (const number of ['91', '92']) await engine.look(number)
  await engine.store.insert(second)
  for (const number of ['93', '94']) await engine.look(number)
  const meanwhile = [...engine.begun]
  isAway = false
  await wakeUntil(engine.clock, () => recorded === 2)
  assert.deepEqual(meanwhile, [first.id], 'another task was claimed')
  assert.deepEqual(engine.begun, [first.id, second.id])
})

it('a clock that is set back does not hold up what was due soon', async () => {
  const [minute, day] = [60_000, 24 * 3_600_000]
  await using engine = await openLooking()
  engine.clock.advance(2 * day)
  const dueAt = engine.clock.now() + minute
  // The first look may be that of a round that began before: the second is of one that knows the time.
  for (const number of ['1', '2']) await engine.look(number, dueAt)
  engine.clock.advance(-day)
  // The engine still sleeps by the old clock. These inserts wake it. When the second round after it has begun, the one that
  // noticed is over.
  for (const number of ['3', '4', '5']) await engine.look(number, dueAt)
  engine.clock.advance(minute)
  for (const number of ['6', '7', '8']) await engine.look(number)
  assert.ok(engine.begun.length > 0, 'it waited until the clock was where it had been')
})

it('polls that become due shortly after one another are claimed together', async () => {
  const claims: string[][] = []
  let looks = 0
  const run: Run = async () => ({ change: { dueAt: null } })
  const change = (store: Store): Store => ({
    ...store,
    nextDue(lanes) {
      looks += 1
      return store.nextDue(lanes)
    },
    async claim(wanted) {
      const tasks = await store.claim(wanted)
      claims.push(tasks.map(({ id }) => id))
      return tasks
    },
  })
  await using engine = await world(run, change, ['running'])
  const [first, ...others] = ['1', '2', '3'].map((number) =>
    newTask(number, { state: 'running', account: 'p', startedAt: 1, operation: 'op', dueAt: 1 }),
  )
  assert.ok(first)
  await engine.store.insert(first)
  await untilTrue(() => claims.length > 0)
  for (const task of others) {
    const before = looks
    await engine.store.insert(task)
    // When the second round after it has begun, an earlier round is over.
    while (looks < before + 2) await engine.store.repairDueTimes(engine.clock.now())
  }
  assert.deepEqual(claims, [[first.id]])
  await wakeUntil(engine.clock, () => claims.length > 1)
  assert.deepEqual(claims[1]?.sort(), others.map(({ id }) => id).sort())
})

it('an account that accepts many tasks is polled for more of them at once', async () => {
  const begun: string[] = []
  const end = Promise.withResolvers<void>()
  const run: Run = async ({ id }) => {
    begun.push(id)
    await end.promise
    return { change: { dueAt: null } }
  }
  // The account of the engine accepts 10 tasks.
  const limitFor = (concurrency: number) => 2 * concurrency
  await using engine = await world(run, (store) => store, ['running'], limitFor)
  const due = { state: 'running', account: 'p', startedAt: 1, operation: 'op', dueAt: 1 } as const
  await Promise.all(Array.from({ length: 30 }, (_, at) => engine.store.insert(newTask(String(10 + at), due))))
  await untilTrue(() => begun.length === 20)
  end.resolve()
  await untilTrue(() => begun.length === 30)
  assert.deepEqual(
    [1, 1_000, 4_096, 100_000].map((tasks) => poll.limitFor?.(tasks)),
    [64, 64, 256, 512],
  )
})

for (const state of ['fetching', 'storing'] as const)
  it(`one owner’s slow ${state} tasks leave slots to another owner`, async () => {
    const begun: string[] = []
    const slow = Promise.withResolvers<void>()
    const run: Run = async ({ owner }) => {
      begun.push(owner)
      if (owner === 'alice') await slow.promise
      return { change: { state: 'failed', error: { code: 'internal', message: 'It ends.' }, dueAt: null } }
    }
    await using engine = await world(run, (store) => store, [state])
    const add = (number: number, owner: string) =>
      engine.store.insert(newTask(String(number), { state, owner, account: state === 'storing' ? 'p' : null }))
    for (let number = 0; number < 50; number += 1) await add(number, 'alice')
    // Half of the 10 slots that the worker has.
    await untilTrue(() => begun.length === 5)
    for (let number = 50; number < 60; number += 1) await add(number, 'bob')
    await untilTrue(() => begun.length === 15)
    assert.equal(begun.filter((owner) => owner === 'bob').length, 10)
    slow.resolve()
  })
