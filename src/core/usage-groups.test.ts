import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from './problem.ts'
import type { UsageRecord } from './usage.ts'
import { openUsageSums, percentilesOf, successRateOf, type UsageDimension } from './usage-groups.ts'

const noon = Date.parse('2026-11-17T12:34:56Z')

function recordOf(fields: Partial<UsageRecord> = {}): UsageRecord {
  const id = { number: 1, id: 'v', task: 'v', at: noon, owner: 'shop', token: 'tok_1', model: 'm', account: 'p' }
  const end = { outcome: 'completed', code: null, seconds: 4, tookMs: 1_000 } as const
  return { ...id, ...end, revenue: 3, cost: 2, currency: 'USD', ...fields }
}

function sumOf(by: UsageDimension[], records: readonly Partial<UsageRecord>[], more = {}) {
  const sums = openUsageSums({ by, countsUnused: true, most: 100, ...more })
  for (const fields of records) sums.add(recordOf(fields))
  return sums.groups()
}

it('adds up tasks, seconds and money, and cost without a task', () => {
  const [group, ...others] = sumOf(
    [],
    [
      {},
      { outcome: 'failed', code: 'timeout', revenue: 0, cost: 1 },
      { outcome: 'cancelled', revenue: 0, cost: 0 },
      { outcome: 'unused', revenue: 0, cost: 7 },
      { revenue: 0, cost: 0, currency: null },
    ],
  )
  assert.deepEqual(others, [])
  assert.ok(group)
  const { completed, failed, cancelled, seconds, pricedSeconds, revenue, cost, currency } = group
  assert.deepEqual(
    { completed, failed, cancelled, seconds, pricedSeconds, revenue, cost, currency },
    { completed: 2, failed: 1, cancelled: 1, seconds: 8, pricedSeconds: 4, revenue: 3, cost: 10, currency: 'USD' },
  )
  assert.equal(successRateOf(group), 0.6667)
})

it('has a group for each combination of values, in their order, with days and hours of UTC', () => {
  const records: Partial<UsageRecord>[] = [
    { model: 'z', at: noon },
    { model: 'a', at: noon + 3_600_000 },
    { model: 'a', at: Date.parse('2026-11-18T00:00:00Z') },
    { model: 'a', at: noon },
    { model: 'z', at: noon + 1 },
  ]
  const values = (by: UsageDimension[]) => sumOf(by, records).map((group) => group.values.join(' '))
  assert.deepEqual(values(['model']), ['a', 'z'])
  assert.deepEqual(values(['day', 'model']), ['2026-11-17 a', '2026-11-17 z', '2026-11-18 a'])
  assert.deepEqual(values(['hour']), ['2026-11-17T12:00Z', '2026-11-17T13:00Z', '2026-11-18T00:00Z'])
  assert.deepEqual(
    sumOf(['token', 'project', 'account'], [{}, { token: null, account: null }]).map((group) => group.values),
    [
      [null, 'shop', null],
      ['tok_1', 'shop', 'p'],
    ],
  )
  assert.deepEqual(
    sumOf(['error_code'], [{}, { outcome: 'failed', code: 'timeout' }]).map((group) => group.values),
    [[null], ['timeout']],
  )
})

it('never adds amounts of different currencies', () => {
  const groups = sumOf(['model'], [{ currency: 'EUR' }, {}, { currency: null, revenue: 0, cost: 0 }])
  assert.deepEqual(
    groups.map(({ currency, revenue, completed }) => [currency, revenue, completed]),
    [
      ['EUR', 3, 2],
      ['USD', 3, 1],
    ],
  )
})

it('counts only what passes the filters, and for a client no cost without a task', () => {
  const unused: Partial<UsageRecord> = { outcome: 'unused' }
  const late: Partial<UsageRecord> = { outcome: 'failed', code: 'timeout', revenue: 0, cost: 0 }
  const records = [{}, { token: 'tok_2' }, { model: 'other' }, { account: 'q' }, unused, late]
  const both = { model: 'm', account: 'q' }
  const filters = [{}, { token: 'tok_2' }, { model: 'm' }, { account: 'p' }, both, { token: 'x' }]
  const completed = (filter: object) => sumOf([], records, { filter }).reduce((sum, group) => sum + group.completed, 0)
  assert.deepEqual(filters.map(completed), [4, 1, 3, 3, 1, 0])
  assert.equal(sumOf([], records, { filter: { code: 'timeout' } })[0]?.failed, 1)
  const cost = (countsUnused: boolean) => sumOf([], records, { countsUnused })[0]?.cost
  assert.deepEqual([cost(true), cost(false)], [10, 8])
})

it('refuses more groups than it may have, and says what to narrow', () => {
  const models = Array.from({ length: 4 }, (_, at) => ({ model: `m${at}` }))
  assert.equal(sumOf(['model'], models, { most: 4 }).length, 4)
  assert.throws(
    () => sumOf(['model'], models, { most: 3 }),
    (error) => error instanceof Problem && error.code === 'invalid_value' && /3 groups.*`since`/.test(error.message),
  )
})

it('percentiles are durations of completed tasks, to three digits', () => {
  const took = (...times: number[]) => {
    const [group] = sumOf([], [{ outcome: 'failed', tookMs: 9e9 }, ...times.map((tookMs) => ({ tookMs }))])
    assert.ok(group)
    return percentilesOf(group, [0.5, 0.95])
  }
  assert.deepEqual(took(), [undefined, undefined])
  assert.deepEqual(took(123_456), [123_000, 123_000])
  assert.deepEqual(took(400, 100, 300, 200), [200, 400])
  assert.deepEqual(took(...Array.from({ length: 100 }, (_, at) => at + 1)), [50, 95])
})
