import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from './problem.ts'
import { deadlineMs, expiryOf, nextTry } from './timing.ts'

const full = new Problem('storage_unavailable', 'x', { retryable: true })
const broken = new Problem('generation_failed', 'x', { retryable: true })
const odd = new Problem('internal', 'x', { retryable: true })
const waiting = (tries: number) => ({ tries, startedAt: null })
const begun = (tries: number) => ({ tries, startedAt: 0 })

it('a broken film is drawn once more, what nobody foresaw is tried a few times, a final problem never', () => {
  assert.equal(nextTry(broken, begun(0), 1, 0.5)?.tries, 1)
  assert.equal(nextTry(broken, begun(1), 1, 0.5), null)
  assert.equal(nextTry(odd, waiting(3), 1, 0.5)?.tries, 4)
  assert.equal(nextTry(odd, waiting(4), 1, 0.5), null)
  assert.equal(nextTry(new Problem('invalid_image', 'x'), waiting(0), 1, 0.5), null)
})

it('a full disk is waited for without end, and that uses up none of the tries', () => {
  assert.deepEqual(nextTry(full, begun(1), 1e15, 0.5), { delayMs: 3_000, tries: 1 })
})

it('once a provider has the work, a blocked way there ends it only at the deadline', () => {
  assert.ok(nextTry(odd, begun(1_000), deadlineMs - 1, 0.5))
  assert.equal(nextTry(odd, begun(1_000), deadlineMs, 0.5), null)
})

it('waits longer with each try, up to a limit, and never all at the same time', () => {
  const delays = [0, 1, 2, 3, 100].map((tries) => nextTry(odd, begun(tries), 1, 0.5)?.delayMs)
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 30_000])
  assert.notEqual(nextTry(odd, begun(0), 1, 0)?.delayMs, nextTry(odd, begun(0), 1, 0.9)?.delayMs)
})

it('expires later than it completed, at a whole second', () => {
  assert.equal(expiryOf(1_999, 1_000), 2_000)
  assert.equal(expiryOf(5_000, 3_600_000), 3_605_000)
})
