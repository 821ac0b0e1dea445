import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { until } from '../../test/service.ts'
import { alarmsKeptMs } from '../core/alarms.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { healthy } from '../core/health.ts'
import { removedMs } from '../core/timing.ts'
import { afterTry, deliveriesKeptMs } from '../core/webhook.ts'
import { newReport } from '../stores/contract/alarms.ts'
import { newEndpoint } from '../stores/contract/webhooks.ts'
import { decide, factOf, newAttempt, newTask, sent, taken } from '../stores/contract/world.ts'
import { openSqlite } from '../stores/index.ts'
import type { Store } from '../stores/store.ts'
import { noticesKeptMs, reportsKeptMs, startUpkeep } from './upkeep.ts'

const now = 1_700_000_000_000
const usageRetentionMs = 400 * 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'filmgate-test-'))
after(() => rmSync(folder, { recursive: true }))

const openStore = () => openSqlite({ folder: mkdtempSync(join(folder, 'data-')), now, onFatal: assert.ifError })

function openLog() {
  const events: string[] = []
  const write = (event: string) => void events.push(event)
  return { events, log: { info: write, warn: write, error: write } }
}

it('drops notices that are older than a day, page by page, and goes on while the service runs', async () => {
  const clock = manualClock(now)
  const { events, log } = openLog()
  await using store = await openStore()
  const times = [now - noticesKeptMs - 2, now - noticesKeptMs - 1, now - 90_000, now]
  for (const [at, time] of times.entries()) {
    await store.insert(newTask(String(at)))
    await store.delete('alice', newTask(String(at)).id, time)
  }
  const left = async () => (await store.notices(0, [], 100)).length
  let isAway = true
  const trimNotices: Store['trimNotices'] = async (before) => {
    if (isAway) throw new Error('away')
    return store.trimNotices(before, 1_000)
  }
  await using _upkeep = startUpkeep({ store: { ...store, trimNotices }, clock, log, usageRetentionMs })
  await until('it meets a store that is away', () => events.length === 1, 5)
  assert.equal(await left(), 4)
  isAway = false
  const leaves = async (count: number) => {
    clock.advance(60_000)
    return (await left()) === count
  }
  await until('it dropped what was too old', () => leaves(2), 5)
  clock.advance(noticesKeptMs)
  await until('it dropped what became too old, but the newest', () => leaves(1), 5)
})

it('drops deliveries 30 days after they ended, and those of endpoints that are gone', async () => {
  const clock = manualClock(now)
  const { events, log } = openLog()
  await using store = await openStore()
  const [kept, gone] = [newEndpoint('1'), newEndpoint('2')]
  for (const endpoint of [kept, gone]) await store.insertEndpoint(endpoint, 9)
  for (const number of ['1', '2']) {
    const held = await sent(store, number, `attempt_${number}`)
    const timeline = [{ at: 20, name: 'completed', detail: null }]
    assert.ok(await store.record(decide(held, { state: 'completed', startedAt: 15 }, { events: timeline })))
  }
  // One of the two has come to its end, and the other still waits.
  for (const delivery of await store.claimDeliveries([{ endpoint: kept.id, limit: 1 }], now, now + 1_000))
    await store.recordDelivery(afterTry(delivery, { at: now, status: 200, error: null, tookMs: 0 }, { chance: 0 }))
  const left = async ({ id }: { id: string }) => (await store.deliveries(id, { limit: 9 })).map(({ state }) => state)
  await store.deleteEndpoint('alice', gone.id)
  await using _upkeep = startUpkeep({ store, clock, log, usageRetentionMs })
  await until('the strays are gone', async () => (await left(gone)).length === 0, 5)
  clock.advance(deliveriesKeptMs)
  assert.deepEqual((await left(kept)).sort(), ['delivered', 'pending'])
  const isGone = async () => {
    clock.advance(60_000)
    return (await left(kept)).length === 1
  }
  await until('the old one is gone', isGone, 5)
  assert.deepEqual([await left(kept), events], [['pending'], []])
})

