import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../../core/clock.fixture.ts'
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
  const store = { alarms: async () => [], healths: async () => [] }
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
