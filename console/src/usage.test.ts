import assert from 'node:assert/strict'
import { it } from 'node:test'
import { currencyOf, daysUntilToday, perSecondOf, readUsageFilters, toLines, totalOf, type UsageData } from './usage.ts'

const counts = { completed: 0, failed: 0, cancelled: 0, success_rate: null, seconds: 0, priced_seconds: 0 }
const rest = { ...counts, cost: 0, currency: null, p50_ms: null, p95_ms: null }
const group = (model: string, day: string, tasks: number): UsageData => ({ ...rest, model, day, tasks })

it('days end today, in UTC', () => {
  assert.deepEqual(daysUntilToday(3, Date.parse('2026-03-01T23:59:59Z')), ['2026-02-27', '2026-02-28', '2026-03-01'])
})

it('the largest groups have a line each, the others one together, and a day without videos is 0', () => {
  const days = ['2026-03-01', '2026-03-02']
  const data = Array.from({ length: 7 }, (_, at) => group(`model ${at}`, days[at % 2] ?? '', at + 1))
  const { lines } = toLines(data, { by: 'model', measure: 'tasks', days })
  assert.deepEqual(
    lines.map(({ name, values }) => [name, ...values]),
    [
      ['model 6', 7, 0],
      ['model 5', 0, 6],
      ['model 4', 5, 0],
      ['model 3', 0, 4],
      ['model 2', 3, 0],
      [null, 1, 2],
    ],
  )
})

it('reads only what the page knows from an address', () => {
  const search = { by: 'hour', measure: 'cost', days: 7, model: 'studio', project: 12, account: '', other: 'x' }
  assert.deepEqual(readUsageFilters(search), { measure: 'cost', days: 7, model: 'studio', project: '12' })
})

it('never adds amounts of two currencies', () => {
  const days = ['2026-03-01', '2026-03-02']
  const paid = (day: string, currency: string | null, cost: number): UsageData => ({
    ...group('studio', day, 1),
    ...{ completed: 1, seconds: 4, priced_seconds: currency === null ? 0 : 4, currency, cost },
  })
  const data = [paid('2026-03-02', 'EUR', 5), paid('2026-03-01', 'USD', 1), paid('2026-03-01', 'EUR', 2)]
  assert.equal(currencyOf(data), 'EUR')
  assert.deepEqual(toLines(data, { by: 'model', measure: 'cost', days }).lines[0]?.values, [2, 5])
  assert.deepEqual(toLines(data, { by: 'model', measure: 'tasks', days }).lines[0]?.values, [2, 1])
  assert.deepEqual(totalOf(data), {
    ...{ tasks: 3, completed: 3, failed: 0, seconds: 12, pricedSeconds: 12, successRate: 1 },
    amounts: [
      { currency: 'EUR', cost: 7, revenue: 0 },
      { currency: 'USD', cost: 1, revenue: 0 },
    ],
  })
  assert.deepEqual(totalOf([paid('2026-03-01', null, 0)]).amounts, [])
})

it('the price of a second leaves out videos without a price', () => {
  const kling = { ...group('kling-3.0', '2026-03-01', 2), seconds: 10, priced_seconds: 5, cost: 0.42 }
  assert.equal(perSecondOf(kling), 0.084)
  assert.equal(perSecondOf({ ...kling, priced_seconds: 0 }), null)
  const { seconds, pricedSeconds } = totalOf([kling, kling])
  assert.deepEqual([seconds, pricedSeconds], [20, 10])
})

it('the currency of a chart is that of the groups that are drawn', () => {
  const days = ['2026-03-01', '2026-03-02']
  const failed = { ...group('studio', '2026-03-01', 1), error_code: 'timeout', currency: 'USD', cost: 3 }
  const completed = { ...group('studio', '2026-03-02', 1), error_code: null, currency: 'EUR', cost: 5 }
  const { lines, currency } = toLines([failed, completed], { by: 'error_code', measure: 'cost', days })
  assert.deepEqual(
    lines.map(({ name, values }) => [name, ...values]),
    [['timeout', 3, 0]],
  )
  assert.equal(currency, 'USD')
})
