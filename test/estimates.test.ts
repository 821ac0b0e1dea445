import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AccountView } from '../src/core/account.ts'
import { healthy } from '../src/core/health.ts'
import { openStage, readEvents, type Stage } from './listening.ts'

/* `eta` and `queue_position` of unfinished videos, and the poll interval that clients are given. */

interface Video {
  id: string
  status: string
  eta?: number | null
  queue_position?: number | null
}

const sdk = { 'x-stainless-lang': 'js' }

async function poll(stage: Stage, id: string, headers: Record<string, string> = {}, token = 'alice') {
  const answer = await stage.fetch(`/v1/videos/${id}`, { headers, token })
  const video = (await answer.json()) as Video
  return { video, told: [video.eta, video.queue_position], after: answer.headers.get('openai-poll-after-ms') }
}

/** The service has an account for the model. */
async function openWorld(): Promise<Stage> {
  const stage = await openStage()
  stage.accounts.set('studio', { name: 'studio', concurrency: 1, health: healthy } as AccountView)
  return stage
}

/** Finished videos that took this many seconds. */
async function past(stage: Stage, ...seconds: number[]): Promise<void> {
  for (const [at, took] of seconds.entries()) {
    const running = await stage.begin(await stage.queued(`a${at}`))
    stage.clock.advance(took * 1_000)
    await stage.complete(running)
  }
  const asking = await stage.begin(await stage.queued('aa'))
  await poll(stage, asking.id)
  await stage.fail(asking)
}

it('what has run for a while is expected to end as those did that took longer', async () => {
  await using stage = await openStage()
  await past(stage, 20, 40, 60)
  const task = await stage.begin(await stage.queued('1'))
  assert.deepEqual((await poll(stage, task.id)).told, [40, undefined])
  stage.clock.advance(25_000)
  assert.deepEqual((await poll(stage, task.id)).told, [35, undefined])
  stage.clock.advance(75_000)
  const late = await poll(stage, task.id)
  assert.deepEqual(late.told, [10, undefined])
  assert.deepEqual((await poll(stage, task.id, sdk)).told, [10, null])
  assert.equal(late.after, '1000')
})

it('a queued video has its position, over all owners in turn, and an estimate of its time', async () => {
  await using stage = await openWorld()
  await past(stage, 100)
  const own = [await stage.queued('1'), await stage.queued('2'), await stage.queued('3')]
  const other = await stage.queued('4', { owner: 'bob' })
  const places = []
  for (const { id } of own) places.push((await poll(stage, id)).told)
  // Bob never had a turn: he is next.
  assert.deepEqual(places, [
    [200, 2],
    [300, 3],
    [400, 4],
  ])
  assert.deepEqual((await poll(stage, other.id, {}, 'bob')).told, [100, 1])
  assert.equal((await poll(stage, own[2]?.id ?? '')).after, '20000')
  const list = (await (await stage.fetch('/v1/videos?limit=3&order=desc')).json()) as { data: Video[] }
  const listed = new Map(list.data.map((video) => [video.id, video.queue_position]))
  assert.equal(listed.get(own[2]?.id ?? ''), 4)
  const stream = readEvents(await stage.fetch(`/v1/videos/${own[1]?.id}/events`))
  const first = await stream.next()
  assert.deepEqual([first?.data.queue_position, first?.data.eta], [3, 300])
  await stream.cancel()
  await stage.begin(other)
  stage.clock.advance(1_000)
  assert.deepEqual((await poll(stage, own[1]?.id ?? '')).told, [300, 2])
})

it('a quote has the position and the time of the next video, and nothing of how much others have waiting', async () => {
  await using stage = await openStage()
  await past(stage, 100)
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'studio', prompt: 'a fox' })
  const quote = async (token: string) => {
    // The queue is read again.
    stage.clock.advance(1_000)
    const answer = await stage.fetch('/v1/videos/quote', { method: 'POST', headers, body, token })
    const { eta, queue_position: position } = (await answer.json()) as Video
    return [eta, position]
  }
  await stage.queued('1')
  assert.deepEqual(await quote('alice'), [300, 2])
  assert.deepEqual(await quote('bob'), [300, 2])
  for (let at = 2; at <= 9; at += 1) await stage.queued(String(at))
  assert.deepEqual(await quote('bob'), [300, 2])
  assert.deepEqual(await quote('alice'), [1_100, 10])
})

