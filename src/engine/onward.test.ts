import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../core/task.ts'
import { leaseMs } from '../core/timing.ts'
import { newTask } from '../stores/contract.ts'
import type { Store } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'
import type { Lanes, WorkerLane } from './lanes.ts'
import { openOnward } from './onward.ts'
import type { Runs } from './runs.ts'
import { type Run, world } from './world.fixture.ts'

const polled = (number: string, owner = 'alice') =>
  newTask(number, { state: 'running', account: 'p', startedAt: 1, operation: 'op', dueAt: 1, owner })

async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

/** An engine whose polls all find a finished result. Results of alice are downloaded when `slow` resolves. */
async function openFinished() {
  const slow = Promise.withResolvers<void>()
  const storing: Task[] = []
  const run: Run = async (task) => {
    if (task.state === 'running') return { change: { state: 'storing', progress: 99, output: 'link', dueAt: 1_000 } }
    storing.push(task)
    if (task.owner === 'alice') await slow.promise
    return { change: { state: 'failed', error: { code: 'internal', message: 'It ends.' }, dueAt: null } }
  }
  const engine = await world(run, (store) => store, ['running', 'storing'])
  return { ...engine, storing, slow }
}

it('a finished result is downloaded under the lease of its poll', async () => {
  await using engine = await openFinished()
  const { store, storing, slow, clock } = engine
  const task = polled('1')
  await store.insert(task)
  await untilTrue(() => storing.length === 1)
  const meanwhile = await store.find(task.id)
  assert.deepEqual([meanwhile?.state, meanwhile?.progress, meanwhile?.output], ['storing', 99, 'link'])
  assert.deepEqual([storing[0]?.fence, meanwhile?.fence], [1, 1], 'it was claimed a second time')
  const claim = (now: number) =>
    store.claimShares({ state: 'storing', account: 'p' }, [{ owner: 'alice', limit: 1 }], { now, leaseUntil: now + 1 })
  assert.deepEqual(await claim(clock.now()), [], 'another process could claim it')
  slow.resolve()
  await engine.until(({ state }) => state === 'failed', task.id)
  assert.deepEqual(
    (await store.events(task.id)).map(({ name }) => name),
    ['storing', 'failed'],
  )
})

it('if its process is killed meanwhile, another one downloads the result when the lease has ended', async () => {
  await using engine = await openFinished()
  await engine.store.insert(polled('1'))
  await untilTrue(() => engine.storing.length === 1)
  const [now, leaseUntil] = [engine.clock.now() + leaseMs, engine.clock.now() + 2 * leaseMs]
  const share = [{ owner: 'alice', limit: 1 }]
  const [claimed] = await engine.store.claimShares({ state: 'storing', account: 'p' }, share, { now, leaseUntil })
  assert.deepEqual([claimed?.output, claimed?.fence], ['link', 2])
  engine.slow.resolve()
})

it('results of one owner that are slow to download leave slots to another owner', async () => {
  await using engine = await openFinished()
  const { store, storing, slow } = engine
  const add = (from: number, to: number, owner: string) =>
    Promise.all(Array.from({ length: to - from }, (_, at) => store.insert(polled(String(from + at), owner))))
  await add(10, 40, 'alice')
  // Half of the 10 slots that the worker has.
  await untilTrue(() => storing.length === 5)
  // Polls that become due shortly after one another are claimed together.
  engine.clock.advance(100)
  await add(40, 50, 'bob')
  await untilTrue(() => storing.filter(({ owner }) => owner === 'bob').length === 10)
  assert.equal(storing.filter(({ owner }) => owner === 'alice').length, 5)
  slow.resolve()
})

it('a claim that is under way keeps the slots that it will take', async () => {
  const [claiming, release, answer] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const [polls, storing]: Task[][] = [[], []]
  const run: Run = async (task) => {
    if (task.state === 'storing') {
      storing?.push(task)
      return { change: { state: 'failed', error: { code: 'internal', message: 'It ends.' }, dueAt: null } }
    }
    polls?.push(task)
    await answer?.promise
    return { change: { state: 'storing', progress: 99, output: 'link', dueAt: 1_000 } }
  }
  const change = (store: Store): Store => ({
    ...store,
    async claimShares(...wanted) {
      const tasks = await store.claimShares(...wanted)
      claiming?.resolve()
      await release?.promise
      return tasks
    },
  })
  await using engine = await world(run, change, ['running', 'storing'])
  await Promise.all(Array.from({ length: 5 }, (_, at) => engine.store.insert(polled(String(20 + at)))))
  // Polls that become due shortly after one another are claimed together.
  engine.clock.advance(100)
  await untilTrue(() => polls?.length === 5)
  const waiting = Array.from({ length: 5 }, (_, at) => ({ ...polled(String(10 + at)), state: 'storing' as const }))
  for (const task of waiting) await engine.store.insert(task)
  await claiming?.promise
  answer?.resolve()
  for (const { id } of polls ?? []) await engine.until(({ state }) => state === 'storing', id)
  assert.deepEqual(storing, [])
  release?.resolve()
})

it('a task goes on only with a free slot for its owner, and never before one that waits', () => {
  const worker = { limit: 4 } as Worker
  const lane: WorkerLane = { worker, where: { state: 'storing', account: 'p' }, lagMs: 0, hasBacklog: false }
  const [before, after] = [polled('1'), { ...polled('1'), state: 'storing' as const }]
  let mayClaim = true
  const nextLane = openOnward({
    lanes: { storingOf: (account: string) => (account === 'p' ? lane : undefined) } as Lanes,
    mayClaim: () => mayClaim,
  })
  const heldBy = (...owners: string[]) =>
    new Set(owners.map((owner) => ({ lane, task: { owner } }))) as unknown as Runs['active']
  assert.equal(nextLane(before, after, heldBy('alice')), lane)
  assert.equal(nextLane(before, { ...after, deletedAt: 1 }, heldBy()), undefined)
  assert.equal(nextLane(before, { ...after, account: 'q' }, heldBy()), undefined)
  assert.equal(nextLane(after, after, heldBy()), undefined, 'a download that failed waits for its next try')
  mayClaim = false
  assert.equal(nextLane(before, after, heldBy()), undefined)
  mayClaim = true
  assert.equal(nextLane(before, after, heldBy('alice', 'alice')), undefined)
  assert.equal(nextLane(before, { ...after, owner: 'bob' }, heldBy('alice', 'alice')), undefined, 'alice waits')
  lane.hasBacklog = false
  assert.equal(nextLane(before, { ...after, owner: 'bob' }, heldBy('alice', 'alice')), lane)
})
