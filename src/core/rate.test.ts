import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fullAllowance, refill, waitFor } from './rate.ts'

const rate = { perMinute: 60 }

it('a minute holds what it promises, fills evenly, and never holds more', () => {
  const empty = { ...fullAllowance(rate, 0), left: 0 }
  assert.equal(refill(empty, rate, 500).left, 0.5)
  assert.equal(refill(empty, rate, 30_000).left, 30)
  assert.equal(refill(empty, rate, 3_600_000).left, 60)
})

it('says how long the next one takes', () => {
  assert.equal(waitFor(1, { left: 0, at: 0 }, rate), 1_000)
  assert.equal(waitFor(1, { left: 0.25, at: 0 }, rate), 750)
  assert.equal(waitFor(1, { left: 1, at: 0 }, rate), 0)
})

it('a clock that was set back takes nothing away and gives nothing', () => {
  assert.deepEqual(refill({ left: 3, at: 1_000 }, rate, 0), { left: 3, at: 0 })
})
