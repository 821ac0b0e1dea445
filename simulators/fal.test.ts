import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createFal } from '@ai-sdk/fal'
import { ApiError, createFalClient, type FalClient, ValidationError } from '@fal-ai/client'
import { falWire } from './fal.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const real = 'https://queue.fal.run'
const credentials = 'key-id:key-secret'
const image = 'data:image/png;base64,iVBORw0KGgo='

async function bytesOf(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer())
}

describe("fal's own client at its simulator", () => {
  let upstream: Upstream
  let client: FalClient

  before(async () => {
    upstream = await startUpstream({ wire: falWire(), speed: 50 })
    client = createFalClient({
      credentials,
      requestMiddleware: async (request) => ({ ...request, url: request.url.replace(real, upstream.url) }),
    })
  })
  after(async () => upstream[Symbol.asyncDispose]())

  const patience = { pollInterval: 10, logs: true }

  it('generates a video from text, and sees it wait, run and end', async () => {
    const seen = new Set<string>()
    upstream.setFaults({ next: ['poll-back', 'poll-progress-null'] })
    const { data, requestId } = await client.subscribe('fal-ai/kling-video/v3/pro/text-to-video', {
      ...patience,
      input: { prompt: 'koi', duration: '5', aspect_ratio: '16:9', generate_audio: true },
      onQueueUpdate: ({ status, ...more }) => {
        seen.add(status)
        if (status === 'IN_PROGRESS') assert.ok('logs' in more && more.logs[0]?.message)
      },
    })
    assert.deepEqual([...seen], ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'])
    assert.match(requestId, /^[0-9a-f-]{36}$/)
    assert.deepEqual(withoutMark(await bytesOf(data.video.url)), tinyFilm)
    assert.deepEqual(upstream.ledger().accepts.at(-1)?.bearer, credentials)
  })

  it('generates a video from one image, and from two', async () => {
    const { data } = await client.subscribe('fal-ai/veo3.1/image-to-video', {
      ...patience,
      input: { prompt: 'it moves', image_url: image, duration: '4s', resolution: '1080p', aspect_ratio: 'auto' },
    })
    assert.deepEqual(withoutMark(await bytesOf(data.video.url)), tinyFilm)
    const between = await client.subscribe('fal-ai/veo3.1/first-last-frame-to-video', {
      ...patience,
      input: { prompt: 'it moves', first_frame_url: image, last_frame_url: 'https://example.com/last.png' },
    })
    assert.deepEqual(withoutMark(await bytesOf(between.data.video.url)), tinyFilm)
  })

  it('polls a run below its app only', async () => {
    for (const endpoint of ['xai/grok-imagine-video/text-to-video', 'bytedance/seedance-2.0/fast/text-to-video']) {
      const { data } = await client.subscribe(endpoint, { ...patience, input: { prompt: 'koi' } })
      assert.deepEqual(withoutMark(await bytesOf(data.video.url)), tinyFilm)
    }
    const { request_id: id } = await client.queue.submit('fal-ai/pika/v2.2/text-to-video', { input: { prompt: 'koi' } })
    const headers = { authorization: `Key ${credentials}` }
    const whole = `${upstream.url}/fal-ai/pika/v2.2/text-to-video/requests/${id}/status`
    assert.equal((await fetch(whole, { headers })).status, 405)
  })

  it('gets mistakes in the input only with the result, field by field', async () => {
    const input = { prompt: 'koi', duration: 5 as unknown as '5', generate_audio: 'yes' as unknown as boolean }
    const asked = client.subscribe('fal-ai/kling-video/v3/standard/text-to-video', { ...patience, input })
    await assert.rejects(asked, (error) => {
      assert.ok(error instanceof ValidationError)
      assert.equal(error.status, 422)
      assert.deepEqual(
        error.fieldErrors.map(({ loc, type }) => [loc.join('.'), type]),
        [
          ['body.duration', 'literal_error'],
          ['body.generate_audio', 'bool_type'],
        ],
      )
      return true
    })
    const missing = client.subscribe('fal-ai/pika/v2.2/image-to-video', { ...patience, input: {} as never })
    await assert.rejects(missing, (error) => {
      assert.ok(error instanceof ValidationError)
      assert.deepEqual(error.getFieldErrors('image_url')[0]?.type, 'missing')
      return true
    })
  })

  it('gets a content refusal and a failure by the HTTP status of the result', async () => {
    const ask = (fault: string) => {
      upstream.setFaults({ next: [fault] })
      return client.subscribe('fal-ai/veo3.1', { ...patience, input: { prompt: fault } })
    }
    await assert.rejects(ask('poll-policy'), (error) => {
      assert.ok(error instanceof ValidationError)
      assert.equal(error.fieldErrors[0]?.type, 'content_policy_violation')
      return true
    })
    await assert.rejects(ask('poll-failed'), (error) => {
      assert.ok(error instanceof ApiError && !(error instanceof ValidationError))
      assert.deepEqual([error.status, error.body.error_type], [500, 'runner_server_error'])
      return true
    })
  })

  it('gets an error at once for a key of another scheme, and for an unknown app', async () => {
    const submit = (one: FalClient, endpoint: string) => one.queue.submit(endpoint, { input: { prompt: 'koi' } })
    await assert.rejects(submit(client, 'fal-ai/nothing'), { name: 'ApiError', status: 404 })
    const stranger = createFalClient({
      requestMiddleware: async ({ url, headers, ...request }) => ({
        ...request,
        url: url.replace(real, upstream.url),
        headers: { ...headers, Authorization: `Bearer ${credentials}` },
      }),
    })
    await assert.rejects(submit(stranger, 'fal-ai/veo3.1'), { name: 'ApiError', status: 401 })
  })

  it('cancels a run, and gets an error if it is too late', async () => {
    upstream.setFaults({ speed: 60_000 })
    const endpoint = 'fal-ai/ltx-2.3/text-to-video'
    const { request_id: requestId } = await client.queue.submit(endpoint, { input: { prompt: 'koi' } })
    await assert.rejects(client.queue.result(endpoint, { requestId }), { status: 400 })
    await client.queue.cancel(endpoint, { requestId })
    assert.equal((await client.queue.status(endpoint, { requestId })).status, 'COMPLETED')
    await assert.rejects(client.queue.result(endpoint, { requestId }), { status: 499 })
    upstream.setFaults({ speed: 0 })
    const { request_id: done } = await client.queue.submit(endpoint, { input: { prompt: 'koi' } })
    await assert.rejects(client.queue.cancel(endpoint, { requestId: done }), { status: 400 })
    await assert.rejects(client.queue.cancel(endpoint, { requestId: 'nobody' }), { status: 404 })
  })
})

describe('the AI SDK at the simulator of fal', () => {
  let upstream: Upstream
  before(async () => {
    upstream = await startUpstream({ wire: falWire(), speed: 500 })
  })
  after(async () => upstream[Symbol.asyncDispose]())

  /** The client knows only the real host, and checks the URLs of a response against it. */
  const atSimulator: typeof fetch = async (input, init) => {
    const answer = await fetch(String(input).replace(real, upstream.url), init)
    const text = (await answer.text()).replaceAll(`${upstream.url}/`, `${real}/`)
    return new Response(text, { status: answer.status, headers: { 'content-type': 'application/json' } })
  }

  async function ask(prompt: string) {
    const model = createFal({ apiKey: credentials, fetch: atSimulator }).video('veo3.1')
    assert.ok(model.doStart && model.doStatus)
    const { operation } = await model.doStart({
      prompt,
      n: 1,
      aspectRatio: '16:9',
      duration: 8,
      seed: 7,
      fps: undefined,
      resolution: undefined,
      image: undefined,
      frameImages: undefined,
      inputReferences: undefined,
      generateAudio: undefined,
      providerOptions: {},
    })
    const seen: string[] = []
    while (true) {
      const progress = await model.doStatus({ operation })
      seen.push(progress.status)
      if (progress.status !== 'pending') return { progress, seen }
    }
  }

  it('generates a video and polls only its result', async () => {
    const { progress, seen } = await ask('koi')
    assert.ok(seen.includes('pending'))
    assert.ok(progress.status === 'completed')
    const [video] = progress.videos
    assert.ok(video?.type === 'url')
    assert.deepEqual(withoutMark(await bytesOf(video.url)), tinyFilm)
  })

  it('gets the failure of a video', async () => {
    upstream.setFaults({ next: [{ fault: 'poll-policy', prompt: 'refused' }] })
    assert.equal((await ask('refused')).progress.status, 'error')
  })
})
