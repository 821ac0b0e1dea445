import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { TaskView } from '../core/task.ts'
import { toWireVideo } from './wire.ts'

const requested: TaskView = {
  id: 'video_1',
  model: 'm',
  prompt: 'a fox',
  seconds: 8,
  size: { width: 1280, height: 720 },
  createdAt: 1_000,
  state: 'running',
  progress: 40,
  startedAt: 2_000,
  completedAt: null,
  expiresAt: null,
  error: null,
  remixedFrom: null,
  videoFacts: null,
  warnings: [],
  metadata: null,
  usage: null,
}
const videoFacts = { width: 832, height: 480, duration: 5.041667, frameRate: 23.976, codec: 'h264', bytes: 7 }
const ended = { state: 'completed', progress: 100, completedAt: 3_000, expiresAt: 4_000 } as const
const warnings = ['`seconds` was 8; the provider generated 5.04 s.']

it('until a video is completed, `seconds` and `size` are those of the request', () => {
  const { seconds, size, ...rest } = toWireVideo(requested, { nulls: false })
  assert.deepEqual([seconds, size], ['8', '1280x720'])
  assert.ok(!('output' in rest) && !('warnings' in rest))
})

it('a completed video has its actual size, its length in whole seconds, and the exact values in `output`', () => {
  const video = toWireVideo({ ...requested, ...ended, videoFacts, warnings }, { nulls: false })
  assert.deepEqual([video.seconds, video.size], ['5', '832x480'])
  const output = { width: 832, height: 480, duration: 5.041667, frame_rate: 23.976, codec: 'h264', bytes: 7 }
  assert.deepEqual(video.output, output)
  assert.deepEqual(video.warnings, warnings)
})

it('a video that is as it was requested has no warnings', () => {
  assert.ok(!('warnings' in toWireVideo({ ...requested, ...ended, videoFacts }, { nulls: false })))
})

it('a length is rounded, and is at least a second', () => {
  for (const [duration, seconds] of [
    [4.5, '5'],
    [4.49, '4'],
    [0.3, '1'],
  ] as const) {
    const task = { ...requested, ...ended, videoFacts: { ...videoFacts, duration } }
    assert.equal(toWireVideo(task, { nulls: false }).seconds, seconds)
  }
})

it('a video that was completed before its facts were kept shows its request', () => {
  const video = toWireVideo({ ...requested, ...ended }, { nulls: false })
  assert.deepEqual([video.seconds, video.size, 'output' in video], ['8', '1280x720', false])
})

it("clients of OpenAI's SDKs get nulls in place of what does not apply", () => {
  for (const task of [requested, { ...requested, ...ended }]) {
    const { output, warnings, metadata, usage } = toWireVideo(task, { nulls: true })
    assert.deepEqual([output, warnings, metadata, usage], [null, null, null, null])
  }
  const video = toWireVideo({ ...requested, ...ended, videoFacts, warnings }, { nulls: true })
  assert.deepEqual([video.output?.duration, video.warnings], [5.041667, warnings])
})

it('a video shows what was charged for it, and not what its provider reported alone', () => {
  const shown = (usage: TaskView['usage']) => toWireVideo({ ...requested, ...ended, usage }, { nulls: false }).usage
  assert.deepEqual(shown({ outputTokens: 7, cost: 420_000, currency: 'USD' }), { cost: 0.42, currency: 'USD' })
  assert.deepEqual(shown({ cost: 0, currency: 'USD' }), { cost: 0, currency: 'USD' })
  assert.equal(shown({ outputTokens: 7 }), undefined)
})
