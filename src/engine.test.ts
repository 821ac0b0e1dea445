import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { type ManualClock, manualClock } from './core/clock.fixture.ts'
import { healthy } from './core/health.ts'
import { Problem } from './core/problem.ts'
import type { Task } from './core/task.ts'
import { leaseMs, renewMs } from './core/timing.ts'
import { startEngine } from './engine.ts'
import { newTask } from './stores/contract.ts'
import { openSqlite } from './stores/sqlite.ts'
import type { Store } from './stores/store.ts'
import type { Decision, Tools, Worker } from './workers/worker.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-engine-'))
after(() => rmSync(folder, { recursive: true }))
let count = 0

type Run = Worker['run']
const quiet = { info() {}, warn() {}, error() {} }
const task = newTask('1', { state: 'fetching' })

/** An engine on a real store, with one worker for tasks of one state and a clock that the test moves. */
async function world(run: Run, change: (store: Store) => Store = (store) => store) {
  const stack = new AsyncDisposableStack()
  const data = mkdtempSync(join(folder, String(count++)))
  const real = stack.use(await openSqlite({ folder: data, now: 0, onFatal: assert.ifError }))
  const store = change(real)
  const clock = manualClock(1_000)
  const worker: Worker = { name: 'test', states: ['fetching'], limit: 10, run }
  const random = (count: number) => new Uint8Array(count)
  const accounts = new Map([['p', { name: 'p', concurrency: 10, health: healthy }]])
  const card = { id: 'm', concurrency: null, routes: [{ account: 'p', upstreamModel: 'u', priority: 0, weight: 1 }] }
  const catalog = { entries: new Map([['m', { name: 'm', card }]]) }
  const tools = { clock, accounts, catalog } as unknown as Tools
  const redact = (text: string) => text.replaceAll('hunter2', '[redacted]')
  const options = { store, workers: [worker], discard, tools, ownerCaps: {}, clock, random, log: quiet, redact }
  stack.use(await startEngine(options))
  const until = async (condition: (task: Task) => boolean) => {
    for (;;) {
      const changed = Promise.withResolvers<void>()
      const stop = real.onDue(changed.resolve)
      const found = await real.find(task.id)
      if (found && condition(found)) return found
      await changed.promise
      stop()
    }
  }
  return { store: real, clock, until, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const discard: Worker = { name: 'discard', states: [], limit: 1, run: async () => ({ remove: true }) }
const toQueued = (operation: string): Decision => ({
  change: { state: 'queued', operation, dueAt: null },
})

it('a new task is taken up at once and its decision recorded', async () => {
  await using engine = await world(async () => toQueued('done'))
  await engine.store.insert(task)
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'done')
})

it('a retryable problem is tried again after a while, and gives the reason when it never ends', async () => {
  let runs = 0
  await using engine = await world(async () => {
    runs += 1
    throw new Problem('generation_failed', 'no luck', { retryable: true })
  })
  await engine.store.insert(task)
  await engine.until(({ tries }) => tries === 1)
  engine.clock.advance(2_000)
  const failed = await engine.until(({ state }) => state === 'failed')
  assert.deepEqual(failed.error, { code: 'generation_failed', message: 'no luck' })
  assert.equal(runs, 2)
})

it('what nobody foresaw does not reach the client, but its task ends', async () => {
  await using engine = await world(async () => {
    throw new Error('password=hunter2')
  })
  await engine.store.insert(task)
  for (let tries = 1; tries <= 4; tries += 1) {
    await engine.until((found) => found.tries === tries)
    engine.clock.advance(60_000)
  }
  const failed = await engine.until(({ state }) => state === 'failed')
  assert.equal(failed.error?.code, 'internal')
  assert.ok(!JSON.stringify(failed).includes('hunter2'))
})

it('a decision that the store cannot take is held on to until it can', async () => {
  let refusals = 3
  const fullDisk = (store: Store): Store => ({
    ...store,
    async record(after) {
      if (refusals-- > 0) throw new Problem('storage_unavailable', 'full', { retryable: true })
      return store.record(after)
    },
  })
  let runs = 0
  await using engine = await world(async () => {
    runs += 1
    return toQueued('paid for')
  }, fullDisk)
  await engine.store.insert(task)
  await wakeUntil(engine.clock, () => refusals < 0)
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'paid for')
  assert.equal(runs, 1)
})

it('a lease is renewed while its action runs', async () => {
  const release = Promise.withResolvers<void>()
  const renewed: number[] = []
  const watch = (store: Store): Store => ({
    ...store,
    async renew(leases, leaseUntil) {
      renewed.push(leaseUntil)
      return store.renew(leases, leaseUntil)
    },
  })
  await using engine = await world(async () => {
    await release.promise
    return toQueued('slow')
  }, watch)
  await engine.store.insert(task)
  await wakeUntil(engine.clock, () => renewed.length >= 5)
  assert.deepEqual(
    await engine.store.claim({ state: 'fetching', limit: 1, now: engine.clock.now(), leaseUntil: 0 }),
    [],
  )
  release.resolve()
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'slow')
})

it('an action that lost its lease is told to stop and writes nothing', async () => {
  const started = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  await using engine = await world(async (_task, _tools, { signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    stopped.resolve()
    return toQueued('late')
  })
  await engine.store.insert(task)
  await started.promise
  const [other] = await engine.store.claim({ state: 'fetching', limit: 1, now: 1_000 + leaseMs, leaseUntil: 1e9 })
  assert.ok(other)
  await wakeUntil(engine.clock, () => stopped.promise)
  assert.equal(await engine.store.record({ task: { ...other, operation: 'other', dueAt: null } }), true)
  assert.equal((await engine.store.find(task.id))?.operation, 'other')
})

it('a deleted task goes to the one that lets go of it, also when it is deleted in the middle of an action', async () => {
  const release = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  await using engine = await world(async () => {
    started.resolve()
    await release.promise
    return { change: { dueAt: 1e9 } }
  })
  await engine.store.insert(task)
  await started.promise
  await engine.store.delete('alice', task.id, 1_000)
  release.resolve()
  // Its id is free again once the row is gone.
  while (
    await engine.store.insert(task).then(
      () => false,
      () => true,
    )
  )
    await new Promise((resolve) => setImmediate(resolve))
})

it('draining waits for the action under way and begins no other', async () => {
  const begun: string[] = []
  const started = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const engine = await world(async ({ id }) => {
    begun.push(id)
    started.resolve()
    await release.promise
    return toQueued('finished')
  })
  await engine.store.insert(task)
  await started.promise
  const drained = engine[Symbol.asyncDispose]()
  await engine.store.insert(newTask('2', { state: 'fetching' }))
  release.resolve()
  await drained
  assert.deepEqual(begun, [task.id])
})

/** Moves time on, a renewal at a time, until the condition holds. */
async function wakeUntil(clock: ManualClock, condition: () => boolean | Promise<void>): Promise<void> {
  for (;;) {
    const held = condition()
    if (held === true) return
    clock.advance(renewMs)
    const pause = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
    if (held !== false && (await Promise.race([held.then(() => true), pause]))) return
    await pause
  }
}
