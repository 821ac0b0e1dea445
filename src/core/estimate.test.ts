import assert from 'node:assert/strict'
import { it } from 'node:test'
import { pollAfter, queuedMs, remainingMs } from './estimate.ts'

const pace = { durations: [10_000, 20_000, 30_000, 40_000, 300_000], usuallyMs: 5_000 }
const unknown = { durations: [], usuallyMs: null }

it('the time left is the median of the tasks that took longer, less the time so far', () => {
  for (const [elapsed, left] of [
    [0, 30_000],
    [-5_000, 30_000],
    [10_000, 30_000],
    [15_000, 25_000],
    [39_000, 261_000],
    [40_000, 260_000],
  ] as const)
    assert.equal(remainingMs(elapsed, pace), left, `after ${elapsed}`)
})

it('a task that takes longer than all before it is expected to take a tenth of its time more', () => {
  assert.equal(remainingMs(300_000, pace), 30_000)
  assert.equal(remainingMs(400_000, pace), 40_000)
  assert.equal(remainingMs(2_000, { durations: [500], usuallyMs: null }), 1_000)
})

it('without earlier tasks the figure of the provider counts, and without that there is no estimate', () => {
  assert.equal(remainingMs(20_000, { durations: [], usuallyMs: 60_000 }), 40_000)
  assert.equal(remainingMs(80_000, { durations: [], usuallyMs: 60_000 }), 8_000)
  assert.equal(remainingMs(80_000, unknown), null)
  assert.equal(queuedMs(3, { atOnce: 2, free: 0 }, unknown), null)
})

it('a queued task waits for those before it, several at once, and then takes its own time', () => {
  assert.equal(queuedMs(1, { atOnce: 1, free: 0 }, pace), 60_000)
  assert.equal(queuedMs(8, { atOnce: 4, free: 0 }, pace), 90_000)
  assert.equal(queuedMs(0, { atOnce: 4, free: 0 }, pace), 30_000)
})

it('a task with a free slot takes only its own time, and those behind it wait for less', () => {
  assert.equal(queuedMs(1, { atOnce: 1, free: 1 }, pace), 30_000)
  assert.equal(queuedMs(3, { atOnce: 4, free: 3 }, pace), 30_000)
  assert.equal(queuedMs(9, { atOnce: 1, free: 1 }, pace), 270_000)
})

it('a client polls again after a tenth of the time left, within limits', () => {
  assert.equal(pollAfter(null, 5_000), 5_000)
  assert.equal(pollAfter(3, 1_000), 1_000)
  assert.equal(pollAfter(3, 5_000), 1_000)
  assert.equal(pollAfter(60, 5_000), 6_000)
  assert.equal(pollAfter(3_600, 5_000), 20_000)
  assert.equal(pollAfter(1, 300), 300)
})
