import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openAccess } from '../access.ts'
import { openHealths } from '../accounts/healths.ts'
import { type ManualClock, manualClock } from '../core/clock.fixture.ts'
import { healthy } from '../core/health.ts'
import type { Task } from '../core/task.ts'
import { startEngine } from '../engine.ts'
import { newTask } from '../stores/contract.ts'
import { openSqlite } from '../stores/sqlite.ts'
import type { Lane, Store } from '../stores/store.ts'
import { discard, rehome } from '../workers/index.ts'
import type { Account, Tools, Worker } from '../workers/worker.ts'
import { memorySpill, memoryUnsentNotes } from './memory.fixture.ts'
import { idleMs } from './options.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-lanes-'))
after(() => rmSync(folder, { recursive: true }))
const quiet = { info() {}, warn() {}, error: assert.fail }
const second = 1_000

async function openWorld() {
  const data = mkdtempSync(join(folder, 'store-'))
  const store = await openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
  return { store, clock: manualClock(1_000_000), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}

/** A process that generates videos itself, so slowly that due tasks stay due. */
async function startProcess(store: Store, clock: ManualClock, name: string, workers: readonly Worker[] = []) {
  const account = { name: `studio@${name}`, keyVersion: 'k', health: healthy, concurrency: 4 } as Account
  const accounts = new Map([[account.name, account]])
  let rest = Promise.withResolvers<void>()
  const observed: ManualClock = {
    ...clock,
    sleep(ms, signal) {
      // The loop of claims sleeps at most `idleMs`, the renewal longer: a short sleep ends one round of claims.
      if (ms <= idleMs) rest.resolve()
      return clock.sleep(ms, signal)
    },
  }
  const catalog = { entries: new Map() }
  const engine = await startEngine({
    store,
    workers,
    discard,
    rehome,
    clock: observed,
    log: quiet,
    spill: memorySpill(),
    access: openAccess(),
    unsent: memoryUnsentNotes(),
    hasFiles: () => true,
    healths: openHealths({ store, accounts, clock, log: quiet, process: name, since: 0 }),
    tools: { clock, accounts, catalog } as unknown as Tools,
    random: (count) => new Uint8Array(count),
    redact: (text) => text,
  })
  /** Resolves after the next round of claims. */
  const look = () => {
    rest = Promise.withResolvers<void>()
    return rest.promise
  }
  return { ...engine, accounts, look }
}
type Process = Awaited<ReturnType<typeof startProcess>>

/** Advances the clock second by second; in each, every process makes a round of claims. */
async function pass(clock: ManualClock, seconds: number, ...processes: Process[]): Promise<void> {
  for (let at = 0; at < seconds; at += 1) {
    const looks = processes.map(({ look }) => look())
    clock.advance(second)
    await Promise.all(looks)
  }
}

const film = newTask('1', { state: 'storing', account: 'studio@a', attempt: 'att_1', attempts: 1, startedAt: 1 })

it('tasks wait for the process that generates them, however late it is, and are queued again soon after it is gone', async () => {
  await using world = await openWorld()
  const { store, clock } = world
  const [one, other] = [await startProcess(store, clock, 'a'), await startProcess(store, clock, 'b')]
  const stateOf = async () => (await store.find(film.id))?.state
  try {
    await store.insert(film)
    await pass(clock, 180, one, other)
    assert.equal(await stateOf(), 'storing')
    await one[Symbol.asyncDispose]()
    await pass(clock, 10, other)
    assert.equal(await stateOf(), 'storing', 'it may come back')
    await pass(clock, 20, other)
    assert.equal(await stateOf(), 'queued')
    const events = await store.events(film.id)
    assert.ok(events.some(({ name }) => name === 'the process is gone: queued again'))
  } finally {
    await other[Symbol.asyncDispose]()
  }
})

/** A process on a store of its own, and whether it looks for due tasks of an account. */
async function openLooking(name: string, workers: readonly Worker[] = [], ...tasks: Task[]) {
  const stack = new AsyncDisposableStack()
  const { store, clock } = stack.use(await openWorld())
  for (const task of tasks) await store.insert(task)
  let lanes: readonly Lane[] = []
  const nextDue: Store['nextDue'] = (wanted) => {
    lanes = wanted
    return store.nextDue(wanted)
  }
  const process = stack.use(await startProcess({ ...store, nextDue }, clock, name, workers))
  return {
    store,
    accounts: process.accounts,
    passSeconds: (seconds: number) => pass(clock, seconds, process),
    looksFor: (account: string) => lanes.some((lane) => 'account' in lane && lane.account === account),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const poll: Worker = { name: 'poll', states: ['running'], limit: 1, run: () => assert.fail() }

it('an account without unfinished tasks loses its lanes', async () => {
  await using process = await openLooking('b', [], film)
  await process.passSeconds(22)
  assert.ok(process.looksFor('studio@a'), 'its process is gone, and it has a task')
  await process.passSeconds(60)
  assert.equal((await process.store.find(film.id))?.state, 'queued')
  assert.ok(!process.looksFor('studio@a'))
})

it('an account that was just added has lanes at once', async () => {
  await using process = await openLooking('a', [poll])
  await process.passSeconds(1)
  process.accounts.set('p', { name: 'p', health: healthy } as Account)
  await process.passSeconds(1)
  assert.ok(process.looksFor('p'))
})

it('an account that an operator paused has no lanes until it is resumed', async () => {
  await using process = await openLooking('a', [poll])
  const looksForIt = async (mode: 'active' | 'draining' | 'paused') => {
    process.accounts.set('p', { name: 'p', health: healthy, mode } as Account)
    await process.passSeconds(1)
    return process.looksFor('p')
  }
  await process.passSeconds(1)
  const seen = [await looksForIt('active'), await looksForIt('paused'), await looksForIt('draining')]
  assert.deepEqual(seen, [true, false, true])
})
