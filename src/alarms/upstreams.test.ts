import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { watchUpstreams } from './upstreams.ts'

const minute = 60_000

/** The watch of a process, with a clock of its database and one of its machine. */
function open(machine = 'web-1') {
  const clock = manualClock(1_800_000_000_000)
  const said: string[] = []
  const alarms = {
    raise: (kind: string, subject: string, details = {}) =>
      void said.push(`${kind} ${subject} ${JSON.stringify(details)}`),
    clear: (kind: string, subject: string) => void said.push(`no ${kind} ${subject}`),
  }
  const skew = { ms: 0 }
  const upstreams = watchUpstreams({ alarms, clock, systemNow: () => clock.now() - skew.ms, machine })
  return {
    ...{ clock, skew, ...upstreams },
    /** What was reported since the last time. */
    said: () => said.splice(0),
    seeDate: (host: string, aheadMs: number) => upstreams.see({ host, date: clock.now() + aheadMs }),
  }
}

it('a process that knows nothing yet does not clear the alarm about its clock', () => {
  const world = open()
  world.check()
  assert.deepEqual(world.said(), [])
  world.seeDate('a.test:443', 0)
  world.said()
  world.check()
  assert.deepEqual(world.said(), ['no clock_wrong web-1'])
})

it('most providers decide whether the clock is wrong, for 10 minutes after a response', () => {
  const world = open()
  for (const [host, ahead] of Object.entries({ 'a.test:443': 5 * minute, 'b.test:443': 5 * minute, 'c.test:443': 0 }))
    world.seeDate(host, ahead)
  world.said()
  world.check()
  assert.deepEqual(world.said(), ['clock_wrong web-1 {"against":"providers","seconds":300}'])
  world.clock.advance(11 * minute)
  world.check()
  world.check()
  assert.deepEqual(world.said(), ['no clock_wrong web-1'], 'once')
})

it('the clock of the database is compared with that of the machine', () => {
  const world = open()
  world.skew.ms = -2 * minute
  world.check()
  assert.deepEqual(world.said(), ['clock_wrong web-1 {"against":"database","seconds":-120}'])
  world.skew.ms = 0
  world.check()
  assert.deepEqual(world.said(), ['no clock_wrong web-1'])
})

it('a refused certificate is an alarm of the process that saw it', () => {
  const [one, other] = [open('web-1:/data/one'), open('web-1:/data/other')]
  one.see({ host: 'a.test:443', date: null, certificateFault: 'CERT_HAS_EXPIRED' })
  other.see({ host: 'a.test:443', date: null })
  assert.deepEqual(
    [one.said(), other.said()],
    [
      ['certificate_failing a.test:443 from web-1:/data/one {"code":"CERT_HAS_EXPIRED"}'],
      ['no certificate_failing a.test:443 from web-1:/data/other'],
    ],
  )
})
