import assert from 'node:assert/strict'
import { it } from 'node:test'
import { attemptContext, readTaskTrace, readTraceparent, taskFields, toTaskTrace, toTraceparent } from './trace.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const context = { traceId, spanId, isSampled: true }

it('reads a traceparent header, with its sampled flag, and writes it', () => {
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-01`), context)
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-00`), { ...context, isSampled: false })
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-03`), context)
  // A later version of the format may have more fields.
  assert.deepEqual(readTraceparent(`cc-${traceId}-${spanId}-01-what-comes-next`), context)
  assert.equal(toTraceparent(context), `00-${traceId}-${spanId}-01`)
})

it('a malformed traceparent begins a new trace', () => {
  const malformed = [
    undefined,
    '',
    'nonsense',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-01\r\nx: y`,
  ]
  for (const text of malformed) assert.equal(readTraceparent(text), undefined, text)
})

it('a task keeps its trace as text, with the span before it', () => {
  for (const parentId of [null, '0123456789abcdef'])
    assert.deepEqual(readTaskTrace(toTaskTrace({ ...context, parentId })), { ...context, parentId })
  for (const damaged of [null, '', '{bad']) assert.equal(readTaskTrace(damaged), undefined)
})

it('every process derives the same span for an attempt, and another one for another attempt', () => {
  const one = attemptContext(context, 'att_1')
  assert.match(one.spanId, /^[0-9a-f]{16}$/)
  assert.deepEqual(one, attemptContext({ ...context, spanId: '1'.repeat(16) }, 'att_1'))
  assert.notEqual(one.spanId, attemptContext(context, 'att_2').spanId)
})

it('a line of the log has the trace of its task, if it has one', () => {
  assert.deepEqual(taskFields({ id: 'video_1', trace: toTraceparent(context) }), { task: 'video_1', trace_id: traceId })
  assert.deepEqual(taskFields({ id: 'video_1', trace: null }), { task: 'video_1' })
})
