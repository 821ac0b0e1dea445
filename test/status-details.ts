import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Upstream } from '../simulators/upstream.ts'
import { readEvents } from './listening.ts'
import { operatorToken, type TestService, until } from './service.ts'

/* Each `status_detail` of a video, caused for real, with any process that does the work. */

/** The image server of `causeEachDetail` has such an address. */
export const yaml = 'outbound: { allow: [127.0.0.1] }'

interface Video {
  id: string
  status: string
  status_detail?: string | null
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** An image that is sent when the test calls `release`. */
async function startImages() {
  const gate = Promise.withResolvers<void>()
  const server = createServer(async (_request, response) => {
    await gate.promise
    response.writeHead(200, { 'content-type': 'image/png', connection: 'close' }).end(Buffer.from(pixel, 'base64'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`,
    release: gate.resolve,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

function clientOf(service: TestService) {
  const read = async (id: string, headers: Record<string, string> = {}) => {
    const answer = await service.fetch(`/v1/videos/${id}`, { headers: { connection: 'close', ...headers } })
    assert.equal(answer.status, 200)
    return (await answer.json()) as Video
  }
  return {
    read,
    async submit(fields: object, headers: Record<string, string> = {}): Promise<Video> {
      const answer = await service.submit(fields, { connection: 'close', ...headers })
      assert.equal(answer.status, 200, await answer.clone().text())
      return (await answer.json()) as Video
    },
    has: (id: string, detail: string) =>
      until(`${id} is ${detail}`, async () => {
        const { status, status_detail } = await read(id)
        assert.ok(status !== 'completed' && status !== 'failed', `it is ${status}, not ${detail}`)
        return status_detail === detail
      }),
    async ends(id: string, status: string): Promise<void> {
      const video = await service.finish(id)
      assert.deepEqual([video.status, 'status_detail' in video], [status, false])
      assert.equal((await read(id, { 'x-stainless-lang': 'js' })).status_detail, null)
    },
    async act(path: string, body: object = {}): Promise<void> {
      const authorization = `Bearer ${operatorToken}`
      const headers = { authorization, 'content-type': 'application/json', connection: 'close' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const answer = await service.fetch(`/operator/v1${path}`, init)
      assert.equal(answer.status, 200, await answer.clone().text())
    },
  }
}

/** Reads events until one has that detail. Returns its name. */
async function eventWith(stream: ReturnType<typeof readEvents>, detail: string): Promise<string> {
  for (let event = await stream.next(); event; event = await stream.next())
    if (event.data.status_detail === detail) return event.event
  throw new Error(`the stream ended without ${detail}`)
}

/** `api` serves the requests. It does the work, or another process on its store does. */
export async function causeEachDetail(api: TestService, upstream: Upstream): Promise<void> {
  const { read, submit, has, ends, act } = clientOf(api)
  const film = (prompt: string) => ({ model: 'sim-none', prompt, seconds: '4', size: '1280x720' })
  await act('/accounts', { name: 'main', provider: 'sim-none', base_url: upstream.url, key: 'sk-key', concurrency: 1 })

  upstream.setFaults({ speed: 600_000 })
  const first = await submit(film('the first'))
  assert.equal(first.status_detail, 'waiting_for_slot')
  await has(first.id, 'generating')
  const second = await submit(film('the second'))
  const stream = readEvents(await api.fetch(`/v1/videos/${second.id}/events`))
  assert.equal(await eventWith(stream, 'waiting_for_slot'), 'video.queued')

  await act('/accounts/main/pause')
  await has(second.id, 'model_unavailable')
  assert.equal(await eventWith(stream, 'model_unavailable'), 'video.progress')
  assert.equal((await read(first.id)).status_detail, 'generating')
  await act('/accounts/main/resume')
  await has(second.id, 'waiting_for_slot')
  assert.equal(await eventWith(stream, 'waiting_for_slot'), 'video.progress')

  upstream.setFaults({ speed: 0, rates: { 'download-hang': 1 } })
  await has(first.id, 'storing')
  upstream.setFaults({ rates: {} })
  for (const { id } of [first, second]) await ends(id, 'completed')
  await stream.cancel()

  upstream.setFaults({ next: [{ fault: 'submit-401-before-accept', prompt: 'no credit' }] })
  const refused = await submit(film('no credit'))
  await has(refused.id, 'model_unavailable')
  await act('/accounts/main/resume')
  await ends(refused.id, 'completed')

  upstream.setFaults({ next: [{ fault: 'submit-500-after-accept', prompt: 'unknown' }] })
  const unknown = await submit(film('unknown'))
  await has(unknown.id, 'submitting')
  await act(`/tasks/${unknown.id}/give_up`)
  await ends(unknown.id, 'failed')
  await causeFetching(api)
}

async function causeFetching(api: TestService): Promise<void> {
  const { submit, has, ends } = clientOf(api)
  await using images = await startImages()
  const wanted = { model: 'studio', prompt: 'a dot', seconds: '1', size: '256x256', image: images.url }
  const key = { 'idempotency-key': 'with an image' }
  const created = await submit(wanted, key)
  assert.equal(created.status_detail, 'fetching_image')
  await has(created.id, 'fetching_image')
  images.release()
  await ends(created.id, 'completed')
  // The response of the first request, although the image is stored by now.
  assert.deepEqual(await submit(wanted, key), created)
}