it('a list says the same as polls do, although nobody polled', async () => {
  await using stage = await openWorld()
  await past(stage, 100)
  const waiting = []
  for (let at = 1; at <= 9; at += 1) waiting.push(await stage.queued(String(at), { dueAt: at }))
  // The queue position that was read is too old by now.
  stage.clock.advance(60_000)
  const list = (await (await stage.fetch('/v1/videos?limit=9&order=asc')).json()) as { data: Video[] }
  const listed = list.data.map((video) => [video.eta, video.queue_position])
  assert.deepEqual(
    listed,
    waiting.map((_, at) => [(at + 1) * 100, at + 1]),
  )
  const polled = []
  for (const { id } of waiting) polled.push((await poll(stage, id)).told)
  assert.deepEqual(polled, listed)
})

it('a video with a free slot has only the estimate of its own time', async () => {
  await using stage = await openStage()
  stage.accounts.set('studio', { name: 'studio', concurrency: 2, health: healthy } as AccountView)
  await past(stage, 100)
  const tasks = [await stage.queued('1'), await stage.queued('2'), await stage.queued('3')]
  const tell = async () => {
    stage.clock.advance(1_000)
    const told = []
    for (const { id } of tasks) told.push((await poll(stage, id)).told)
    return told
  }
  assert.deepEqual(await tell(), [
    [100, 1],
    [100, 2],
    [150, 3],
  ])
  for (const task of tasks.splice(0, 1)) await stage.begin(task)
  assert.deepEqual(await tell(), [
    [100, 1],
    [150, 2],
  ])
  for (const task of tasks.splice(0, 1)) await stage.begin(task)
  assert.deepEqual(await tell(), [[150, 1]])
})

it('a video that was created after the queue was read has no position until it is read again', async () => {
  await using stage = await openWorld()
  await past(stage, 100)
  await poll(stage, (await stage.queued('1')).id)
  const late = await stage.queued('2')
  assert.deepEqual((await poll(stage, late.id)).told, [undefined, undefined])
  stage.clock.advance(1_000)
  assert.deepEqual((await poll(stage, late.id)).told, [200, 2])
})

it('where nothing is known nothing is said, but to SDKs, which are promised every field', async () => {
  await using stage = await openStage()
  const running = await stage.begin(await stage.queued('1', { model: 'gone', card: 'gone' }))
  const { video, after } = await poll(stage, running.id)
  assert.ok(!('eta' in video) && !('queue_position' in video))
  assert.equal(after, '5000')
  assert.deepEqual((await poll(stage, running.id, sdk)).told, [null, null])
})

it('a finished video has neither field, whoever asks', async () => {
  await using stage = await openStage()
  await past(stage, 10)
  const task = await stage.complete(await stage.begin(await stage.queued('1')))
  for (const headers of [{}, sdk]) {
    const { video, after } = await poll(stage, task.id, headers as Record<string, string>)
    assert.ok(!('eta' in video) && !('queue_position' in video))
    assert.equal(after, null)
  }
})

it('what is being sent, or waits for its image, has no place in the line', async () => {
  await using stage = await openStage()
  const fetching = await stage.queued('1', { state: 'fetching', image: { url: 'http://127.0.0.1/x.png' } })
  assert.equal((await poll(stage, fetching.id, sdk)).video.queue_position, null)
  await past(stage, 100)
  // Its queue position is unknown before it is queued.
  assert.deepEqual((await poll(stage, fetching.id, sdk)).told, [null, null])
})

it('a poll succeeds even if the queue or past durations can not be read, without an estimate', async () => {
  let isAway = false
  const away = () => Promise.reject(new Error('away'))
  await using stage = await openStage((store) => ({
    queueOf: (...asked) => (isAway ? away() : store.queueOf(...asked)),
    durations: () => (isAway ? away() : store.durations()),
  }))
  await past(stage, 100)
  isAway = true
  const queued = await stage.queued('1')
  stage.clock.advance(60_000)
  const { video, told } = await poll(stage, queued.id)
  assert.deepEqual([video.status, ...told], ['queued', undefined, undefined])
  const stream = readEvents(await stage.fetch(`/v1/videos/${queued.id}/events`))
  const first = await stream.next()
  assert.deepEqual([first?.event, first?.data.eta], ['video.queued', undefined])
  await stream.cancel()
})

it('while its model is unavailable, when a queued video ends is unknown', async () => {
  await using stage = await openWorld()
  await past(stage, 100)
  const { id } = await stage.queued('1')
  assert.deepEqual((await poll(stage, id)).told, [100, 1])
  const paused = { failures: 1, pausedUntil: stage.clock.now() + 300_000, reason: 'credentials' } as const
  stage.accounts.set('studio', { name: 'studio', concurrency: 1, health: paused } as AccountView)
  assert.deepEqual((await poll(stage, id)).told, [undefined, 1])
})
