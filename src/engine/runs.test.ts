import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { newTask } from '../stores/contract.ts'
import type { Decision, Worker } from '../workers/worker.ts'
import type { WorkerLane } from './lanes.ts'
import { noHealths } from './memory.fixture.ts'
import type { EngineOptions } from './options.ts'
import { openOutcomes } from './outcome.ts'
import { openRecords } from './records.ts'
import { openRuns, openTurnstile } from './runs.ts'

const task = newTask('1', { state: 'fetching' })

/** Runs of one worker on a store that accepts every decision, and then says that every lease is lost. */
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

it('`afterwards` is not aborted when the lease is lost, but when the service ends', async () => {
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

describe('the turnstile', () => {
  const { signal } = new AbortController()

  it('admits a number of runs at once, and the others in their order as those leave', async () => {
    const { enter, leave } = openTurnstile(2)
    const [a, b, c, d] = [{}, {}, {}, {}]
    const seen: string[] = []
    await Promise.all([enter(a, signal), enter(b, signal)])
    const waiting = [enter(c, signal).then(() => seen.push('c')), enter(d, signal).then(() => seen.push('d'))]
    leave(c)
    await Promise.resolve()
    assert.deepEqual(seen, [], 'only a run that has entered can leave')
    leave(a)
    leave(a)
    await waiting[0]
    assert.deepEqual(seen, ['c'])
    leave(b)
    await waiting[1]
    assert.deepEqual(seen, ['c', 'd'])
  })

  it('forgets a run that gave up waiting', async () => {
    const { enter, leave } = openTurnstile(1)
    const [a, b, c] = [{}, {}, {}]
    await enter(a, signal)
    const stop = new AbortController()
    const aborted = enter(b, stop.signal)
    const next = enter(c, signal)
    stop.abort(new Error('no more'))
    await assert.rejects(aborted, /no more/)
    leave(a)
    await next
    await assert.rejects(enter(b, stop.signal), /no more/)
  })
})
