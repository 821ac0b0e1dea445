import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReplicate } from '@ai-sdk/replicate'
import Replicate, { type ApiError, type FileOutput, parseProgressFromLogs } from 'replicate'
import { replicateWire } from './replicate.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const auth = 'r8_1234567890abcdefghij'
const veo = 'google/veo-3.1'
const wait = { mode: 'poll', interval: 10 } as const

function start(): Promise<Upstream> {
  return startUpstream({ wire: replicateWire(), speed: 50 })
}

/** The client with its real address: it recognises a file by https, which a simulator does not have. */
function clientOf({ url, films }: Upstream): Replicate {
  const there = (text: string) =>
    text.replaceAll('https://api.replicate.com', url).replaceAll('https://replicate.delivery', films)
  const back = (text: string) =>
    text.replaceAll(url, 'https://api.replicate.com').replaceAll(films, 'https://replicate.delivery')
  const fetchThere = async (input: string | URL | Request, init?: RequestInit) => {
    const body = typeof init?.body === 'string' ? there(init.body) : init?.body
    const answer = await fetch(there(String(input)), body === undefined ? init : { ...init, body })
    if (!answer.headers.get('content-type')?.includes('json')) return answer
    return new Response(back(await answer.text()), { status: answer.status, headers: answer.headers })
  }
  return new Replicate({ auth, fetch: fetchThere })
}

const bytesOf = async (output: unknown) => Buffer.from(await (await (output as FileOutput).blob()).arrayBuffer())
const refusedWith = (status: number, words: RegExp) => (error: ApiError) => {
  assert.equal(error.response.status, status)
  assert.match(error.message, words)
  return true
}

describe("Replicate's own client at its simulator", () => {
  it('runs a model from the prompt to the bytes', async () => {
    await using upstream = await start()
    const seen: string[] = []
    const input = { prompt: 'an owl', duration: 8, resolution: '720p', aspect_ratio: '16:9', generate_audio: true }
    const output = await clientOf(upstream).run(veo, { input, wait }, ({ status }) => seen.push(status))
    assert.equal(new URL(String(output)).host, 'replicate.delivery')
    assert.deepEqual(withoutMark(await bytesOf(output)), tinyFilm)
    assert.deepEqual([seen[0], seen.at(-1)], ['starting', 'succeeded'])
  })

  it('uploads an image, and runs a model with it', async () => {
    await using upstream = await start()
    const client = clientOf(upstream)
    const image = new File([new Uint8Array(300_000)], 'first.png', { type: 'image/png' })
    const file = await client.files.create(image)
    assert.deepEqual([file.size, file.content_type], [300_000, 'image/png'])
    assert.equal((await client.files.get(file.id)).checksums.sha256, file.checksums.sha256)
    const input = { prompt: 'it flies', image, resolution: '1080p', duration: 5 }
    assert.deepEqual(withoutMark(await bytesOf(await client.run('wan-video/wan-2.5-i2v', { input, wait }))), tinyFilm)
    const lost = { ...input, image: 'https://api.replicate.com/v1/files/nothing' }
    await assert.rejects(
      client.predictions.create({ model: 'wan-video/wan-2.5-i2v', input: lost }),
      refusedWith(422, /input\.image/),
    )
  })

  it('creates, waits, lists and cancels', async () => {
    await using upstream = await start()
    upstream.setFaults({ speed: 3_000 })
    const client = clientOf(upstream)
    const first = await client.predictions.create({ model: veo, input: { prompt: 'first' } })
    const second = await client.predictions.create({ model: 'minimax/hailuo-2.3', input: { prompt: 'second' } })
    const { results } = await client.predictions.list()
    assert.deepEqual(
      results.map(({ id, model, input }) => [id, model, input]),
      [
        [second.id, 'minimax/hailuo-2.3', { prompt: 'second' }],
        [first.id, veo, { prompt: 'first' }],
      ],
    )
    assert.equal((await client.predictions.cancel(second.id)).status, 'canceled')
    const half = await client.wait(first, { interval: 10 }, async ({ status }) => status === 'processing')
    assert.ok(Number(parseProgressFromLogs(half)?.percentage) < 1)
    upstream.setFaults({ speed: 0 })
    assert.equal((await client.wait(half, { interval: 10 })).status, 'succeeded')
    assert.equal((await client.predictions.cancel(first.id)).status, 'succeeded')
    assert.equal((await client.accounts.current()).type, 'organization')
  })

  it('gets a failure and a content refusal', async () => {
    await using upstream = await start()
    const client = clientOf(upstream)
    const run = (fault: string) => {
      upstream.setFaults({ next: [{ fault, prompt: fault }] })
      return client.run(veo, { input: { prompt: fault }, wait })
    }
    await assert.rejects(run('poll-failed'), /Prediction failed: .*\(E004\)/)
    await assert.rejects(run('poll-policy'), /Prediction failed: .*flagged as sensitive.*\(E005\)/)
  })

  it('gets the mistakes in a request', async () => {
    await using upstream = await start()
    const client = clientOf(upstream)
    const create = (input: object, model = veo) => client.predictions.create({ model, input })
    await assert.rejects(create({ prompt: 'x', duration: '8' }), refusedWith(422, /duration: Invalid type/))
    await assert.rejects(create({ prompt: 'x', duration: 5 }), refusedWith(422, /duration must be one of/))
    await assert.rejects(create({ prompt: 'x', start_image: 'x' }), refusedWith(422, /start_image is not allowed/))
    await assert.rejects(create({}), refusedWith(422, /prompt is required/))
    await assert.rejects(create({ prompt: 'x' }, 'acme/nothing'), refusedWith(404, /could not be found/))
    await assert.rejects(
      client.predictions.create({ version: '5c7d5dc6', input: { prompt: 'x' } }),
      refusedWith(422, /Invalid version/),
    )
    await assert.rejects(client.predictions.get('nothing'), refusedWith(404, /could not be found/))
    const headers = { Authorization: `Token ${auth}` }
    await assert.rejects(client.request('/account', { headers }), refusedWith(401, /Unauthenticated/))
    assert.equal(upstream.ledger().accepts.length, 0)
  })
})

