import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openSlowStage, openStage, type Stage, startedAt, untilNoListeners } from './listening.ts'
import { until } from './service.ts'

/* `?wait=` and `Prefer: wait=`: the response comes when the status changes. */

const statusOf = async (answer: Promise<Response>) => {
  const response = await answer
  return response.status === 200 ? ((await response.json()) as { status: string }).status : response.status
}
const isListening = (stage: Stage) => until('somebody listens', () => stage.noticeListeners() > 0, 5)

it('returns each next status, and returns at once when the video is finished', async () => {
  await using stage = await openStage()
  const queued = await stage.queued('1')
  const path = `/v1/videos/${queued.id}?wait=30`
  const first = statusOf(stage.fetch(path))
  await isListening(stage)
  const running = await stage.begin(queued)
  assert.equal(await first, 'in_progress')
  const second = statusOf(stage.fetch(path))
  await isListening(stage)
  await stage.progress(running, 50)
  await stage.complete(running)
  assert.equal(await second, 'completed')
  assert.equal(await statusOf(stage.fetch(path)), 'completed')
  await untilNoListeners(stage)
})

it('until=done does not return at a status in between, but at the end', async () => {
  await using stage = await openStage()
  const queued = await stage.queued('1')
  const path = `/v1/videos/${queued.id}?wait=30&until=done`
  const answer = statusOf(stage.fetch(path))
  await isListening(stage)
  await stage.complete(await stage.begin(queued))
  assert.equal(await answer, 'completed')
  assert.equal(await statusOf(stage.fetch(path)), 'completed')
  const failing = await stage.queued('2')
  const failed = statusOf(stage.fetch(`/v1/videos/${failing.id}?until=done`, { headers: { prefer: 'wait=60' } }))
  await isListening(stage)
  await stage.fail(await stage.begin(failing))
  assert.equal(await failed, 'failed')
  const wrong = await stage.fetch(`/v1/videos/${queued.id}?wait=5&until=finished`)
  assert.deepEqual(
    [wrong.status, await wrong.json()],
    [
      400,
      {
        error: {
          message: "Invalid 'until': use change or done.",
          type: 'invalid_request_error',
          param: 'until',
          code: 'invalid_value',
        },
      },
    ],
  )
})

it('returns when a video fails, and with 404 when it is deleted meanwhile', async () => {
  await using stage = await openStage()
  const failing = await stage.begin(await stage.queued('1'))
  const failed = statusOf(stage.fetch(`/v1/videos/${failing.id}?wait=60`))
  await isListening(stage)
  await stage.fail(failing)
  assert.equal(await failed, 'failed')
  const doomed = await stage.queued('2')
  const deleted = statusOf(stage.fetch(`/v1/videos/${doomed.id}?wait=60`))
  await isListening(stage)
  assert.equal((await stage.fetch(`/v1/videos/${doomed.id}`, { method: 'DELETE' })).status, 200)
  assert.equal(await deleted, 404)
})

it('returns the present state when the time is up', async () => {
  await using stage = await openStage()
  const task = await stage.begin(await stage.queued('1'))
  const answer = stage.fetch(`/v1/videos/${task.id}?wait=7`)
  await isListening(stage)
  await stage.progress(task, 40)
  // The server may not sleep yet: the clock advances until it has slept long enough.
  const passing = setInterval(() => stage.clock.advance(1_000), 20)
  const video = (await (await answer).json()) as { status: string; progress: number }
  clearInterval(passing)
  assert.deepEqual([video.status, video.progress], ['in_progress', 40])
  assert.ok(stage.clock.now() - startedAt >= 7_000)
  await untilNoListeners(stage)
})

it('hears a change that falls between its listening and its reading', async () => {
  await using stage = await openSlowStage()
  const task = await stage.queued('1')
  const answer = statusOf(stage.fetch(`/v1/videos/${task.id}?wait=60`))
  await until('it reads', stage.isReading, 5)
  await stage.begin(task)
  stage.release()
  assert.equal(await answer, 'in_progress')
})

it('returns a change that was notified before the read of the old state returned', async () => {
  await using stage = await openSlowStage()
  const task = await stage.queued('1')
  const signal = AbortSignal.timeout(10_000)
  const path = `/v1/videos/${task.id}?wait=60`
  const answer = statusOf(stage.fetch(path, { signal })).catch(() => 'no answer at all')
  await until('it reads', stage.isReading, 5)
  await stage.begin(task)
  await until('it has heard of it', stage.hasReadChange, 5)
  stage.release()
  assert.equal(await answer, 'in_progress')
})

it('forgets a client that goes away, at once', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const leaving = new AbortController()
  const answer = stage.fetch(`/v1/videos/${task.id}?wait=60`, { signal: leaving.signal })
  await isListening(stage)
  leaving.abort()
  await assert.rejects(answer)
  await untilNoListeners(stage)
})

it('returns at once when the service is about to stop, also for requests that arrive then', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const answer = statusOf(stage.fetch(`/v1/videos/${task.id}?wait=60`))
  await isListening(stage)
  stage.draining.abort()
  assert.equal(await answer, 'queued')
  assert.equal(await statusOf(stage.fetch(`/v1/videos/${task.id}?wait=60`)), 'queued')
})

it('takes a preference as one: what is too long is shortened, what can not be read is left alone', async () => {
  await using stage = await openStage()
  const task = await stage.complete(await stage.begin(await stage.queued('1')))
  for (const [prefer, applied] of [
    ['wait=30', 'wait=30'],
    ['wait=100', 'wait=60'],
    ['respond-async, wait=5', 'wait=5'],
    ['Wait = "5"; x', 'wait=5'],
    ['wait=soon', null],
    ['wait=-1', null],
    ['await=5', null],
    ['return=minimal', null],
  ] as const) {
    const answer = await stage.fetch(`/v1/videos/${task.id}`, { headers: { prefer } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('preference-applied'), applied, prefer)
    await answer.arrayBuffer()
  }
  const unfinished = await stage.queued('2')
  const waiting = statusOf(stage.fetch(`/v1/videos/${unfinished.id}`, { headers: { prefer: 'wait=99999' } }))
  await isListening(stage)
  await stage.begin(unfinished)
  assert.equal(await waiting, 'in_progress')
})

it('refuses a time that it does not keep, and names the range', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  for (const wait of ['61', '-1', '1.5', 'x', '', '1e1', '0x10', '999999999999', '%00', '5&wait=6']) {
    const answer = await stage.fetch(`/v1/videos/${task.id}?wait=${wait}`)
    assert.equal(answer.status, 400, wait)
    const { error } = (await answer.json()) as { error: Record<string, string> }
    assert.deepEqual([error.code, error.param], ['invalid_value', 'wait'])
    assert.match(error.message ?? '', /0 to 60/)
  }
  assert.equal(await statusOf(stage.fetch(`/v1/videos/${task.id}?wait=0`)), 'queued')
})

it('does not wait for a video of another token, or for one that does not exist', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  assert.equal(await statusOf(stage.fetch(`/v1/videos/${task.id}?wait=60`, { token: 'bob' })), 404)
  assert.equal(await statusOf(stage.fetch(`/v1/videos/video_${'0'.repeat(48)}?wait=60`)), 404)
  assert.equal(await statusOf(stage.fetch('/v1/videos/nothing?wait=60')), 404)
  assert.equal(stage.noticeListeners(), 0)
})
