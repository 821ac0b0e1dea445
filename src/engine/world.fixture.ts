import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { openAccess } from '../access.ts'
import { type ManualClock, manualClock } from '../core/clock.fixture.ts'
import { healthy } from '../core/health.ts'
import type { Task } from '../core/task.ts'
import { renewMs } from '../core/timing.ts'
import { startEngine } from '../engine.ts'
import { newTask } from '../stores/contract.ts'
import { openSqlite } from '../stores/sqlite.ts'
import type { Store } from '../stores/store.ts'
import { rehome } from '../workers/rehome.ts'
import type { Tools, Worker } from '../workers/worker.ts'
import { memorySpill, memoryUnsentNotes, noHealths } from './memory.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-engine-'))
after(() => rmSync(folder, { recursive: true }))
let count = 0

export type Run = Worker['run']
export const task = newTask('1', { state: 'fetching' })
const discard: Pick<Worker, 'name' | 'run'> = { name: 'discard', run: async () => ({ remove: true }) }

/** An engine on a real store, with one worker for tasks of some states and a clock that the test moves. */
export async function world(
  run: Run,
  change: (store: Store) => Store = (store) => store,
  states: Worker['states'] = ['fetching'],
  limitFor?: Worker['limitFor'],
) {
  const stack = new AsyncDisposableStack()
  const data = mkdtempSync(join(folder, String(count++)))
  const real = stack.use(await openSqlite({ folder: data, now: 0, onFatal: assert.ifError }))
  const store = change(real)
  const clock = manualClock(1_000)
  const worker: Worker = { name: 'test', states, limit: 10, ...(limitFor && { limitFor }), run }
  const random = (count: number) => new Uint8Array(count)
  const accounts = new Map([['p', { name: 'p', concurrency: 10, spareSlots: 0, health: healthy }]])
  const card = { id: 'm', concurrency: null, routes: [{ account: 'p', upstreamModel: 'u', priority: 0, weight: 1 }] }
  const catalog = { entries: new Map([['m', { name: 'm', card }]]) }
  const tools = { clock, accounts, catalog } as unknown as Tools
  const redact = (text: string) => text.replaceAll('hunter2', '[redacted]')
  const lines: string[] = []
  const say = (event: string, fields: object = {}) => void lines.push(`${event} ${JSON.stringify(fields)}`)
  const log = { info: say, warn: say, error: say }
  const spill = memorySpill()
  const options = {
    store,
    workers: [worker],
    discard,
    rehome,
    tools,
    access: openAccess(),
    healths: noHealths,
    clock,
    random,
    log,
    spill,
    hasFiles: () => true,
    unsent: memoryUnsentNotes(),
    redact,
  }
  stack.use(await startEngine(options))
  const until = async (condition: (task: Task) => boolean, id = task.id) => {
    for (;;) {
      const changed = Promise.withResolvers<void>()
      const stop = real.onDue(changed.resolve)
      const found = await real.find(id)
      if (found && condition(found)) return found
      await changed.promise
      stop()
    }
  }
  return { store: real, clock, until, lines, spill, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Advances the clock by `renewMs` at a time until the condition holds. */
export async function wakeUntil(clock: ManualClock, condition: () => boolean | Promise<void>): Promise<void> {
  for (;;) {
    const held = condition()
    if (held === true) return
    clock.advance(renewMs)
    const pause = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
    if (held !== false && (await Promise.race([held.then(() => true), pause]))) return
    await pause
  }
}
