import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from './problem.ts'
import { expiryOf, holdMs, longestDelayMs, nextCheckDelay, nextPoll, nextTry, searchUntil, settleMs } from './timing.ts'

const full = new Problem('storage_unavailable', 'x', { retryable: true })
const image = new Problem('image_unavailable', 'x', { retryable: true })
const odd = new Problem('internal', 'x', { retryable: true })
const gone = new Problem('provider_unavailable', 'x', { retryable: true })
const [startBy, finishBy] = [50_000, 90_000]
const waiting = (tries: number) => ({ tries, state: 'queued' as const, startedAt: null, startBy, finishBy })
const held = (tries: number) => ({ ...waiting(tries), state: 'held' as const })
const begun = (tries: number) => ({ ...waiting(tries), state: 'running' as const, startedAt: 0 })

it('an unavailable image is tried twice more, an unexpected problem a few times, a final problem never', () => {
  assert.equal(nextTry(image, waiting(1), 1, 0.5)?.tries, 2)
  assert.equal(nextTry(image, waiting(2), 1, 0.5), null)
  assert.equal(nextTry(odd, waiting(3), 1, 0.5)?.tries, 4)
  assert.equal(nextTry(odd, waiting(4), 1, 0.5), null)
  assert.equal(nextTry(new Problem('invalid_image', 'x'), waiting(0), 1, 0.5), null)
})

it('an overloaded machine is waited for some minutes, and until the deadline if the work has begun', () => {
  const busy = new Problem('overloaded', 'x', { retryable: true })
  let waited = 0
  let retry = nextTry(busy, waiting(0), 1, 0.5)
  for (; retry; retry = nextTry(busy, waiting(retry.tries), 1, 0.5)) waited += retry.delayMs
  assert.ok(waited > 5 * 60_000 && waited < 15 * 60_000, `${waited}`)
  assert.ok(nextTry(busy, begun(1_000), finishBy - 1, 0.5))
  assert.equal(nextTry(busy, begun(1_000), finishBy, 0.5), null)
})

it('a full disk is waited for without end, and that uses up none of the tries', () => {
  assert.deepEqual(nextTry(full, begun(1), 1e15, 0.5), { delayMs: 3_000, tries: 1 })
})

it('if a provider has the work, or may have it, a lost connection fails the task only at the deadline', () => {
  for (const task of [begun(1_000), held(1_000)]) {
    assert.ok(nextTry(odd, task, finishBy - 1, 0.5))
    assert.equal(nextTry(odd, task, finishBy, 0.5), null)
    assert.ok(nextTry(new Problem('provider_unavailable', 'said to be final'), task, 1, 0.5))
    assert.equal(nextTry(new Problem('unsupported_output', 'final'), task, 1, 0.5), null)
  }
})

it('an unavailable model is waited for until the task should have started', () => {
  assert.ok(nextTry(gone, waiting(1_000), startBy - 1, 0.5))
  assert.equal(nextTry(gone, waiting(1_000), startBy, 0.5), null)
})

it('polls less often the older the task is, within limits and spread', () => {
  assert.deepEqual(
    [0, 10_000, 200_000, 1e9].map((age) => nextPoll(2_000, age, 0.5)),
    [2_000, 2_000, 10_000, 30_000],
  )
  assert.notEqual(nextPoll(2_000, 0, 0), nextPoll(2_000, 0, 0.9))
})

it('never waits longer for a poll than the longest delay, however slow the provider is', () => {
  for (const chance of [0, 0.5, 0.99]) assert.ok(nextPoll(3_600_000, 1e9, chance) <= longestDelayMs)
})

it('waits longer with each try, up to a limit, never past the deadline and never all at the same time', () => {
  const delays = [0, 1, 2, 3, 100].map((tries) => nextTry(odd, { ...begun(tries), finishBy: 1e6 }, 1, 0.5)?.delayMs)
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 30_000])
  assert.equal(nextTry(odd, begun(100), finishBy - 1_000, 0.5)?.delayMs, 1_000)
  assert.notEqual(nextTry(odd, begun(0), 1, 0)?.delayMs, nextTry(odd, begun(0), 1, 0.9)?.delayMs)
})

it('checks an unknown outcome often while the provider may know more, then seldom, and at its deadline', () => {
  assert.deepEqual(
    [0, 9_999, 10_000, 119_999, 120_000, holdMs - 5_000, holdMs].map((age) => nextCheckDelay(age, holdMs - age, true)),
    [1_000, 1_000, 5_000, 5_000, 60_000, 5_000, 1_000],
  )
  assert.deepEqual([nextCheckDelay(0, holdMs, false), nextCheckDelay(holdMs - 5_000, 5_000, false)], [60_000, 5_000])
})

it('searches an unknown outcome for half an hour or until the deadline, but as long as a provider may be slow to show it', () => {
  const ends = [0, 1_000, settleMs, settleMs + 1, holdMs - 1, holdMs * 2].map((finishBy) => searchUntil(0, finishBy))
  assert.deepEqual(ends, [settleMs, settleMs, settleMs, settleMs + 1, holdMs - 1, holdMs])
})

it('expires later than it completed, at a whole second', () => {
  assert.equal(expiryOf(1_999, 1_000), 2_000)
  assert.equal(expiryOf(5_000, 3_600_000), 3_605_000)
})
