import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { it } from 'node:test'
import { Agent, EventSource } from 'undici'
import { newTask } from '../src/stores/contract/world.ts'
import { open, openStage, type Stage, shown, untilNoListeners } from './listening.ts'
import { until } from './service.ts'

/* Clients that reconnect to the stream of all videos: they first get what they missed. */

/** A client that reconnects and then reads nothing, with more to replay than fits into the buffers of the system. */
async function openStuck(stage: Stage): Promise<Socket> {
  const prompt = 'a very long prompt '.repeat(1_600)
  const { last } = await stage.store.noticeRange()
  for (let at = 1; at <= 400; at += 1) await stage.begin(await stage.queued(String(at), { prompt, dueAt: at }))
  const { hostname, port } = new URL(stage.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /v1/videos/events?last_event_id=${last} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n`)
  socket.on('error', () => {})
  socket.once('data', () => socket.pause())
  await until('it listens', () => stage.noticeListeners() > 0, 5)
  return socket
}

it('a client that reconnects gets what it missed, each video in its present state', async () => {
  await using stage = await openStage()
  const stream = await open(stage, '/v1/videos/events')
  const place = /^id: (\d+)$/m.exec((await stream.nextBlock()) ?? '')?.[1]
  assert.ok(place)
  await stream.cancel()
  await untilNoListeners(stage)
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
  await untilNoListeners(stage)
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

it('a replay of long prompts is read in pieces, between which others are served', async () => {
  let [now, most, all] = [0, 0, 0]
  await using stage = await openStage((store) => ({
    read(owner, id) {
      if (now === 0) setImmediate(() => (now = 0))
      now += 1
      all += 1
      most = Math.max(most, now)
      return store.read(owner, id)
    },
  }))
  const { last } = await stage.store.noticeRange()
  const prompt = '\u0001'.repeat(32_000)
  for (let at = 1; at <= 40; at += 1) await stage.begin(await stage.queued(String(at), { prompt, dueAt: at }))
  const stream = await open(stage, '/v1/videos/events', { 'last-event-id': String(last) })
  for (let at = 1; at <= 40; at += 1)
    assert.deepEqual(shown(await stream.next()), ['video.in_progress', newTask(String(at)).id, 'in_progress'])
  assert.equal(all, 40)
  assert.ok(most <= 2, `${most} were read at once`)
  await stream.cancel()
})

it('a replay in which long prompts follow short ones reaches a client that reads it', async () => {
  await using stage = await openStage()
  const { last } = await stage.store.noticeRange()
  const prompts = [...Array<string>(85).fill('x'), ...Array<string>(60).fill('\u0001'.repeat(32_000))]
  for (const [at, prompt] of prompts.entries())
    await stage.begin(await stage.queued(String(at + 1), { prompt, dueAt: at + 1 }))
  const stream = await open(stage, '/v1/videos/events', { 'last-event-id': String(last) })
  for (const at of prompts.keys())
    assert.deepEqual(shown(await stream.next()), ['video.in_progress', newTask(String(at + 1)).id, 'in_progress'])
  await stream.cancel()
})

it('a replay that the store interrupts ends the stream, so that the client reconnects and goes on', async () => {
  let isAway = true
  await using stage = await openStage((store) => ({
    noticesOf: (...asked) => (isAway ? Promise.reject(new Error('away')) : store.noticesOf(...asked)),
  }))
  await stage.queued('1')
  await stage.store.delete('alice', newTask('1').id, 10)
  const broken = await open(stage, '/v1/videos/events', { 'last-event-id': '0' })
  assert.equal(await broken.next(), undefined)
  await untilNoListeners(stage)
  isAway = false
  const again = await open(stage, '/v1/videos/events', { 'last-event-id': '0' })
  assert.equal((await again.next())?.event, 'video.deleted')
  await again.cancel()
})

it('a Last-Event-ID that is too old or invalid gets a reset', async () => {
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
  await untilNoListeners(stage)
})

it('a client that takes nothing of what it missed is let go after two minutes', async () => {
  await using stage = await openStage()
  const socket = await openStuck(stage)
  const begin = stage.clock.now()
  const passing = setInterval(() => stage.clock.advance(1_000), 5)
  await untilNoListeners(stage)
  clearInterval(passing)
  assert.ok(stage.clock.now() - begin >= 120_000, 'it was let go early')
  socket.destroy()
})

it('a client that takes nothing of what it missed is let go before what happens meanwhile fills our memory', async () => {
  await using stage = await openStage()
  const socket = await openStuck(stage)
  for (let at = 0; stage.noticeListeners() > 0; at += 100) {
    assert.ok(at < 2_000, 'it is never let go')
    const numbers = Array.from({ length: 100 }, (_, one) => `f${at + one}`)
    await Promise.all(numbers.map((number) => stage.queued(number, { card: 'other' })))
    await Promise.all(numbers.map((number) => stage.store.delete('alice', newTask(number).id, 10)))
  }
  socket.destroy()
})

it('changes during a replay are sent after it, once each', async () => {
  const gate = Promise.withResolvers<void>()
  let isReading = false
  await using stage = await openStage((store) => ({
    async noticesOf(...asked) {
      isReading = true
      await gate.promise
      return store.noticesOf(...asked)
    },
  }))
  const [first, second] = [await stage.queued('1'), await stage.queued('2')]
  await stage.store.delete('alice', first.id, 10)
  const witness = await open(stage, '/v1/videos/events')
  const opening = open(stage, '/v1/videos/events', { 'last-event-id': '0' })
  await until('it reads', () => isReading, 5)
  await stage.complete(await stage.begin(second))
  const third = await stage.queued('3')
  await stage.store.delete('alice', third.id, 10)
  // The other client got the same events, and reads the same state now.
  for (let event = await witness.next(); event?.data.id !== third.id; ) event = await witness.next()
  gate.resolve()
  const stream = await opening
  const events = [await stream.next(), await stream.next(), await stream.next()]
  assert.deepEqual(events.map(shown), [
    ['video.deleted', first.id, undefined],
    // In its present state: that it started is not sent any more.
    ['video.completed', second.id, 'completed'],
    ['video.deleted', third.id, undefined],
  ])
  await stage.begin(await stage.queued('4'))
  assert.equal((await stream.next())?.data.id, newTask('4').id)
  await Promise.all([witness.cancel(), stream.cancel()])
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
  // Its connection breaks, and a video changes before it reconnects after the 3 s that the server asked for.
  stage.cut()
  await until('it is cut off', () => stage.noticeListeners() === 0, 5)
  await stage.complete(first)
  await until('it is back and hears', () => heard.length === 2, 5)
  const second = await stage.queued('2')
  await stage.fetch(`/v1/videos/${second.id}`, { method: 'DELETE' })
  await until('it goes on', () => heard.length === 3, 5)
  source.close()
  assert.deepEqual(heard, ['video.in_progress 1', 'video.completed 1', 'video.deleted 2'])
  await untilNoListeners(stage)
})
