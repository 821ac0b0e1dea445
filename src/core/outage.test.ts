import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from './clock.fixture.ts'
import { openOutage, openOutages } from './outage.ts'

function world(options: { calmMs?: number; level?: 'warn' | 'error' } = {}) {
  const lines: unknown[] = []
  const say =
    (level: string) =>
    (event: string, fields: object = {}) =>
      void lines.push([level, event, fields])
  const log = { info: say('info'), warn: say('warn'), error: say('error') }
  const clock = manualClock(1_000)
  return { lines, clock, options: { log, clock, down: 'it is away', up: 'it is back', ...options } }
}

it('an outage is a line at its start and one at its end, with the number of failures and its length', () => {
  const { lines, clock, options } = world()
  const outage = openOutage(options)
  outage.worked()
  assert.deepEqual(lines, [])
  outage.failed({ why: 'first' })
  clock.advance(4_000)
  outage.failed({ why: 'second' })
  clock.advance(1_000)
  outage.worked()
  outage.worked()
  assert.deepEqual(lines, [
    ['error', 'it is away', { why: 'first' }],
    ['info', 'it is back', { failures: 2, seconds: 5 }],
  ])
  outage.failed({ why: 'again' })
  assert.equal(lines.length, 3)
})

it('each of many has its own outage, and each new kind of failure its line', () => {
  const { lines, options } = world({ level: 'warn' })
  const outages = openOutages(options)
  outages.failed('a', { why: 1 }, 'slow')
  outages.failed('a', { why: 2 }, 'slow')
  outages.failed('a', { why: 3 }, 'broken')
  outages.failed('b', { why: 4 }, 'slow')
  outages.worked('b', { endpoint: 'b' })
  outages.worked('c')
  assert.deepEqual(lines, [
    ['warn', 'it is away', { why: 1 }],
    ['warn', 'it is away', { why: 3 }],
    ['warn', 'it is away', { why: 4 }],
    ['info', 'it is back', { endpoint: 'b', failures: 1, seconds: 0 }],
  ])
})

it('one thing may fail in several ways, and each has its line', () => {
  const { lines, options } = world()
  const outage = openOutage(options)
  for (const kind of ['full', 'full', 'slow']) outage.failed({ kind }, kind)
  outage.worked()
  assert.deepEqual(lines, [
    ['error', 'it is away', { kind: 'full' }],
    ['error', 'it is away', { kind: 'slow' }],
    ['info', 'it is back', { failures: 3, seconds: 0 }],
  ])
})

it('where some requests succeed all the time, only a calm ends the outage', () => {
  const { lines, clock, options } = world({ calmMs: 10_000 })
  const outage = openOutage(options)
  for (let round = 0; round < 3; round += 1) {
    outage.failed({})
    clock.advance(9_000)
    outage.worked()
  }
  assert.equal(lines.length, 1)
  clock.advance(1_000)
  outage.worked()
  assert.deepEqual(lines.at(-1), ['info', 'it is back', { failures: 3, seconds: 28 }])
})

it('any number of outages takes a limited amount of memory', () => {
  const { lines, options } = world()
  const outages = openOutages(options)
  for (let number = 0; number < 2_000; number += 1) outages.failed(String(number), {})
  lines.length = 0
  for (let number = 0; number < 2_000; number += 1) outages.worked(String(number))
  assert.equal(lines.length, 1_000)
})
