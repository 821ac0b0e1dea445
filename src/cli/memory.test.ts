import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../core/clock.fixture.ts'
import { returnIdleMemory } from './memory.ts'

const mb = 2 ** 20

/** A process whose CPU and memory the test sets. A collection leaves 100 MB. */
function openProcess() {
  const clock = manualClock()
  const stop = new AbortController()
  const state = { cpuMs: 0, bytes: 90 * mb, collections: 0 }
  const memory = {
    cpuMs: () => state.cpuMs,
    residentBytes: () => state.bytes,
    collect() {
      state.collections += 1
      state.bytes = 100 * mb
    },
  }
  const ended = returnIdleMemory(clock, stop.signal, memory)
  return {
    state,
    stop,
    ended,
    /** So many periods, each with so much CPU. */
    async passes(periods: number, cpuMs: number) {
      for (let at = 0; at < periods; at += 1) {
        state.cpuMs += cpuMs
        clock.advance(5_000)
        await turn()
      }
      return state.collections
    },
  }
}

it('returns memory once after each load, and never while the process works', async () => {
  const service = openProcess()
  assert.equal(await service.passes(3, 10), 1, 'what the start left')
  service.state.bytes = 400 * mb
  assert.equal(await service.passes(10, 3_000), 1, 'under load')
  assert.equal(await service.passes(10, 10), 2, 'when the load is over')
  service.state.bytes = 120 * mb
  assert.equal(await service.passes(10, 10), 2, 'when there is little to return')
  service.state.bytes = 300 * mb
  assert.equal(await service.passes(10, 10), 3, 'after the next load')
})

it('ends with the service', async () => {
  const service = openProcess()
  service.stop.abort()
  await service.ended
  assert.equal(await service.passes(3, 10), 0)
})
