import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Arrival, Ledger, Mark } from '../../simulators/upstream.ts'
import type { Attempt } from '../../src/core/attempt.ts'
import { queueTask, type Task } from '../../src/core/task.ts'
import { type Judgement, judgeKills, strandedPerKill } from './kill-judge.ts'
import { unaskedRepeats } from './unasked.ts'

/* The judge of the fault suites, on worlds with known mistakes. */

const card = 'engine-sglang'
const kill = { at: 1_000, ended: 1_001 }

function taskOf(id: string, change: Partial<Task>): Task {
  const asked = { prompt: `film of ${id}`, seconds: 4, size: { width: 1280, height: 720 }, parameters: {}, image: null }
  const task = queueTask({ id, owner: id, model: card, card, digest: 0, ...asked, startBy: 9e9, finishBy: 9e9 }, 900)
  return { ...task, ...change }
}

function attemptOf(task: string, change: Partial<Attempt>): Attempt {
  return {
    id: `att_${task}`,
    task,
    number: 1,
    account: card,
    keyVersion: '1',
    upstreamModel: 'film',
    openedAt: 990,
    state: 'open',
    operation: null,
    settledAt: null,
    problem: null,
    ...change,
  }
}

const acceptOf = (task: string) => ({
  id: `job_${task}`,
  prompt: `film of ${task}`,
  reference: null,
  key: null,
  bearer: '',
  at: 995,
})
const submitOf = (task: string, at = 995): Arrival => ({
  ask: 'submit',
  at,
  prompt: `film of ${task}`,
  reference: null,
  status: 200,
})

function judge(
  tasks: { task: Task; attempts: Attempt[] }[],
  ledger: Partial<Ledger>,
  marks: [string, Mark][] = [],
): Judgement {
  const whole = { accepts: [], requests: 0, submits: 0, faults: [], arrivals: [], ...ledger }
  return judgeKills({ tasks, ledgers: new Map([[card, whole]]), kills: [kill], marks: new Map(marks) })
}

describe('whose bytes a task got', () => {
  const completed = (id: string, operation: string) => ({
    task: taskOf(id, { state: 'completed' }),
    attempts: [attemptOf(id, { state: 'accepted', operation })],
  })
  const ledger = { accepts: [acceptOf('a'), acceptOf('b')], arrivals: [submitOf('a'), submitOf('b')] }
  const markOf = (task: string): Mark => ({ id: `job_${task}`, prompt: `film of ${task}`, reference: null })

  it('its own is fine', () => {
    const tasks = [completed('a', 'job_a'), completed('b', 'job_b')]
    const { wrongBytes, violations } = judge(tasks, ledger, [
      ['a', markOf('a')],
      ['b', markOf('b')],
    ])
    assert.deepEqual([wrongBytes, violations], [0, []])
  })

  it('the video of another task is wrong, bound to it or not, and so are bytes that no job generated', () => {
    const adopted = judge([completed('a', 'job_b'), completed('b', 'job_a')], ledger, [
      ['a', markOf('b')],
      ['b', markOf('a')],
    ])
    assert.equal(adopted.wrongBytes, 2)
    assert.ok(adopted.violations.some((text) => text.startsWith('wrong bytes, of {"id":"job_b"')))
    const tasks = [completed('a', 'job_a'), completed('b', 'job_b')]
    assert.equal(
      judge(tasks, ledger, [
        ['a', markOf('b')],
        ['b', markOf('b')],
      ]).wrongBytes,
      1,
    )
    assert.equal(judge(tasks, ledger, [['a', markOf('a')]]).wrongBytes, 1)
  })
})

