import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { until } from '../test/service.ts'
import { openAlarms } from './alarms.ts'
import { alarmKinds } from './core/alarms.ts'
import { manualClock } from './core/clock.fixture.ts'
import { openRandom } from './main/random.ts'
import { openSqlite } from './stores/sqlite.ts'
import type { Store } from './stores/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-alarms-'))
after(() => rmSync(folder, { recursive: true }))

/** A real store that can be unavailable, and a clock that the test controls. */
async function openWorld() {
  const store = await openSqlite({ folder: mkdtempSync(join(folder, 'data-')), now: 0, onFatal: assert.ifError })
  const clock = manualClock(1_000_000)
  const said: string[] = []
  const say = (event: string, { subject = '' }: { subject?: unknown } = {}) => void said.push(`${event} ${subject}`)
  const log = { info: say, warn: say, error: say }
  const writes = { count: 0, isAway: false }
  const raiseAlarm: Store['raiseAlarm'] = async (report) => {
    writes.count += 1
    if (writes.isAway) throw new Error('away')
    return store.raiseAlarm(report)
  }
  let text: string | undefined
  const kept = {
    read: () => text,
    write(changed: string) {
      text = changed
    },
  }
  const open = () => openAlarms({ store: { ...store, raiseAlarm }, clock, random: openRandom(), log, kept })
  const list = async (status: 'active' | 'cleared') =>
    (await store.alarms({ status, limit: 99 })).map(({ kind, subject, count }) => `${kind} ${subject} ${count}`).sort()
  return { store, clock, said, writes, open, list, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}

it('a fault is one alarm however often it is reported, and few of the reports are written', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  for (let count = 0; count < 1_000; count += 1) alarms.raise('limit_reached', 'shop', { limit: 'queued' })
  await alarms.sync()
  assert.equal(world.writes.count, 1)
  world.clock.advance(15_000)
  alarms.raise('limit_reached', 'shop', { limit: 'queued' })
  await alarms.sync()
  assert.deepEqual([world.writes.count, await world.list('active')], [2, ['limit_reached shop 1001']])
  assert.deepEqual(world.said, ['alarm raised shop'])
})

it('an alarm ends when its cause does, and the next fault is another alarm', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  alarms.clear('account_key', 'main')
  alarms.raise('account_key', 'main')
  await alarms.sync()
  alarms.clear('account_key', 'main')
  alarms.clear('account_key', 'main')
  await alarms.sync()
  alarms.raise('account_key', 'main')
  await alarms.sync()
  assert.deepEqual(await world.list('cleared'), ['account_key main 1'])
  assert.deepEqual(await world.list('active'), ['account_key main 1'])
  assert.deepEqual(world.said, ['alarm raised main', 'alarm cleared main', 'alarm raised main'])
})

it('a process clears the alarm of an earlier one, and reports of two processes are one alarm', async () => {
  await using world = await openWorld()
  const [first, second] = [world.open(), world.open()]
  for (const alarms of [first, second]) {
    alarms.raise('circuit_open', 'main')
    await alarms.sync()
  }
  assert.deepEqual(await world.list('active'), ['circuit_open main 2'])
  const third = world.open()
  await third.sync()
  assert.deepEqual(
    third.active('circuit_open').map(({ subject }) => subject),
    ['main'],
  )
  third.clear('circuit_open', 'main')
  await third.sync()
  assert.deepEqual([await world.list('active'), third.active('circuit_open')], [[], []])
})

it('a report right after another process cleared the alarm raises it again', async () => {
  await using world = await openWorld()
  const [first, second] = [world.open(), world.open()]
  first.raise('model_retired', 'film')
  await first.sync()
  await second.sync()
  second.clear('model_retired', 'film')
  await second.sync()
  await first.sync()
  assert.deepEqual(await world.list('active'), [], 'nothing was reported since')
  first.raise('model_retired', 'film')
  await first.sync()
  assert.deepEqual(await world.list('active'), ['model_retired film 1'])
  assert.equal(world.writes.count, 2)
})

it('what nothing reports any more is cleared after the time of its kind', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  alarms.raise('queue_old', 'studio')
  await alarms.sync()
  world.clock.advance(alarmKinds.queue_old.lastsMs)
  await alarms.clearUnseen('queue_old')
  assert.deepEqual(await world.list('active'), ['queue_old studio 1'])
  world.clock.advance(1)
  await alarms.clearUnseen('queue_old')
  assert.deepEqual([await world.list('active'), await world.list('cleared')], [[], ['queue_old studio 1']])
  alarms.raise('queue_old', 'studio')
  await until('it is raised again', async () => (await world.list('active')).length === 1, 5)
})

it('reports of an outage of the store are written after it', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  world.writes.isAway = true
  alarms.raise('account_credit', 'main')
  alarms.raise('account_key', 'other')
  await alarms.sync()
  world.writes.isAway = false
  await alarms.sync()
  assert.deepEqual(await world.list('active'), ['account_credit main 1', 'account_key other 1'])
  const failures = world.said.filter((line) => line.startsWith('alarms could not be stored'))
  assert.equal(failures.length, 1)
})

it('an alarm about the store stays in memory, and is kept out of the store', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  let changes = 0
  const stop = alarms.onChange(() => {
    changes += 1
  })
  for (let count = 0; count < 3; count += 1) alarms.raise('database_failing', 'web-1', { found: 'full' })
  const [alarm, ...others] = alarms.local.active()
  assert.deepEqual([alarm?.kind, alarm?.subject, alarm?.count, others], ['database_failing', 'web-1', 3, []])
  alarms.clear('database_failing', 'web-1')
  assert.deepEqual([alarms.local.active(), changes], [[], 2])
  stop()
  alarms.raise('database_failing', 'web-1')
  assert.equal(changes, 2)
  assert.deepEqual(await world.list('active'), [])
})

it('the next process ends an alarm about the store that this one has sent', async () => {
  await using world = await openWorld()
  const first = world.open()
  first.raise('database_failing', 'web-1', { found: 'unavailable' })
  const id = first.local.active()[0]?.id ?? ''
  await first.local.recordAlarmSent('webhook', id, 'raised', world.clock.now())
  // Its container has another name.
  const next = world.open()
  next.clear('database_failing', 'web-2')
  const ended = (await next.local.unsentAlarms('webhook', world.clock.now(), 9)).map(({ id, clearedAt }) => [
    id,
    clearedAt,
  ])
  assert.deepEqual(ended, [[id, world.clock.now()]])
  await next.local.recordAlarmSent('webhook', id, 'cleared', world.clock.now())
  assert.deepEqual(await world.open().local.unsentAlarms('webhook', world.clock.now(), 9), [])
})

it('a subject that a client chose is cut, and has no control characters', async () => {
  await using world = await openWorld()
  const alarms = world.open()
  alarms.raise('limit_reached', `a\u0000\nb${'x'.repeat(1_000)}`)
  await alarms.sync()
  const [alarm] = await world.store.alarms({ status: 'active', limit: 9 })
  assert.equal(alarm?.subject, `a b${'x'.repeat(197)}`)
})
