import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Alarm, AlarmReport } from '../../core/alarms.ts'
import { newAuditEntry } from './tokens.ts'
import { fresh, type StoreWorld } from './world.ts'

export function newReport(number: string, fields: Partial<AlarmReport> = {}): AlarmReport {
  const id = `alarm_${number.padStart(28, '0')}`
  return { id, kind: 'account_key', subject: 'main', details: {}, count: 1, at: 10, ...fields }
}

/** The alarm that the report raises. */
function raised({ at, ...report }: AlarmReport, fields: Partial<Alarm> = {}): Alarm {
  return {
    ...report,
    raisedAt: at,
    lastSeen: at,
    acknowledgedBy: null,
    acknowledgedAt: null,
    clearedAt: null,
    ...fields,
  }
}

const numbersOf = (alarms: readonly Alarm[]) => alarms.map(({ id }) => Number(id.slice(6)))

/** What operators have to know. */
export function testAlarms(world: StoreWorld): void {
  testRaising(world)
  testLists(world)
  testSending(world)
}

function testRaising(world: StoreWorld): void {
  it('an alarm is raised once for its kind and subject, and further reports are added to it', async () => {
    await using store = await fresh(world)
    const various = { text: 'ü "x"', number: 1.5, flag: true, none: null }
    const first = newReport('1', { subject: 'a "b" ü', details: various })
    assert.deepEqual(await store.raiseAlarm(first), raised(first))
    const details = { text: 'later' }
    const again = await store.raiseAlarm({ ...first, id: newReport('2').id, details, count: 3, at: 40 })
    assert.deepEqual(again, raised(first, { details, count: 4, lastSeen: 40 }))
    const late = await store.raiseAlarm({ ...first, id: newReport('3').id, details, at: 20 })
    assert.deepEqual([late.lastSeen, late.raisedAt, late.count], [40, 10, 5], 'times never go back')
    const others = [newReport('4', { subject: 'a' }), newReport('5', { subject: first.subject, kind: 'circuit_open' })]
    for (const other of others) assert.deepEqual(await store.raiseAlarm(other), raised(other))
    assert.equal((await store.alarms({ status: 'active', limit: 9 })).length, 3)
  })

  it('of many reports at once, one raises the alarm', async () => {
    await using store = await fresh(world)
    const reports = Array.from({ length: 20 }, (_, at) => newReport(String(at)))
    const found = await Promise.all(reports.map((report) => store.raiseAlarm(report)))
    assert.equal(new Set(found.map(({ id }) => id)).size, 1)
    const [alarm, ...others] = await store.alarms({ status: 'all', limit: 99 })
    assert.deepEqual([alarm?.count, others], [20, []])
  })

  it('an alarm is cleared once, and the next report raises another one', async () => {
    await using store = await fresh(world)
    const report = newReport('1')
    assert.equal(await store.clearAlarm('account_key', 'main', 5), undefined)
    await store.raiseAlarm(report)
    assert.equal(await store.clearAlarm('account_key', 'other', 20), undefined)
    assert.equal(await store.clearAlarm('circuit_open', 'main', 20), undefined)
    assert.deepEqual(await store.clearAlarm('account_key', 'main', 20), raised(report, { clearedAt: 20 }))
    assert.equal(await store.clearAlarm('account_key', 'main', 30), undefined)
    const next = newReport('2', { at: 30 })
    assert.deepEqual(await store.raiseAlarm(next), raised(next))
    assert.deepEqual(await store.alarms({ status: 'cleared', limit: 9 }), [raised(report, { clearedAt: 20 })])
  })

  it('alarms that nothing reports any more are cleared by kind', async () => {
    await using store = await fresh(world)
    const [old, seen] = [newReport('1', { subject: 'old' }), newReport('2', { subject: 'seen', at: 50 })]
    const other = newReport('3', { kind: 'circuit_open' })
    for (const report of [old, seen, other]) await store.raiseAlarm(report)
    assert.deepEqual(await store.clearUnseenAlarms('account_key', 50, 90), [raised(old, { clearedAt: 90 })])
    assert.deepEqual(await store.clearUnseenAlarms('account_key', 50, 95), [])
    assert.deepEqual(numbersOf(await store.alarms({ status: 'active', limit: 9 })), [3, 2])
  })
}

