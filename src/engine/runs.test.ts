import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { newTask } from '../stores/contract.ts'
import type { Decision, Worker } from '../workers/worker.ts'
import type { WorkerLane } from './lanes.ts'
import { noHealths } from './memory.fixture.ts'
import type { EngineOptions } from './options.ts'
import { openOutcomes } from './outcome.ts'
import { openRecords } from './records.ts'
import { openRuns } from './runs.ts'

const task = newTask('1', { state: 'fetching' })

/** Runs of one worker over a store that takes every decision, and then has no lease any more. */
function openWorld(run: Worker['run']) {
  const clock = manualClock()
  const log = { info() {}, warn() {}, error: assert.fail }
  const store = { record: async () => true, renew: async (leases: unknown) => leases }
  const random = (count: number) => new Uint8Array(count)
  const options = {
    store,
    healths: noHealths,
    clock,
    random,
    log,
    redact: (text: string) => text,
    tools: { accounts: new Map() },
  }
  const outcomes = openOutcomes(options as unknown as EngineOptions)
  const records = openRecords(options as unknown as EngineOptions, outcomes)
  const ended = Promise.withResolvers<void>()
  const runs = openRuns(options as unknown as EngineOptions, { outcomes, records, onEnd: ended.resolve })
  const worker: Worker = { name: 'test', states: ['fetching'], limit: 1, run }
  runs.begin(task, { worker, where: { state: 'fetching' }, lagMs: 0 } satisfies WorkerLane)
  return { runs, ended: ended.promise }
}

it('what is left to do after a decision was written is not cut off with the lease, but is by the end of the service', async () => {
  const [begun, finish] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()]
  const { runs, ended } = openWorld(
    async (_task, _tools, { signal }): Promise<Decision> => ({
      change: { state: 'queued', dueAt: null },
      async afterwards() {
        begun.resolve(signal)
        await finish.promise
      },
    }),
  )
  const signal = await begun.promise
  await runs.renew()
  assert.equal(signal.aborted, false)
  for (const { abort } of runs.active) abort.abort()
  assert.equal(signal.aborted, true)
  finish.resolve()
  await ended
})
