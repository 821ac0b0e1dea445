import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { it } from 'node:test'
import { Gateway } from './gateway.ts'
import { readEvents } from './listening.ts'
import { token } from './service.ts'

/* The whole service, with an engine and an upstream, is stopped and started while clients wait and listen. */

it('a service that stops lets its clients go at once, and they go on with the next one', async () => {
  const accounts = { sim: { concurrency: 4 } }
  await using gateway = await Gateway.open({ accounts })
  const { service, upstream } = gateway
  upstream.setFaults({ speed: 600_000 })
  const all = readEvents(await service.fetch('/v1/videos/events'))
  await all.nextBlock()
  const id = await gateway.submit('sim-none')
  const begun = await all.next()
  assert.deepEqual([begun?.event, begun?.data.id], ['video.in_progress', id])
  const one = readEvents(await service.fetch(`/v1/videos/${id}/events`))
  assert.equal((await one.next())?.event, 'video.in_progress')
  const waiting = await ask(`${service.url}/v1/videos/${id}?wait=60`)
  // Its response comes after that event.
  await gateway.video(id)
  // Their videos do not change: only the end of the service ends these requests.
  const stopping = Date.now()
  const restarted = gateway.restart({ accounts })
  assert.equal((await waiting.answer).status, 'in_progress')
  const isChange = (event: string | undefined) => event !== undefined && event !== 'video.progress'
  for (const stream of [all, one])
    for (let event = await stream.next(); event; event = await stream.next()) assert.ok(!isChange(event.event))
  assert.ok(Date.now() - stopping < 10_000, 'they were cut off, not let go')
  await restarted
  upstream.setFaults({ speed: 0 })
  await gateway.makes(id, 'sim-none')
  const again = readEvents(await service.fetch('/v1/videos/events', { headers: { 'last-event-id': begun?.id ?? '' } }))
  const told = await again.next()
  assert.deepEqual([told?.event, told?.data.id, told?.data.progress], ['video.completed', id, 100])
  await again.cancel()
})

/** Resolves when the request is sent. */
async function ask(url: string): Promise<{ answer: Promise<{ status: string }> }> {
  const request = get(url, { headers: { authorization: `Bearer ${token}` }, agent: false })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const [socket] = await once(request, 'socket')
  await once(socket, 'connect')
  return { answer: answered.then(([response]) => json(response) as Promise<{ status: string }>) }
}