function testLists(world: StoreWorld): void {
  it('lists alarms by status, the newest first, page by page, also when it is opened again', async () => {
    {
      await using store = await fresh(world)
      for (const number of ['1', '2', '3', '4', '5']) await store.raiseAlarm(newReport(number, { subject: number }))
      for (const subject of ['2', '4']) await store.clearAlarm('account_key', subject, 20)
    }
    await using store = await world.open()
    const list = async (status: 'active' | 'cleared' | 'all', limit: number, after?: string) =>
      numbersOf(await store.alarms({ status, limit, ...(after && { after }) }))
    assert.deepEqual(await list('all', 9), [5, 4, 3, 2, 1])
    assert.deepEqual(await list('active', 2), [5, 3])
    assert.deepEqual(await list('active', 2, newReport('3').id), [1])
    assert.deepEqual(await list('cleared', 9), [4, 2])
    assert.deepEqual(await list('cleared', 9, newReport('3').id), [2])
  })

  it('lists active alarms, critical ones first, however many others are newer', async () => {
    await using store = await fresh(world)
    const kinds = {
      1: 'circuit_open',
      2: 'disk_low',
      3: 'limit_reached',
      4: 'endpoint_dead',
      5: 'clock_wrong',
    } as const
    for (const [number, kind] of Object.entries(kinds)) await store.raiseAlarm(newReport(number, { kind }))
    await store.clearAlarm('clock_wrong', 'main', 20)
    assert.deepEqual(numbersOf(await store.activeAlarms(9)), [2, 1, 4, 3])
    assert.deepEqual(numbersOf(await store.activeAlarms(3)), [2, 1, 4])
  })

  it('an alarm is acknowledged once, with one entry in the audit log', async () => {
    await using store = await fresh(world)
    const report = newReport('1')
    await store.raiseAlarm(report)
    const entry = newAuditEntry(report.id, { action: 'alarm.acknowledge' })
    const acknowledge = (id: string, by: string, at: number) => store.acknowledgeAlarm(id, { by, at }, entry)
    const expected = raised(report, { acknowledgedBy: 'anna', acknowledgedAt: 20 })
    assert.deepEqual(await acknowledge(report.id, 'anna', 20), expected)
    assert.deepEqual(await acknowledge(report.id, 'ben', 30), expected)
    assert.equal(await acknowledge(newReport('2').id, 'ben', 30), undefined)
    assert.deepEqual(
      (await store.auditLog({ limit: 9 })).map(({ action, target }) => [action, target]),
      [['alarm.acknowledge', report.id]],
    )
  })

  it('drops alarms some time after they were cleared, a limited number at once', async () => {
    await using store = await fresh(world)
    for (const [at, subject] of ['a', 'b', 'c', 'active'].entries())
      await store.raiseAlarm(newReport(String(at), { subject }))
    for (const [subject, at] of Object.entries({ a: 300, b: 100, c: 200 }))
      await store.clearAlarm('account_key', subject, at)
    assert.equal(await store.trimAlarms(300, 1), 1)
    assert.equal(await store.trimAlarms(300, 9), 1)
    assert.equal(await store.trimAlarms(300, 9), 0)
    assert.deepEqual(numbersOf(await store.alarms({ status: 'all', limit: 9 })), [3, 0])
  })
}

