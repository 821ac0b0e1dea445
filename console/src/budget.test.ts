import assert from 'node:assert/strict'
import { it } from 'node:test'
import { allows, isSpent } from './budget.ts'

const spent = (amount: string, limit: string) => ({ period: 'month', amount, limit, currency: 'USD', resets_at: null })

it('a video fits until the budget is used to the last digit', () => {
  assert.ok(allows(spent('0.4', '0.5'), 0.1))
  assert.ok(allows(spent('0.1', '0.3'), 0.2))
  assert.ok(!allows(spent('0.4', '0.5'), 0.2))
  assert.ok(!allows(spent('0', '0.000001'), 0.000002))
})

it('a free video fits into a spent budget', () => {
  assert.ok(isSpent(spent('0.5', '0.5')))
  assert.ok(!isSpent(spent('0.499999', '0.5')))
  assert.ok(allows(spent('0.5', '0.5'), 0))
})
