import assert from 'node:assert/strict'
import { it } from 'node:test'
import { longestTransactionMs, mostMissing, openSequence } from './notice.ts'

it('a sequence without gaps is safe up to its newest', () => {
  const sequence = openSequence(4)
  assert.equal(sequence.safe(), 4)
  sequence.take([5, 6, 7], 0)
  assert.deepEqual([sequence.newest(), sequence.safe(), sequence.missing()], [7, 7, []])
})

it('a missing number holds the safe number back until it comes, in any order', () => {
  const sequence = openSequence(4)
  sequence.take([6, 9], 0)
  assert.deepEqual([sequence.newest(), sequence.safe(), sequence.missing()], [9, 4, [5, 7, 8]])
  sequence.take([7], 1)
  assert.equal(sequence.safe(), 4)
  sequence.take([5, 10], 2)
  assert.deepEqual([sequence.newest(), sequence.safe(), sequence.missing()], [10, 7, [8]])
  sequence.take([8], 3)
  assert.equal(sequence.safe(), 10)
})

it('a number that does not come in time was rolled back', () => {
  const sequence = openSequence(0)
  sequence.take([2], 0)
  sequence.take([4], 5_000)
  sequence.take([], longestTransactionMs - 1)
  assert.equal(sequence.safe(), 0)
  sequence.take([], longestTransactionMs)
  assert.equal(sequence.safe(), 2)
  sequence.take([], 5_000 + longestTransactionMs)
  assert.equal(sequence.safe(), 4)
})

it('a number that comes with the read that would give it up still counts', () => {
  const sequence = openSequence(0)
  sequence.take([2], 0)
  sequence.take([1, 3], longestTransactionMs)
  assert.deepEqual([sequence.safe(), sequence.missing()], [3, []])
})

it('a sequence that skips a million numbers does not keep them all as missing', () => {
  const sequence = openSequence(0)
  sequence.take([1_000_000], 0)
  assert.equal(sequence.missing().length, mostMissing)
  assert.equal(sequence.safe(), 1_000_000 - mostMissing - 1)
})
