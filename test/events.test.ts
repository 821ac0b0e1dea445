import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { Problem } from '../src/core/problem.ts'
import { newTask } from '../src/stores/contract/world.ts'
import { open, openSlowStage, openStage, readEvents, shown, untilNoListeners } from './listening.ts'
import { until } from './service.ts'

/* GET /v1/videos/{id}/events and GET /v1/videos/events: what happens to videos, as it happens. */

it('a stream of one video begins with its state, follows it, and ends with it', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const stream = await open(stage, `/v1/videos/${task.id}/events`)
  const first = await stream.next()
  assert.deepEqual(shown(first), ['video.queued', task.id, 'queued'])
  const running = await stage.begin(task)
  assert.deepEqual(shown(await stream.next()), ['video.in_progress', task.id, 'in_progress'])
  await stage.complete(running)
  const last = await stream.next()
  assert.deepEqual(shown(last), ['video.completed', task.id, 'completed'])
  const polled = await stage.fetch(`/v1/videos/${task.id}`)
  assert.deepEqual(last?.data, await polled.json())
  assert.ok(Number(last?.id) > Number(first?.id))
  assert.equal(await stream.next(), undefined)
  await untilNoListeners(stage)
})

it('a stream has the headers that proxies need, and tells a client when to come back', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const response = await stage.fetch(`/v1/videos/${task.id}/events`)
  assert.equal(response.headers.get('cache-control'), 'no-cache, no-transform')
  assert.equal(response.headers.get('x-accel-buffering'), 'no')
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  const stream = readEvents(response)
  // Not that events follow from now on: the current state comes first.
  assert.match((await stream.nextBlock()) ?? '', /^: connected\nretry: 3000$/)
  await stream.cancel()
  await untilNoListeners(stage)
})

it('a stream of a finished video is that one event, and one of a video that is not there is refused', async () => {
  await using stage = await openStage()
  const failed = await stage.fail(await stage.begin(await stage.queued('1')))
  const stream = await open(stage, `/v1/videos/${failed.id}/events`)
  assert.deepEqual(shown(await stream.next()), ['video.failed', failed.id, 'failed'])
  assert.equal(await stream.next(), undefined)
  for (const [path, token] of [
    [`/v1/videos/${failed.id}/events`, 'bob'],
    [`/v1/videos/video_${'0'.repeat(48)}/events`, 'alice'],
    ['/v1/videos/nothing/events', 'alice'],
  ] as const)
    assert.equal((await stage.fetch(path, { token })).status, 404, path)
  assert.equal((await stage.fetch('/v1/videos/events', { method: 'HEAD' })).status, 404)
  await untilNoListeners(stage)
})

it('a stream of a video that is deleted says so and ends', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const stream = await open(stage, `/v1/videos/${task.id}/events`)
  await stream.next()
  await stage.fetch(`/v1/videos/${task.id}`, { method: 'DELETE' })
  const last = await stream.next()
  assert.equal(last?.event, 'video.deleted')
  assert.deepEqual(last?.data, { id: task.id, object: 'video.deleted', deleted: true })
  assert.equal(await stream.next(), undefined)
})

it('hears a change that falls between its listening and its reading', async () => {
  await using stage = await openSlowStage()
  const task = await stage.queued('1')
  const opening = open(stage, `/v1/videos/${task.id}/events`)
  await until('it reads', stage.isReading, 5)
  await stage.complete(await stage.begin(task))
  stage.release()
  const stream = await opening
  assert.deepEqual(shown(await stream.next()), ['video.queued', task.id, 'queued'])
  const rest: (string | undefined)[] = []
  for (let event = await stream.next(); event; event = await stream.next()) rest.push(event.event)
  assert.equal(rest.at(-1), 'video.completed')
})

it('a stream of all videos has every video of its token, and none of another', async () => {
  await using stage = await openStage()
  const stream = await open(stage, '/v1/videos/events')
  assert.match((await stream.nextBlock()) ?? '', /^:/)
  const [own, other] = [await stage.queued('1'), await stage.queued('2', { owner: 'bob', card: 'b' })]
  await stage.complete(await stage.begin(other))
  const running = await stage.begin(own)
  assert.deepEqual(shown(await stream.next()), ['video.in_progress', own.id, 'in_progress'])
  await stage.complete(running)
  assert.deepEqual(shown(await stream.next()), ['video.completed', own.id, 'completed'])
  const next = await stage.queued('3')
  await stage.fetch(`/v1/videos/${next.id}`, { method: 'DELETE' })
  assert.deepEqual(shown(await stream.next()), ['video.deleted', next.id, undefined])
  await stream.cancel()
  await untilNoListeners(stage)
})