describe('what a kill stranded', () => {
  const held = { task: taskOf('a', { state: 'held' }), attempts: [attemptOf('a', {})] }

  it('is held though no request arrived; one that arrived is not stranded', () => {
    assert.equal(judge([held], {}).stranded, 1)
    assert.equal(judge([held], { arrivals: [submitOf('a')] }).stranded, 0)
    assert.equal(judge([held], { arrivals: [submitOf('b')] }).stranded, 1)
  })

  it('is counted for its last attempt, also if it has failed by now', () => {
    const error = { code: 'submission_unknown', message: '' } as const
    const first = attemptOf('a', { state: 'abandoned', settledAt: 1_500 })
    const second = attemptOf('a', { id: 'att_2', number: 2, openedAt: 2_000, state: 'abandoned', settledAt: 3_000 })
    const failed = { task: taskOf('a', { state: 'failed', error }), attempts: [first, second] }
    assert.equal(judge([failed], { arrivals: [submitOf('a')] }).stranded, 1)
    assert.equal(judge([failed], { arrivals: [submitOf('a'), submitOf('a', 2_001)] }).stranded, 0)
  })

  it('must be less than one in ten kills', () => {
    const { stranded, ...rest } = judge([held], {})
    assert.equal(strandedPerKill({ ...rest, stranded: 10 * stranded }, 100).violations.length, 1)
    assert.deepEqual(strandedPerKill({ ...rest, stranded: 10 * stranded }, 101).violations, [])
    assert.deepEqual(strandedPerKill({ ...rest, stranded: 10 * stranded }, 20).violations, [], 'too few to tell')
  })
})

describe('a request that was sent again', () => {
  const first = attemptOf('a', { id: 'one', state: 'abandoned', settledAt: 2_000 })
  const second = attemptOf('a', { id: 'two', number: 2, openedAt: 2_000, state: 'accepted' })
  const post = (at: number) => ({ ...submitOf('a', at), reference: 'one' })
  const find = (at: number, status: number | null, reference: string | null = null) => ({
    ask: 'find' as const,
    at,
    reference,
    status,
  })
  const anew = (sent: number[], finds: ReturnType<typeof find>[]) =>
    unaskedRepeats(
      [
        { attempt: first, submits: sent.map(post) },
        { attempt: second, submits: [post(3_000)] },
      ],
      finds,
      'list',
    )

  it('needs a successful lookup since then, before the first attempt was given up', () => {
    assert.equal(anew([995], [find(1_500, 200)]), 0)
    for (const finds of [[], [find(1_500, 503)], [find(1_500, null)], [find(990, 200)], [find(2_500, 200)]])
      assert.equal(anew([995], finds), 1, JSON.stringify(finds))
    // It may have been sent without a trace.
    assert.deepEqual([anew([], []), anew([], [find(1_500, 200)])], [1, 0])
  })

  it('must not be in the list, be it without a word of whose it is', () => {
    const own = [first, { ...second, operation: 'job_2' }]
    const task = taskOf('a', { state: 'completed' })
    const later = { ...acceptOf('a'), id: 'job_2', at: 3_000 }
    const arrivals = [submitOf('a'), { ...submitOf('a', 1_500), ...find(1_500, 200) }, submitOf('a', 3_000)]
    const marks: [string, Mark][] = [['a', { id: 'job_2', prompt: task.prompt, reference: null }]]
    const twice = judge([{ task, attempts: own }], { accepts: [acceptOf('a'), later], arrivals }, marks)
    assert.deepEqual(
      twice.violations.map((text) => text.split(':')[0]),
      ['sent again, although it was listed'],
    )
    assert.deepEqual(judge([{ task, attempts: own }], { accepts: [later], arrivals }, marks).violations, [])
  })

  it('as the same attempt needs one as well, about that very attempt where it can be named', () => {
    const repeated = [{ attempt: { ...first, state: 'accepted' as const }, submits: [post(995), post(1_900)] }]
    assert.equal(unaskedRepeats(repeated, [find(1_500, 500, 'one')], 'lookup'), 1)
    assert.equal(unaskedRepeats(repeated, [find(1_500, 200, 'two')], 'lookup'), 1)
    assert.equal(unaskedRepeats(repeated, [find(1_500, 200, 'one')], 'lookup'), 0)
    assert.equal(unaskedRepeats(repeated, [], 'none'), 1)
    assert.equal(unaskedRepeats(repeated, [], 'key'), 0)
  })
})