it('keeps attempts of removed tasks for a day, however late they are removed', async () => {
  await using store = await openStore()
  const remove = async (number: string, openedAt: number) => {
    const id = `attempt_${number}`
    const task = { ...(await taken(store, number)), state: 'held' as const, attempt: id }
    await store.record({ task, opened: newAttempt(id, task, { openedAt }), keepsLease: true })
    await store.record(decide(task, { state: 'running' }, { fact: factOf(id, 'accepted', id), keepsLease: true }))
    assert.ok(await store.remove(task))
  }
  const old = now - 30 * removedMs
  await remove('1', old)
  await remove('2', old + removedMs)
  const clock = manualClock(now)
  const { events, log } = openLog()
  const dropped: number[] = []
  const trimRemovedAttempts: Store['trimRemovedAttempts'] = async (keptMs, limit) => {
    dropped.push(await store.trimRemovedAttempts(keptMs, limit))
    return dropped.at(-1) ?? 0
  }
  await using _upkeep = startUpkeep({ store: { ...store, trimRemovedAttempts }, clock, log, usageRetentionMs })
  await until('it looked once', () => dropped.length === 1, 5)
  assert.ok(await store.attempt('attempt_1'))
  await remove('3', old + removedMs + 1)
  // What it dropped is known a little later than it can be read.
  const isDropped = () => {
    clock.advance(60_000)
    return dropped.includes(1)
  }
  await until('it dropped one', isDropped, 5)
  assert.equal(await store.attempt('attempt_1'), undefined)
  assert.ok(await store.attempt('attempt_2'))
  assert.deepEqual([dropped.slice(0, 2), events], [[0, 1], []])
})

it('drops the reports of processes a day after the last one, but never the health of a configured account', async () => {
  const clock = manualClock(now)
  const { events, log } = openLog()
  await using store = await openStore()
  const saveHealth = (account: string, changedAt: number) =>
    store.saveHealth({ account, keyVersion: 'k', health: healthy, changedAt })
  await saveHealth('studio@gone', now - reportsKeptMs - 1)
  await saveHealth('studio@new', now - reportsKeptMs + 1)
  await saveHealth('kling', 0)
  await using _upkeep = startUpkeep({ store, clock, log, usageRetentionMs })
  const left = async () => (await store.healths()).map(({ account }) => account)
  await until('one is gone', async () => (await left()).length === 2, 5)
  assert.deepEqual([await left(), events], [['kling', 'studio@new'], []])
})

it('drops the usage of ended tasks after the time that is configured', async () => {
  const clock = manualClock(now)
  const { events, log } = openLog()
  await using store = await openStore()
  for (const [number, at] of Object.entries({ 1: now - usageRetentionMs - 1, 2: now - usageRetentionMs + 1 })) {
    await store.insert(newTask(number))
    await store.delete('alice', newTask(number).id, at)
  }
  await using _upkeep = startUpkeep({ store, clock, log, usageRetentionMs })
  const left = async () => (await store.usageBeyond(0, 9)).map(({ id }) => id)
  await until('one is gone', async () => (await left()).length === 1, 5)
  assert.deepEqual([await left(), events], [[newTask('2').id], []])
})

it('drops alarms 30 days after they were cleared, and keeps active ones', async () => {
  const clock = manualClock(now)
  const { events, log } = openLog()
  await using store = await openStore()
  for (const [at, subject] of ['old', 'new', 'active'].entries())
    await store.raiseAlarm(newReport(String(at), { subject, at: 1 }))
  await store.clearAlarm('account_key', 'old', now - alarmsKeptMs - 1)
  await store.clearAlarm('account_key', 'new', now - alarmsKeptMs + 1)
  await using _upkeep = startUpkeep({ store, clock, log, usageRetentionMs })
  const left = async () => (await store.alarms({ status: 'all', limit: 9 })).map(({ subject }) => subject)
  await until('one is gone', async () => (await left()).length === 2, 5)
  assert.deepEqual([await left(), events], [['active', 'new'], []])
})
