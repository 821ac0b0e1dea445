import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { Agent, EventSource } from 'undici'
import { Problem } from '../src/core/problem.ts'
import { newTask } from '../src/stores/contract/world.ts'
import { openStage, readEvents, type ServerEvent, type Stage } from './listening.ts'
import { until } from './service.ts'

/* GET /v1/videos/{id}/events and GET /v1/videos/events: what happens to videos, as it happens. */

const isLeft = (stage: Stage) => until('nobody listens any more', () => stage.hearers() === 0, 5)
const open = async (stage: Stage, path: string, headers: Record<string, string> = {}, token = 'alice') =>
  readEvents(await stage.fetch(path, { headers, token }))
const shown = (event: ServerEvent | undefined) => event && [event.event, event.data.id, event.data.status]

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
  await isLeft(stage)
})

it('a stream has the headers that proxies need, and tells a client when to come back', async () => {
  await using stage = await openStage()
  const task = await stage.queued('1')
  const response = await stage.fetch(`/v1/videos/${task.id}/events`)
  assert.equal(response.headers.get('cache-control'), 'no-cache, no-transform')
  assert.equal(response.headers.get('x-accel-buffering'), 'no')
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  const stream = readEvents(response)
  assert.match((await stream.nextBlock()) ?? '', /^retry: 3000$/m)
  await stream.cancel()
  await isLeft(stage)
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
  await isLeft(stage)
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
  const gate = Promise.withResolvers<void>()
  let isHeld = false
  await using stage = await openStage((store) => ({
    async read(owner, id) {
      const view = await store.read(owner, id)
      if (isHeld || view?.state !== 'queued') return view
      isHeld = true
      await gate.promise
      return view
    },
  }))
  const task = await stage.queued('1')
  const opening = open(stage, `/v1/videos/${task.id}/events`)
  await until('it reads', () => isHeld, 5)
  await stage.complete(await stage.begin(task))
  gate.resolve()
  const stream = await opening
  assert.deepEqual(shown(await stream.next()), ['video.queued', task.id, 'queued'])
  const rest: (string | undefined)[] = []
  for (let event = await stream.next(); event; event = await stream.next()) rest.push(event.event)
  assert.equal(rest.at(-1), 'video.completed')
})

it('a stream of all tells of every video of its token, and of nobody else', async () => {
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
  await isLeft(stage)
})

it('progress is told where it grew, to streams of one and of all', async () => {
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
  await isLeft(stage)
})

it('a client that comes back is told what happened since, each video as it is now', async () => {
  await using stage = await openStage()
  const stream = await open(stage, '/v1/videos/events')
  const place = /^id: (\d+)$/m.exec((await stream.nextBlock()) ?? '')?.[1]
  assert.ok(place)
  await stream.cancel()
  await isLeft(stage)
  const first = await stage.complete(await stage.begin(await stage.queued('1')))
  const second = await stage.begin(await stage.queued('2'))
  const third = await stage.queued('3')
  await stage.fetch(`/v1/videos/${third.id}`, { method: 'DELETE' })
  await stage.restart()
  for (const again of [
    await open(stage, '/v1/videos/events', { 'last-event-id': place }),
    await open(stage, `/v1/videos/events?last_event_id=${place}`),
  ]) {
    const events = [await again.next(), await again.next(), await again.next()]
    assert.deepEqual(events.map(shown), [
      ['video.completed', first.id, 'completed'],
      ['video.in_progress', second.id, 'in_progress'],
      ['video.deleted', third.id, undefined],
    ])
    const later = await open(stage, '/v1/videos/events', { 'last-event-id': String(events[1]?.id) })
    assert.deepEqual(shown(await later.next()), ['video.deleted', third.id, undefined])
    await Promise.all([again.cancel(), later.cancel()])
  }
  await isLeft(stage)
})

it('a replay of many videos reaches a client that takes its time, whole and in order', async () => {
  await using stage = await openStage()
  const count = 210
  const numbers = Array.from({ length: count }, (_, at) => String(at + 1))
  const prompt = 'a very long prompt '.repeat(1_600)
  await stage.store.insert(newTask('9999', { card: 'other' }))
  await stage.store.delete('alice', newTask('9999').id, 1)
  const { last } = await stage.store.noticeRange()
  for (const number of numbers) await stage.begin(await stage.queued(number, { prompt, dueAt: Number(number) }))
  const stream = await open(stage, '/v1/videos/events', { 'last-event-id': String(last) })
  const seen: (string | undefined)[] = []
  while (seen.length < count) seen.push((await stream.next())?.data.id)
  assert.deepEqual(
    seen,
    numbers.map((number) => newTask(number).id),
  )
  await stream.cancel()
})