function testSending(world: StoreWorld): void {
  it('one process at a time sends an alarm to a receiver: its start, and later its end', async () => {
    await using store = await fresh(world)
    const report = newReport('1')
    const unsent = async (now: number) => numbersOf(await store.unsentAlarms('webhook', now, 9))
    const claim = (now: number, until: number) => store.claimAlarm('webhook', report.id, now, until)
    await store.raiseAlarm(report)
    assert.deepEqual(await unsent(10), [1])
    assert.deepEqual(await claim(10, 20), { ...raised(report), raiseSentAt: null, clearSentAt: null })
    assert.deepEqual([await claim(19, 29), await unsent(19)], [undefined, []])
    assert.deepEqual(await unsent(20), [1], 'its sender died')
    assert.ok(await claim(20, 30))
    await store.recordAlarmSent('webhook', report.id, 'raised', 25)
    assert.deepEqual([await unsent(25), await store.lastAlarmSent('webhook', 'account_key', 'main')], [[], 25])
    assert.equal(await claim(25, 35), undefined)
    await store.clearAlarm('account_key', 'main', 40)
    assert.deepEqual(await unsent(40), [1])
    const { raiseSentAt, clearSentAt } = (await claim(40, 50)) ?? {}
    assert.deepEqual([raiseSentAt, clearSentAt], [25, null])
    await store.recordAlarmSent('webhook', report.id, 'cleared', 45)
    assert.deepEqual([await unsent(99), await claim(99, 109)], [[], undefined])
  })

  it('a claim is shortened by the process that has it, and by no other', async () => {
    await using store = await fresh(world)
    const { id } = await store.raiseAlarm(newReport('1'))
    const unsent = async (now: number) => numbersOf(await store.unsentAlarms('webhook', now, 9))
    assert.ok(await store.claimAlarm('webhook', id, 10, 40))
    await store.shortenAlarmClaim('webhook', id, 39, 11)
    await store.shortenAlarmClaim('slack', id, 40, 11)
    assert.deepEqual(await unsent(39), [])
    await store.shortenAlarmClaim('webhook', id, 40, 12)
    assert.deepEqual([await unsent(11), await unsent(12)], [[], [1]])
  })

  it('what one receiver has, another one may lack', async () => {
    await using store = await fresh(world)
    const report = newReport('1')
    await store.raiseAlarm(report)
    for (const receiver of ['webhook', 'slack'] as const) {
      assert.ok(await store.claimAlarm(receiver, report.id, 10, 20))
      assert.deepEqual(await store.unsentAlarms(receiver, 11, 9), [])
    }
    await store.clearAlarm('account_key', 'main', 30)
    for (const event of ['raised', 'cleared'] as const) await store.recordAlarmSent('slack', report.id, event, 40)
    const unsent = { ...raised(report, { clearedAt: 30 }), raiseSentAt: null, clearSentAt: null }
    assert.deepEqual(await store.unsentAlarms('webhook', 50, 9), [unsent])
    assert.deepEqual(await store.unsentAlarms('slack', 50, 9), [])
    const lastOf = (receiver: 'webhook' | 'slack') => store.lastAlarmSent(receiver, 'account_key', 'main')
    assert.deepEqual([await lastOf('webhook'), await lastOf('slack')], [0, 40])
  })

  it('lists critical alarms first, and of each severity the oldest', async () => {
    await using store = await fresh(world)
    const kinds = { 1: 'limit_reached', 2: 'price_stale', 3: 'circuit_open', 4: 'disk_low' } as const
    for (const [number, kind] of Object.entries(kinds)) await store.raiseAlarm(newReport(number, { kind }))
    assert.deepEqual(numbersOf(await store.unsentAlarms('slack', 20, 9)), [3, 4, 1, 2])
    assert.deepEqual(numbersOf(await store.unsentAlarms('slack', 20, 1)), [3])
  })

  it('knows when an alarm of a kind and subject was last sent', async () => {
    await using store = await fresh(world)
    const lastOf = (subject: string) => store.lastAlarmSent('webhook', 'account_key', subject)
    assert.equal(await lastOf('main'), 0)
    for (const [number, sentAt] of Object.entries({ 1: 50, 2: 0 })) {
      await store.raiseAlarm(newReport(number))
      await store.recordAlarmSent('webhook', newReport(number).id, 'raised', sentAt)
      await store.clearAlarm('account_key', 'main', 60)
    }
    await store.raiseAlarm(newReport('3', { subject: 'other' }))
    assert.deepEqual([await lastOf('main'), await lastOf('other')], [50, 0])
  })
}
