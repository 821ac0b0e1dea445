import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { manualClock } from '../../core/clock.fixture.ts'
import { newReport } from '../../stores/contract/alarms.ts'
import { openSqlite } from '../../stores/sqlite.ts'
import { openTelemetry } from '../../telemetry/log.ts'
import { type StatusDependencies, statusRoute } from './status.ts'

it('a store that does not respond leaves the status incomplete: one line at its start, one at its end', async () => {
  const clock = manualClock(1_000_000)
  const lines: string[] = []
  const { log } = openTelemetry({ write: (line) => lines.push(line), now: clock.now, secrets: [] })
  let isAway = false
  const attempts = { open: [], orphans: [], abandoned: [] }
  const none = { queues: [], fetching: 0, work: [], slots: [], ...attempts, pendingDeliveries: 0 }
  const figures = () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(none))
  const store = { activeAlarms: async () => [], healths: async () => [] }
  const readiness = async () => ({ status: 'ok', reason: null, store: 'ok', bucket: 'ok' })
  const service = { name: 'web-1', version: '1.0.0', store: 'sqlite', bucket: 'disk' }
  const parts = { store, readiness, figures, clock, log, accounts: new Map(), localAlarms: () => [], bucketLimit: 0 }
  const dependencies = { ...parts, service } as unknown as StatusDependencies
  const { handler } = statusRoute(dependencies, { all: async () => 7 })
  const ask = handler as unknown as () => Promise<{ tasks: object | null; stored_bytes: number | null }>

  assert.equal((await ask()).stored_bytes, 7)
  isAway = true
  for (let times = 0; times < 3; times += 1) {
    const { tasks, stored_bytes: bytes } = await ask()
    assert.deepEqual([tasks, bytes], [null, null])
  }
  isAway = false
  assert.equal((await ask()).stored_bytes, 7)
  const logged = lines.map((line) => JSON.parse(line) as { event: string; failures?: number })
  assert.deepEqual(
    logged.map(({ event, failures }) => [event, failures]),
    [
      ['the status is incomplete: the store does not respond', undefined],
      ['the status is complete again', 3],
    ],
  )
})

it('a critical alarm is shown first, however many others there are', async (test) => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-status-'))
  test.after(() => rmSync(folder, { recursive: true }))
  await using store = await openSqlite({ folder, now: 0, onFatal: assert.ifError })
  await store.raiseAlarm(newReport('1', { kind: 'disk_low' }))
  for (let number = 2; number < 150; number += 1)
    await store.raiseAlarm(newReport(String(number), { kind: 'limit_reached', subject: `project ${number}` }))
  const readiness = async () => ({ status: 'ok', reason: null, store: 'ok', bucket: 'ok' })
  const figures = () => store.figures({ accounts: [], mostCounted: 9, mostAttempts: 9 })
  const { log } = openTelemetry({ write() {}, now: () => 0, secrets: [] })
  const parts = { store, readiness, figures, clock: manualClock(0), log, accounts: new Map(), localAlarms: () => [] }
  const dependencies = { ...parts, bucketLimit: 0, service: {} } as unknown as StatusDependencies
  const { handler } = statusRoute(dependencies, { all: async () => 0 })
  const { alarms } = await (handler as unknown as () => Promise<{ alarms: { kind: string }[] }>)()
  assert.deepEqual([alarms.length, alarms[0]?.kind, alarms[1]?.kind], [100, 'disk_low', 'limit_reached'])
})