it('a replay that the store breaks off ends the stream, so that the client comes back and goes on', async () => {
  let isAway = true
  await using stage = await openStage((store) => ({
    noticesOf: (...asked) => (isAway ? Promise.reject(new Error('away')) : store.noticesOf(...asked)),
  }))
  await stage.queued('1')
  await stage.store.delete('alice', newTask('1').id, 10)
  const broken = await open(stage, '/v1/videos/events', { 'last-event-id': '0' })
  assert.equal(await broken.next(), undefined)
  await isLeft(stage)
  isAway = false
  const again = await open(stage, '/v1/videos/events', { 'last-event-id': '0' })
  assert.equal((await again.next())?.event, 'video.deleted')
  await again.cancel()
})

it('whoever comes while the store is away is told to come back', async () => {
  await using stage = await openStage(() => ({
    noticeRange: () => Promise.reject(Problem.ofStorage(new Error('away'))),
  }))
  const task = await stage.queued('1')
  for (const path of ['/v1/videos/events', `/v1/videos/${task.id}/events`, `/v1/videos/${task.id}?wait=5`]) {
    const answer = await stage.fetch(path)
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'], path)
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  }
  assert.equal(stage.hearers(), 0)
})

it('a place that is not known any more, or is no place, is answered with a reset', async () => {
  await using stage = await openStage()
  for (const number of ['1', '2', '3']) {
    await stage.queued(number)
    await stage.store.delete('alice', newTask(number).id, 10)
  }
  const { first, last } = await stage.store.noticeRange()
  assert.equal(await stage.store.trimNotices(1_000, 1), 1)
  for (const place of [String(first - 1), String(last + 1), 'x', '-1', '1.5', '9'.repeat(30)]) {
    const stream = await open(stage, '/v1/videos/events', { 'last-event-id': place })
    const event = await stream.next()
    assert.equal(event?.event, 'reset', place)
    assert.match(String(event?.data.message), /GET \/v1\/videos/)
    assert.equal(event?.id, String(last))
    await stream.cancel()
  }
  const stream = await open(stage, '/v1/videos/events', { 'last-event-id': String(first) })
  assert.equal((await stream.next())?.event, 'video.deleted')
  await stream.cancel()
  await isLeft(stage)
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
  assert.match((await late.nextBlock()) ?? '', /^: the service is about to stop/)
  assert.equal(await late.nextBlock(), undefined)
  await isLeft(stage)
})

it('a client that takes nothing is let go before it fills our memory', async () => {
  await using stage = await openStage()
  const { hostname, port } = new URL(stage.url)
  const socket = connect(Number(port), hostname)
  socket.write('GET /v1/videos/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n')
  socket.once('data', () => socket.pause())
  await until('it listens', () => stage.hearers() > 0, 5)
  const prompt = 'a very long prompt '.repeat(1_500)
  let count = 0
  while (stage.hearers() > 0) {
    count += 1
    await stage.begin(await stage.queued(String(count), { prompt, dueAt: count }))
    assert.ok(count < 1_000, 'it is never let go')
  }
  socket.destroy()
})

it("is understood by another's EventSource, which comes back by itself and goes on where it was", async () => {
  await using stage = await openStage()
  const dispatcher = new Agent().compose((dispatch) => (options, handler) => {
    const headers = { ...(options.headers as Record<string, string>), authorization: 'Bearer alice' }
    return dispatch({ ...options, headers }, handler)
  })
  const source = new EventSource(`${stage.url}/v1/videos/events`, { node: { dispatcher, reconnectionTime: 50 } })
  const heard: string[] = []
  for (const name of ['video.in_progress', 'video.completed', 'video.deleted', 'reset'])
    source.addEventListener(name, (event) => {
      const { id } = JSON.parse((event as MessageEvent).data) as { id: string }
      heard.push(`${name} ${id.slice(-1)}`)
    })
  await until('it is open', () => source.readyState === EventSource.OPEN, 5)
  const first = await stage.begin(await stage.queued('1'))
  await until('it hears', () => heard.length === 1, 5)
  // Its connection breaks, and something happens before it is back, which is after the 3 s that it was told.
  stage.cut()
  await until('it is cut off', () => stage.hearers() === 0, 5)
  await stage.complete(first)
  await until('it is back and hears', () => heard.length === 2, 5)
  const second = await stage.queued('2')
  await stage.fetch(`/v1/videos/${second.id}`, { method: 'DELETE' })
  await until('it goes on', () => heard.length === 3, 5)
  source.close()
  assert.deepEqual(heard, ['video.in_progress 1', 'video.completed 1', 'video.deleted 2'])
  await isLeft(stage)
})