it('progress is sent when it grew, to streams of one video and of all', async () => {
  await using stage = await openStage()
  const before = await stage.begin(await stage.queued('1', { prompt: 'before the stream' }))
  const task = await stage.begin(await stage.queued('2'))
  const one = await open(stage, `/v1/videos/${task.id}/events`)
  const all = await open(stage, '/v1/videos/events')
  await one.next()
  const passing = setInterval(() => stage.clock.advance(1_000), 20)
  await stage.progress(task, 40)
  const seen = await one.next()
  assert.deepEqual([seen?.event, seen?.data.progress, seen?.id], ['video.progress', 40, null])
  assert.deepEqual(shown(await all.next()), ['video.progress', task.id, 'in_progress'])
  await stage.progress(before, 70)
  const also = await all.next()
  assert.deepEqual([also?.event, also?.data.id, also?.data.progress], ['video.progress', before.id, 70])
  clearInterval(passing)
  await Promise.all([one.cancel(), all.cancel()])
  await untilNoListeners(stage)
})

it('a client that connects while the store is unavailable gets 503 with a Retry-After', async () => {
  await using stage = await openStage(() => ({
    noticeRange: () => Promise.reject(Problem.ofStorage(new Error('away'))),
  }))
  const task = await stage.queued('1')
  for (const path of ['/v1/videos/events', `/v1/videos/${task.id}/events`, `/v1/videos/${task.id}?wait=5`]) {
    const answer = await stage.fetch(path)
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'], path)
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  }
  assert.equal(stage.noticeListeners(), 0)
})

it('each stream has a heartbeat every 15 seconds, which moves its place on', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const one = await open(stage, `/v1/videos/${task.id}/events`)
  const all = await open(stage, '/v1/videos/events')
  for (const [stream, blocks] of [
    [one, 2],
    [all, 1],
  ] as const)
    for (let block = 0; block < blocks; block += 1) await stream.nextBlock()
  await stage.queued('2', { owner: 'bob', card: 'b' })
  await stage.store.delete('bob', newTask('2').id, 10)
  const { last } = await stage.store.noticeRange()
  const [begin, beats] = [stage.clock.now(), { one: 0, all: 0 }]
  const passing = setInterval(() => stage.clock.advance(1_000), 5)
  for (; beats.one < 4; beats.one += 1) assert.equal(await one.nextBlock(), ':')
  for (; beats.all < 4; beats.all += 1) assert.equal(await all.nextBlock(), `:\nid: ${last}`)
  clearInterval(passing)
  const took = stage.clock.now() - begin
  assert.ok(took >= 45_000, `four heartbeats in ${took} ms`)
  await Promise.all([one.cancel(), all.cancel()])
})

it('streams end with a word when the service is about to stop, and so does one that is opened then', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const one = await open(stage, `/v1/videos/${task.id}/events`)
  const all = await open(stage, '/v1/videos/events')
  await one.next()
  stage.draining.abort()
  assert.equal(await one.next(), undefined)
  assert.equal(await all.next(), undefined)
  const late = await open(stage, '/v1/videos/events')
  await late.nextBlock()
  assert.match((await late.nextBlock()) ?? '', /^: the service is stopping/)
  assert.equal(await late.nextBlock(), undefined)
  await untilNoListeners(stage)
})

it('a client that takes nothing is let go before it fills our memory', async () => {
  await using stage = await openStage()
  const { hostname, port } = new URL(stage.url)
  const socket = connect(Number(port), hostname)
  socket.write('GET /v1/videos/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n')
  socket.once('data', () => socket.pause())
  await until('it listens', () => stage.noticeListeners() > 0, 5)
  const prompt = 'a very long prompt '.repeat(1_500)
  let count = 0
  while (stage.noticeListeners() > 0) {
    count += 1
    await stage.begin(await stage.queued(String(count), { prompt, dueAt: count }))
    assert.ok(count < 1_000, 'it is never let go')
  }
  socket.destroy()
})
