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
  const state = { cpuMs: 0, bytes: 90 * mb, collections: 0, isBroken: false }
  const memory = {
    cpuMs: () => state.cpuMs,
    residentBytes: () => state.bytes,
    collect() {
      if (state.isBroken) throw new Error('no gc')
      state.collections += 1
      state.bytes = 100 * mb
    },
  }
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  const ended = returnIdleMemory(clock, { signal: stop.signal, warn }, memory)
  return {
    state,
    stop,
    ended,
    warnings,
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

it('warns once if memory can not be returned, and the service goes on', async () => {
  const service = openProcess()
  service.state.isBroken = true
  await service.passes(3, 10)
  await service.ended
  assert.deepEqual(service.warnings, ['memory is not returned to the system when idle (no gc)'])
})

it('returns the memory of this very process', async () => {
  const [clock, stop] = [manualClock(), new AbortController()]
  const ended = returnIdleMemory(clock, { signal: stop.signal, warn: assert.fail })
  const before = process.memoryUsage.rss()
  let load: unknown[] = Array.from({ length: 1_500_000 }, (_, at) => ({ at }))
  const loaded = process.memoryUsage.rss()
  assert.ok(loaded > before + 40 * mb, `${load.length} objects`)
  load = []
  // The first period has used much CPU, so the process was not idle.
  for (let period = 0; period < 2; period += 1) {
    clock.advance(5_000)
    await turn()
  }
  const after = process.memoryUsage.rss()
  assert.ok(after < loaded - 40 * mb, `${loaded / mb} MB, then ${after / mb} MB`)
  stop.abort()
  await ended
})

it('goes on while the system does not tell how much memory the process has', async (context) => {
  const [clock, stop] = [manualClock(), new AbortController()]
  const read = context.mock.method(process.memoryUsage, 'rss', () => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  })
  const ended = returnIdleMemory(clock, { signal: stop.signal, warn: assert.fail })
  for (let period = 0; period < 50 && read.mock.callCount() === 0; period += 1) {
    clock.advance(5_000)
    await turn()
  }
  assert.ok(read.mock.callCount() > 0)
  stop.abort()
  clock.advance(5_000)
  await ended
})
