import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createByteDance } from '@ai-sdk/bytedance'
import { picture } from '../src/providers/contract.ts'
import { until } from '../test/service.ts'
import { arkWire } from './ark.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { type Orders, startUpstream, type Upstream } from './upstream.ts'

/** The vendor's own client, from the submit to the link. */
function clientOf({ url }: Upstream, headers: Record<string, string> = {}) {
  const client = createByteDance({ apiKey: 'ark-test', baseURL: `${url}/api/v3`, headers })
  return async (more: object = {}, model = 'dreamina-seedance-2-0-260128', options: object = {}) =>
    client.video(model).doGenerate({
      prompt: 'a red kite',
      n: 1,
      aspectRatio: '16:9',
      resolution: '1280x720',
      duration: 5,
      fps: undefined,
      seed: undefined,
      image: undefined,
      frameImages: undefined,
      inputReferences: undefined,
      generateAudio: undefined,
      providerOptions: { bytedance: { pollIntervalMs: 10, pollTimeoutMs: 5_000, ...options } },
      ...more,
    })
}

const start = (orders: Orders = {}) => startUpstream({ wire: arkWire(), speed: 50, ...orders })

async function bytesOf({ videos: [video] }: Awaited<ReturnType<ReturnType<typeof clientOf>>>): Promise<Buffer> {
  assert.ok(video?.type === 'url')
  const response = await fetch(video.url)
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

describe("the simulator of ark, by the vendor's client", () => {
  it('generates a video from text', async () => {
    await using upstream = await start()
    const result = await clientOf(upstream)()
    assert.deepEqual(result.warnings, [])
    const { taskId, usage } = result.providerMetadata?.bytedance ?? {}
    assert.match(String(taskId), /^cgt-\d{14}-[a-z0-9]{5}$/)
    // What the vendor itself counts for 121 frames of 720p.
    assert.deepEqual(usage, { completion_tokens: 108_900 })
    assert.deepEqual(withoutMark(await bytesOf(result)), tinyFilm)
    assert.deepEqual(
      upstream.ledger().accepts.map(({ prompt }) => prompt),
      ['a red kite'],
    )
  })

  it('generates a video from one image without a role, from two frames, and from references', async () => {
    await using upstream = await start()
    const make = clientOf(upstream)
    const image = { type: 'file', mediaType: 'image/png', data: new Uint8Array(picture.bytes) }
    assert.deepEqual(withoutMark(await bytesOf(await make({ image }))), tinyFilm)
    const lastFrameImage = 'https://example.com/last.png'
    const silent = { lastFrameImage, generateAudio: false, watermark: true }
    assert.deepEqual(withoutMark(await bytesOf(await make({ image }, undefined, silent))), tinyFilm)
    const referenceImages = [lastFrameImage, 'asset://asset-1']
    assert.deepEqual(withoutMark(await bytesOf(await make({}, undefined, { referenceImages }))), tinyFilm)
    const newest = 'dreamina-seedance-2-5-260628'
    assert.deepEqual(
      withoutMark(await bytesOf(await make({ image, aspectRatio: 'adaptive', duration: 30 }, newest))),
      tinyFilm,
    )
  })

  it('fails as the client expects it', async () => {
    await using upstream = await start({ next: ['poll-policy', 'poll-failed'] })
    const make = clientOf(upstream)
    // The client leaves out the reason: its schema has no errors of tasks.
    const failed = { name: 'BYTEDANCE_VIDEO_GENERATION_FAILED', message: /"status":"failed"/ }
    await assert.rejects(make(), failed)
    await assert.rejects(make(), failed)
  })

  it('refuses wrong values, with errors that the client can read', async () => {
    await using upstream = await start()
    const make = clientOf(upstream)
    const refused = (statusCode: number, code: string, message: RegExp) => (thrown: unknown) => {
      const error = thrown as Error & { statusCode: number; data: { error: { code: string } } }
      assert.deepEqual([error.name, error.statusCode, error.data.error.code], ['AI_APICallError', statusCode, code])
      assert.match(error.message, message)
      return true
    }
    const invalid = (name: string) => refused(400, 'InvalidParameter', new RegExp(`\`${name}\``))
    await assert.rejects(make({ duration: 3 }), invalid('duration'))
    await assert.rejects(make({ duration: '5' }), invalid('duration'))
    await assert.rejects(make({ resolution: '3840x2160' }), invalid('resolution'))
    await assert.rejects(make({ aspectRatio: '2:1' }), invalid('ratio'))
    await assert.rejects(make({}, undefined, { lastFrameImage: 'https://example.com/1.png' }), invalid('content'))
    const image = { type: 'url', url: 'https://example.com/1.png' }
    await assert.rejects(make({ image }, 'dreamina-seedance-2-5-260628'), invalid('ratio'))
    await assert.rejects(make({ image }, undefined, { referenceImages: [image.url] }), invalid('content'))
    await assert.rejects(make({ seed: 7 }), refused(400, 'InvalidParameter.UnsupportedParameter', /`seed`/))
    await assert.rejects(make({}, 'seedance'), refused(404, 'InvalidEndpointOrModel.NotFound', /seedance/))
    await assert.rejects(make({}, 'dreamina-seedance-1-5-pro-251215'), refused(404, 'ModelNotOpen', /activated/))
    const stranger = clientOf(upstream, { Authorization: 'Token ark-test' })
    await assert.rejects(stranger(), refused(401, 'AuthenticationError', /API key/))
    assert.deepEqual(upstream.ledger().accepts, [])
  })
})

describe('what the client has no method for', () => {
  it('deletes queued and finished tasks, and no others', async () => {
    await using upstream = await start({ speed: 60_000 })
    const tasks = `${upstream.url}/api/v3/contents/generations/tasks`
    const ask = async (method: string, path = '', body?: object) => {
      const headers = { authorization: 'Bearer ark-test' }
      const response = await fetch(tasks + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      return { status: response.status, fields: (await response.json()) as Record<string, unknown> }
    }
    const submit = async () => {
      const content = [{ type: 'text', text: 'a red kite' }]
      const { fields } = await ask('POST', '', { model: 'dreamina-seedance-2-0-260128', content })
      return `/${fields.id}`
    }
    const [queued, running] = [await submit(), await submit()]
    assert.deepEqual(await ask('DELETE', queued), { status: 200, fields: {} })
    assert.equal((await ask('GET', queued)).fields.status, 'cancelled')
    assert.equal((await ask('DELETE', queued)).status, 409)
    // It begins to run after a second, and then has four left.
    upstream.setFaults({ speed: 5_000 })
    await until('it runs', async () => (await ask('GET', running)).fields.status === 'running', 20)
    assert.equal((await ask('DELETE', running)).status, 409)
    upstream.setFaults({ speed: 0 })
    assert.equal((await ask('GET', running)).fields.status, 'succeeded')
    assert.equal((await ask('GET', '?page_num=1&page_size=500')).fields.total, 2)
    assert.equal((await ask('GET', '?page_size=501')).status, 400)
    assert.equal((await ask('DELETE', running)).status, 200)
    assert.equal((await ask('GET', running)).status, 404)
  })
})
