import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openBudget } from './budget.ts'

it('gives bytes in order of the calls, and never more than there are', async () => {
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

it('a request for more than the total gets it when all bytes are free', async () => {
  const budget = openBudget(10)
  using share = await budget.take(1_000)
  assert.ok(share)
})

it('refuses a request that waited too long, and continues with the next', async () => {
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

it('drops a waiting request whose client disconnected, and continues with the next', async () => {
  const budget = openBudget(10)
  const first = await budget.take(10)
  const gone = new AbortController()
  const left = budget.take(10, { owner: 'a', gone: gone.signal })
  const next = budget.take(10, { owner: 'b', gone: new AbortController().signal })
  gone.abort()
  await assert.rejects(left, { code: 'overloaded' })
  await assert.rejects(budget.take(1, { owner: 'a', gone: gone.signal }), { code: 'overloaded' })
  first[Symbol.dispose]()
  using share = await next
  assert.ok(share)
})

it('leaves bytes for others, however much one owner requests', async () => {
  const budget = openBudget(100)
  const signal = new AbortController().signal
  const take = (owner: string, bytes: number) => budget.take(bytes, { owner, gone: signal })
  const own = [await take('a', 40), await take('a', 30)]
  const more = take('a', 20)
  using other = await take('b', 30)
  assert.ok(other)
  own[0]?.[Symbol.dispose]()
  using mine = await more
  assert.ok(mine)
})
