import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from './problem.ts'
import { expiryOf, retryDelay } from './timing.ts'

it('a full disk is waited for without end, a broken film is tried once more, a final problem never', () => {
  const full = new Problem('storage_unavailable', 'x', { retryable: true })
  const broken = new Problem('generation_failed', 'x', { retryable: true })
  assert.ok(retryDelay(full, 1_000_000, 0.5))
  assert.ok(retryDelay(broken, 0, 0.5))
  assert.equal(retryDelay(broken, 1, 0.5), null)
  assert.equal(retryDelay(new Problem('invalid_image', 'x'), 0, 0.5), null)
})

it('waits longer with each try, up to a limit, and never all at the same time', () => {
  const full = new Problem('storage_unavailable', 'x', { retryable: true })
  const delays = [0, 1, 2, 3, 10].map((tries) => retryDelay(full, tries, 0.5))
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 30_000])
  assert.notEqual(retryDelay(full, 0, 0), retryDelay(full, 0, 0.9))
})

it('expires later than it completed, at a whole second', () => {
  assert.equal(expiryOf(1_999, 1_000), 2_000)
  assert.equal(expiryOf(5_000, 3_600_000), 3_605_000)
})
