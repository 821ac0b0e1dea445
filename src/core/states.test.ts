import assert from 'node:assert/strict'
import { it } from 'node:test'
import { apply } from './states.ts'
import { isTaskId, newTaskId, queueTask, type Task, wireStatus } from './task.ts'

const queued = queueTask(
  {
    id: 'video_1',
    owner: 'a',
    model: 'm',
    card: 'm',
    digest: 0,
    finishBy: 1e9,
    startBy: 1e9,
    prompt: 'x',
    seconds: 4,
    size: { width: 2, height: 2 },
    image: null,
    parameters: {},
  },
  0,
)
const task: Task = {
  ...queued,
  state: 'running',
  progress: 40,
  startedAt: 5,
  fence: 1,
  account: 'p',
  attempt: 'att_1',
  attempts: 1,
}
const video = { key: 'a/b', bytes: 1, sha256: 'c' }
const videoFacts = { width: 2, height: 2, duration: 4, frameRate: 24, codec: 'h264', bytes: 1 }
const whole = { state: 'completed', video, videoFacts, completedAt: 1, expiresAt: 2, dueAt: 2 } as const

it('progress never falls, is whole, and stays below 100 until the video is ours', () => {
  assert.equal(apply(task, { progress: 10, dueAt: 1 }).progress, 40)
  assert.equal(apply(task, { progress: 55.9, dueAt: 1 }).progress, 55)
  assert.equal(apply(task, { progress: 100, dueAt: 1 }).progress, 99)
  const storing = apply(task, { state: 'storing', progress: 99, dueAt: 1 })
  assert.equal(apply(storing, whole).progress, 100)
})

it('a task fails only with its reason, completes only with its video, and moves only along the arrows', () => {
  assert.throws(() => apply(task, { state: 'failed', dueAt: 1 }), /needs its error/)
  const storing: Task = { ...task, state: 'storing' }
  assert.equal(apply(storing, whole).state, 'completed')
  for (const missing of ['video', 'videoFacts', 'completedAt', 'expiresAt'] as const) {
    const { [missing]: _, ...rest } = whole
    assert.throws(() => apply(storing, rest), /needs its video, its facts and its times/, `without ${missing}`)
  }
  assert.throws(() => apply(task, { state: 'held', dueAt: 1 }), /can't go/)
  assert.throws(() => apply({ ...task, state: 'completed' }, { state: 'failed', dueAt: 1 }), /can't go/)
})

// A video that killed its child each time was drawn for ever: each good poll in between had reset its tries.
it('tries are kept unless a change resets them', () => {
  assert.equal(apply({ ...task, tries: 1 }, { progress: 50, dueAt: 1 }).tries, 1)
  assert.equal(apply({ ...task, tries: 1 }, { state: 'storing', dueAt: 1 }).tries, 1)
  assert.equal(apply({ ...task, tries: 1 }, { tries: 0, dueAt: 1 }).tries, 0)
})

it('a failed task keeps the progress it had', () => {
  assert.equal(apply(task, { state: 'failed', error: { code: 'internal', message: 'x' }, dueAt: 1 }).progress, 40)
})

it('the start is set once, so that the status a client sees never goes back', () => {
  assert.equal(apply(task, { startedAt: 9, dueAt: 1 }).startedAt, 5)
  assert.equal(wireStatus({ state: 'queued', startedAt: null }), 'queued')
  assert.equal(wireStatus({ state: 'queued', startedAt: 5 }), 'in_progress')
  assert.equal(wireStatus({ state: 'storing', startedAt: 5 }), 'in_progress')
})

it('ids sort by the time of creation', () => {
  const random = (bytes: number) => new Uint8Array(bytes).fill(255)
  const [early, late] = [newTaskId(1_790_000_000_000, random), newTaskId(1_790_000_000_001, () => new Uint8Array(18))]
  assert.ok(early < late)
  assert.ok(isTaskId(early) && isTaskId(late))
  assert.ok(!isTaskId(`${early}0`) && !isTaskId('video_..'))
})
