import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openBudget } from './budget.ts'

it('gives room in the order of asking, and never more than there is', async () => {
  const budget = openBudget(10)
  const first = await budget.take(6)
  const order: string[] = []
  const large = budget.take(8).then((share) => order.push('large') && share)
  const small = budget.take(2).then((share) => order.push('small') && share)
  await Promise.resolve()
  assert.deepEqual(order, [])
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  await Promise.all([large, small])
  assert.deepEqual(order, ['large', 'small'])
})

it('lets one that asks for more than all have it when nobody else has any', async () => {
  const budget = openBudget(10)
  using share = await budget.take(1_000)
  assert.ok(share)
})

it('gives up on one that waited too long, and goes on with the next', async () => {
  const patience = new AbortController()
  const budget = openBudget(10, () => patience.signal)
  const first = await budget.take(10)
  const late = budget.take(5)
  patience.abort()
  await assert.rejects(late, { code: 'overloaded', retryable: true })
  first[Symbol.dispose]()
  using next = await budget.take(10)
  assert.ok(next)
})
