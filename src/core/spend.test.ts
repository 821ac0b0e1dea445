import assert from 'node:assert/strict'
import { it } from 'node:test'
import { capsAt, isTimeZone, overCap, periodAt } from './spend.ts'

const at = (text: string) => Date.parse(text)
const shown = (kind: 'day' | 'month', zone: string, time: string) => {
  const { period, starts, ends } = periodAt(kind, zone, at(time))
  return [period, new Date(starts).toISOString(), new Date(ends).toISOString()]
}

it('a day and a month begin at midnight of their time zone', () => {
  assert.deepEqual(shown('day', 'UTC', '2026-11-17T23:59:59.999Z'), [
    'day 2026-11-17 UTC',
    '2026-11-17T00:00:00.000Z',
    '2026-11-18T00:00:00.000Z',
  ])
  assert.deepEqual(shown('day', 'Europe/Berlin', '2026-11-17T23:00:00Z'), [
    'day 2026-11-18 Europe/Berlin',
    '2026-11-17T23:00:00.000Z',
    '2026-11-18T23:00:00.000Z',
  ])
  assert.deepEqual(shown('month', 'Asia/Kathmandu', '2026-12-31T18:14:59Z'), [
    'month 2026-12 Asia/Kathmandu',
    '2026-11-30T18:15:00.000Z',
    '2026-12-31T18:15:00.000Z',
  ])
})

it('a day is as long as the clocks of its time zone make it', () => {
  const hours = (zone: string, time: string) => {
    const { starts, ends } = periodAt('day', zone, at(time))
    return (ends - starts) / 3_600_000
  }
  assert.equal(hours('Europe/Berlin', '2026-03-29T12:00:00Z'), 23)
  assert.equal(hours('Europe/Berlin', '2026-10-25T12:00:00Z'), 25)
  // Clocks that change at midnight: the day begins at 01:00, or its last hour comes twice.
  assert.equal(hours('America/Sao_Paulo', '2018-11-04T12:00:00Z'), 23)
  assert.equal(hours('America/Sao_Paulo', '2018-02-17T12:00:00Z'), 25)
})

it('each moment is within exactly one day and one month, also where the clocks change', () => {
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'America/Sao_Paulo',
    'Asia/Beirut',
    'Pacific/Apia',
    'Australia/Lord_Howe',
  ])
    for (const kind of ['day', 'month'] as const) {
      let ended = periodAt(kind, zone, at('2018-01-01T00:00:00Z')).ends
      for (let time = ended; time < at('2019-03-01T00:00:00Z'); time += 17 * 60_000) {
        const { starts, ends } = periodAt(kind, zone, time)
        assert.ok(starts <= time && time < ends, `${zone} ${kind} ${new Date(time).toISOString()}`)
        if (starts >= ended) assert.equal(starts, ended, `${zone}: a gap before ${new Date(starts).toISOString()}`)
        ended = ends
      }
    }
})

it('knows which names are time zones', () => {
  assert.ok(isTimeZone('Europe/Berlin') && isTimeZone('UTC'))
  assert.ok(!isTimeZone('Europe/Atlantis') && !isTimeZone(''))
})

it('a refusal names the cap, the amounts, and when the cap resets', () => {
  const price = { currency: 'USD', charge: 400_000, cost: null, billsFailures: false }
  const task = { id: 't', owner: 'alice', createdAt: at('2026-11-17T10:00:00Z'), price }
  const zone = 'Europe/Berlin'
  const caps = (['day', 'total'] as const).map((period) => ({ period, limit: 5_000_000, zone }))
  const [day, total] = capsAt(caps, task)
  assert.ok(day && total)
  assert.equal(
    overCap({ cap: day, spent: 4_800_000, charge: 400_000 }).message,
    'The spend cap of 5 USD a day does not allow this video: 4.8 USD is spent or reserved, and the video costs up to ' +
      '0.4 USD. The cap resets at 2026-11-17T23:00:00.000Z, when the day ends in the time zone Europe/Berlin.',
  )
  assert.match(overCap({ cap: total, spent: 0, charge: 9 }).message, /5 USD in total .* does not reset/)
  assert.deepEqual(capsAt(caps, { ...task, price: null }), [])
})
