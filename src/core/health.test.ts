import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  afterFault,
  afterRefusal,
  afterResponse,
  type Health,
  healthy,
  isPaused,
  newTasksAllowed,
  working,
} from './health.ts'

const at = (now: number, begunAt = now) => ({ begunAt, now })
const minutes = 60_000

/** That many faults of requests that were all sent at 0, one each millisecond. */
function faults(count: number, from = 0, health = healthy): Health {
  return Array.from({ length: count }).reduce<Health>((now, _, n) => afterFault(now, at(from + n, 0)), health)
}

it('five faults in a row are a pause, and those of the same moment make it no longer', () => {
  assert.equal(newTasksAllowed(faults(4), 10), Number.POSITIVE_INFINITY)
  assert.deepEqual(faults(5), { failures: 5, pausedUntil: 10_004, reason: 'failing' })
  assert.deepEqual(faults(12), faults(5))
  assert.deepEqual(faults(3, 20_000, faults(5)), faults(5), 'they come late, but are of the same moment')
  assert.equal(afterFault(faults(5), at(11_000)).pausedUntil, 31_000)
})

it('a response to a request from before the end of a pause can only make it longer', () => {
  const refused = afterRefusal(healthy, 'account', at(0), undefined)
  assert.deepEqual(refused, { failures: 1, pausedUntil: 5 * minutes, reason: 'credentials' })
  assert.deepEqual(afterRefusal(refused, 'busy', at(1), 1_000), refused)
  assert.deepEqual(afterRefusal(refused, 'account', at(10), undefined), refused, 'milliseconds are no news')
  const longer = afterRefusal(refused, 'busy', at(1), 7 * minutes)
  assert.deepEqual(longer, { ...refused, pausedUntil: 7 * minutes + 1 }, 'it still needs its operator')
  const busy = afterRefusal(healthy, 'busy', at(0), 1_000)
  assert.deepEqual(afterRefusal(busy, 'busy', at(1), 8_000), { failures: 1, pausedUntil: 8_001, reason: 'busy' })
  assert.deepEqual(afterRefusal(afterRefusal(healthy, 'busy', at(0), 9 * minutes), 'account', at(1), undefined), {
    failures: 1,
    pausedUntil: 9 * minutes,
    reason: 'credentials',
  })
})

it('only a request that was sent after a pause ends it', () => {
  const refused = afterRefusal(healthy, 'account', at(0), undefined)
  assert.deepEqual(afterResponse(refused, at(1_000, 0)), refused)
  assert.deepEqual(afterResponse(refused, at(6 * minutes, 4 * minutes)), refused)
  assert.deepEqual(afterResponse(refused, at(6 * minutes, 5 * minutes)), working)
  const longest = afterRefusal(healthy, 'busy', at(minutes), Number.POSITIVE_INFINITY)
  assert.deepEqual(afterResponse(longest, at(minutes + 1, 0)), longest, 'however long the send took')
})

it('a busy account that asks for no time pauses longer each time, and one task is sent first after it', () => {
  let health = healthy
  for (const [now, pauseMs] of [
    [0, 1_000],
    [1_000, 2_000],
    [3_000, 4_000],
  ] as const) {
    health = afterRefusal(health, 'busy', at(now), undefined)
    assert.equal(health.pausedUntil, now + pauseMs)
  }
  assert.deepEqual([newTasksAllowed(health, 6_999), newTasksAllowed(health, 7_000)], [0, 1])
})

it('a clock that is set back leaves no endless pause', () => {
  const refused = afterRefusal(healthy, 'account', at(1e9), undefined)
  assert.equal(isPaused(refused, 1e9), true)
  assert.deepEqual([isPaused(refused, 0), newTasksAllowed(refused, 0)], [false, 1])
  assert.deepEqual(afterResponse(refused, at(0)), working)
})

it('a busy account pauses as long as it asks for, but at least a second and at most ten minutes', () => {
  const asked: [retryAfterMs: number, pauseMs: number][] = [
    [30_000, 30_000],
    [0, 1_000],
    [-3_600_000, 1_000],
    [3_600_000, 10 * minutes],
    [1e15, 10 * minutes],
    [Number.POSITIVE_INFINITY, 10 * minutes],
  ]
  for (const [retryAfterMs, pauseMs] of asked) {
    const busy = afterRefusal(healthy, 'busy', at(5_000), retryAfterMs)
    assert.equal(busy.pausedUntil, 5_000 + pauseMs, `${retryAfterMs} ms`)
    // A pause without a limit looks like one from before the clock was set back, but is not.
    assert.deepEqual(
      [newTasksAllowed(busy, 5_000), newTasksAllowed(busy, 4_999 + pauseMs)],
      [0, 0],
      `${retryAfterMs} ms`,
    )
    assert.equal(newTasksAllowed(busy, 5_000 + pauseMs), 1, `${retryAfterMs} ms`)
  }
})

it('an account without credit is told apart from one with a bad key, as long as its pause lasts', () => {
  const refused = afterRefusal(healthy, 'account', at(0), undefined, true)
  assert.deepEqual(refused, { failures: 1, pausedUntil: 5 * minutes, reason: 'credentials', isCredit: true })
  assert.equal(afterRefusal(refused, 'busy', at(1), 7 * minutes).isCredit, true)
  const busy = afterRefusal(healthy, 'busy', at(0), 1_000)
  assert.equal(afterRefusal(busy, 'account', at(1), undefined, true).isCredit, true)
  assert.deepEqual(afterResponse(refused, at(6 * minutes, 5 * minutes)), working)
  const badKey = afterRefusal(refused, 'account', at(6 * minutes), undefined)
  assert.deepEqual(badKey, { failures: 2, pausedUntil: 11 * minutes, reason: 'credentials' })
})
