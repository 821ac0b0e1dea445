import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newAttempt, newTask } from '../stores/contract/world.ts'
import { taskSpans } from './task-spans.ts'
import { attemptContext, readTaskTrace, type TaskEnd, toTaskTrace } from './trace.ts'

const trace = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), isSampled: true, parentId: 'ef'.repeat(8) }
const ended = newTask('1', {
  trace: toTaskTrace(trace),
  createdAt: 1_000,
  state: 'completed',
  completedAt: 9_000,
  attempt: 'att_2',
  attempts: 2,
  usage: { outputTokens: 70 },
})
const attempts = [
  newAttempt('att_2', ended, { number: 2, account: 'q', openedAt: 5_000, state: 'accepted', settledAt: 5_500 }),
  newAttempt('att_1', ended, {
    number: 1,
    openedAt: 2_000,
    state: 'refused',
    settledAt: 3_000,
    problem: { code: 'provider_unavailable', message: 'a text of the provider' },
  }),
]
const entry = (step: string, account: string, amount: number) => {
  return { task: ended.id, step, account, amount, currency: 'USD', at: 9_000 }
}
const entries = [
  entry('close', 'revenue alice', 1_500_000),
  entry('close', 'reserved alice', -1_500_000),
  entry('cost att_2', 'cost q', 250_000),
  entry('cost att_2', 'providers q', -250_000),
]
const events = [{ at: 2_000, name: 'attempt opened', detail: { secret: 'hunter2' } }]
const accounts = new Map([['q', { provider: { name: 'vertex' } }]])

function spansOf(end: TaskEnd, showsPrompts = false) {
  const queued = { ...trace, spanId: '1'.repeat(16) }
  return taskSpans({ attempts, events, entries }, end, { trace, queued, showsPrompts, accounts })
}

it('a task that ended has spans for itself, its wait and each attempt, with the times of its rows', () => {
  const spans = spansOf({ task: ended, at: 9_000 })
  assert.deepEqual(
    spans.map(({ name, startedAt, endedAt, parentId, error }) => [name, startedAt, endedAt, parentId, error]),
    [
      ['video m', 1_000, 9_000, trace.parentId, null],
      ['queue', 1_000, 2_000, trace.spanId, null],
      ['generate_content u', 2_000, 3_000, trace.spanId, 'provider_unavailable'],
      ['generate_content u', 5_000, 9_000, trace.spanId, null],
    ],
  )
  const [task, , first, second] = spans
  assert.deepEqual(task?.context, readTaskTrace(ended.trace))
  assert.deepEqual(
    [first?.context, second?.context],
    ['att_1', 'att_2'].map((id) => attemptContext(trace, id)),
  )
  assert.deepEqual(task?.events, [{ at: 2_000, name: 'attempt opened' }])
})

it('money, tokens and the provider are attributes; prompts and texts of others are not', () => {
  const spans = spansOf({ task: ended, at: 9_000 })
  const [task, , first, second] = spans.map(({ attributes }) => attributes)
  const outcome = [task?.['filmgate.charge'], task?.['filmgate.cost'], task?.['filmgate.currency']]
  assert.deepEqual(outcome, [1.5, 0.25, 'USD'])
  assert.deepEqual(
    [second?.['filmgate.cost'], second?.['gen_ai.usage.output_tokens'], second?.['gen_ai.provider.name']],
    [0.25, 70, 'gcp.vertex_ai'],
  )
  assert.deepEqual([first?.['filmgate.cost'], first?.['gen_ai.provider.name']], [undefined, undefined])
  assert.doesNotMatch(JSON.stringify(spans), /a fox|a text of the provider|hunter2/)
  const [shown] = spansOf({ task: ended, at: 9_000 }, true)
  assert.match(String(shown?.attributes['gen_ai.input.messages']), /"content":"a fox"/)
})

it('a task that its owner deleted is cancelled, and that is not an error', () => {
  const [task] = spansOf({ task: { ...ended, state: 'running' }, at: 9_000, isDeleted: true })
  assert.deepEqual([task?.attributes['filmgate.outcome'], task?.error], ['cancelled', null])
})

it('two operations of one submit do not end each other', () => {
  const second = {
    ...newAttempt('att_3', ended, { number: 2, account: 'q', openedAt: 5_000 }),
    state: 'orphan',
  } as const
  const rows = { attempts: [...attempts, second], events, entries }
  const options = { trace, queued: { ...trace, spanId: '1'.repeat(16) }, showsPrompts: false, accounts }
  const spans = taskSpans(rows, { task: ended, at: 9_000 }, options).slice(2)
  assert.deepEqual(
    spans.map(({ startedAt, endedAt }) => [startedAt, endedAt]),
    [
      [2_000, 3_000],
      [5_000, 9_000],
      [5_000, 9_000],
    ],
  )
})