describe("Vercel's client at Replicate's simulator", () => {
  const asked = {
    prompt: 'an owl',
    n: 1,
    duration: 8,
    seed: 7,
    providerOptions: {},
    aspectRatio: '16:9',
    resolution: undefined,
    fps: undefined,
    image: undefined,
    frameImages: undefined,
    inputReferences: undefined,
    generateAudio: undefined,
  } as const
  const modelOf = ({ url }: Upstream) => createReplicate({ apiToken: auth, baseURL: `${url}/v1` }).video(veo)
  const finish = async (upstream: Upstream, prompt: string) => {
    const model = modelOf(upstream)
    const started = await model.doStart?.({ ...asked, prompt })
    assert.ok(started)
    for (;;) {
      const state = await model.doStatus?.({ operation: started.operation, headers: {} })
      if (state?.status !== 'pending') return state
      await sleep(10)
    }
  }

  it('generates a video, from the prompt to the bytes', async () => {
    await using upstream = await start()
    const state = await finish(upstream, 'an owl')
    assert.ok(state?.status === 'completed')
    const [video] = state.videos
    assert.ok(video?.type === 'url')
    assert.deepEqual(withoutMark(Buffer.from(await (await fetch(video.url)).arrayBuffer())), tinyFilm)
  })

  it('gets a failure and a bad request', async () => {
    await using upstream = await start()
    upstream.setFaults({ next: [{ fault: 'poll-policy', prompt: 'refused' }] })
    const state = await finish(upstream, 'refused')
    assert.ok(state?.status === 'error')
    assert.match(state.error, /flagged as sensitive/)
    await assert.rejects(async () => modelOf(upstream).doStart?.({ ...asked, duration: 7 }), /must be one of/)
  })
})
