import assert from 'node:assert/strict'
import { it } from 'node:test'
import { resultUnusable } from '../../src/core/timeline.ts'
import type { OperatorTask } from '../../src/wire/operator.ts'
import { happeningsOf, stagesOf, sumsOf } from './stages.ts'
import type { VideoRow } from './videos.ts'

const row = { createdAt: 0, completedAt: null, status: 'failed' } as VideoRow
const event = (ms: number, name: string, detail: unknown = null) => ({ at: new Date(ms).toISOString(), name, detail })
const taskOf = (timeline: OperatorTask['timeline']) => ({ timeline, deliveries: [] }) as unknown as OperatorTask
const refused = { code: 'output_unavailable', message: 'Its host is not at a public address.', why: 'add it to allow' }
const unusable = (ms: number) => [event(ms, resultUnusable, refused), event(ms, 'running')]

const refetched = taskOf([
  event(0, 'queued'),
  event(10, 'attempt opened'),
  event(20, 'attempt accepted', { attempt: 'att_1', account: 'kling' }),
  event(20, 'running'),
  event(4_720, 'storing'),
  ...unusable(4_735),
  event(9_000, 'storing'),
  ...unusable(9_015),
  event(60_000, 'storing'),
  event(60_010, 'collect met a problem', { code: 'output_unavailable', message: 'no result', tries: 3 }),
  event(60_010, 'failed', refused),
])

it('the time between tries is not the time of the model, and each kind has one sum', () => {
  assert.deepEqual(
    sumsOf(stagesOf(row, refetched)).map(({ kind, ms }) => [kind, ms]),
    [
      ['queued', 10],
      ['submitting', 10],
      ['running', 4_700],
      ['storing', 40],
      ['retry', 55_250],
    ],
  )
})

it('a video that is queued again after an attempt waits for the next try', () => {
  const timeline = [event(0, 'queued'), event(10, 'attempt opened'), event(30, 'queued'), event(90, 'attempt opened')]
  assert.deepEqual(
    stagesOf(row, taskOf(timeline), 100).map(({ kind, from, until }) => [kind, from, until]),
    [
      ['queued', 0, 10],
      ['submitting', 10, 30],
      ['retry', 30, 90],
      ['submitting', 90, 100],
    ],
  )
})

it('what happened has its cause, and is listed once if it is repeated', () => {
  assert.deepEqual(
    happeningsOf(refetched).map(({ name, count, first, last, message, why }) => [
      name,
      count,
      first,
      last,
      message,
      why,
    ]),
    [
      [resultUnusable, 2, 4_735, 9_015, refused.message, refused.why],
      ['collect met a problem', 1, 60_010, 60_010, 'no result', null],
    ],
  )
  const others = [event(1, 'outcome unknown', 'timed out'), event(2, 'late', ''), event(3, 'odd', { a: 1 })]
  assert.deepEqual(
    happeningsOf({ timeline: others }).map(({ message }) => message),
    ['timed out', null, '{"a":1}'],
  )
})
