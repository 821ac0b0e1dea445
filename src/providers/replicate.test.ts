import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replicateWire } from '../../simulators/replicate.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { parseSize } from '../core/catalog.ts'
import type { ParameterRule } from '../core/parameters.ts'
import { openOutbound } from '../outbound.ts'
import { call, picture, testNetworkProvider } from './contract.ts'
import type { Call, ProviderRequest } from './provider.ts'
import { replicate, toUpstream } from './replicate.ts'

const [wide, tall] = [
  { width: 1280, height: 720 },
  { width: 720, height: 1280 },
]
const veo: ProviderRequest = {
  model: 'google/veo-3.1',
  prompt: 'a red fox',
  seconds: 8,
  size: wide,
  image: null,
  parameters: { seed: 7, audio: false, negative_prompt: 'snow' },
}
const seedance: ProviderRequest = {
  model: 'bytedance/seedance-1-pro',
  prompt: 'a grey owl',
  seconds: 5,
  size: tall,
  image: null,
  parameters: { camera_fixed: true },
}
const kling: ProviderRequest = {
  model: 'kwaivgi/kling-v2.5-turbo-pro',
  prompt: 'a blue whale',
  seconds: 10,
  image: null,
  size: { width: 1440, height: 1440 },
  parameters: {},
}
const wan: ProviderRequest = {
  model: 'wan-video/wan-2.5-t2v',
  prompt: 'a white crane',
  seconds: 5,
  size: wide,
  image: null,
  parameters: { enable_prompt_expansion: false },
}
const hailuo: ProviderRequest = {
  model: 'minimax/hailuo-2.3',
  prompt: 'a black cat',
  seconds: 6,
  size: { width: 1366, height: 768 },
  parameters: { prompt_optimizer: true },
  image: null,
}
const large = { type: 'image/jpeg' as const, bytes: Buffer.alloc(300 * 1_024, 7) }
const lastImage = { last_image: 'https://images.example/last.png' }
const key = 'r8_1234567890abcdefghij'

testNetworkProvider('replicate', {
  member: replicate,
  wire: replicateWire,
  path: '/v1',
  key,
  requests: [
    veo,
    seedance,
    kling,
    wan,
    hailuo,
    ...[kling, wan, hailuo].map((request) => ({ ...request, image: picture })),
    { ...veo, image: picture, parameters: { ...veo.parameters, ...lastImage } },
    { ...seedance, image: large, parameters: { ...seedance.parameters, ...lastImage } },
  ],
})

describe('a request to replicate', () => {
  const inputOf = (request: ProviderRequest, image: string | null = null) => {
    const { path, input } = toUpstream(request, image)
    return [path, input]
  }
  const image = 'data:image/png;base64,AA=='

  it('has the field names of each model', () => {
    assert.deepEqual(inputOf({ ...veo, parameters: { ...veo.parameters, ...lastImage } }, image), [
      '/models/google/veo-3.1/predictions',
      {
        prompt: 'a red fox',
        duration: 8,
        resolution: '720p',
        aspect_ratio: '16:9',
        seed: 7,
        image,
        generate_audio: false,
        negative_prompt: 'snow',
        last_frame: 'https://images.example/last.png',
      },
    ])
    assert.deepEqual(inputOf({ ...seedance, parameters: lastImage }, image)[1], {
      prompt: 'a grey owl',
      duration: 5,
      resolution: '720p',
      aspect_ratio: '9:16',
      image,
      last_frame_image: 'https://images.example/last.png',
    })
    assert.deepEqual(inputOf(kling, image)[1], {
      prompt: 'a blue whale',
      duration: 10,
      aspect_ratio: '1:1',
      start_image: image,
    })
    assert.deepEqual(inputOf(hailuo, image)[1], {
      prompt: 'a black cat',
      duration: 6,
      resolution: '768p',
      prompt_optimizer: true,
      first_frame_image: image,
    })
  })

  it('goes to another model of Wan if it has an image', () => {
    assert.deepEqual(inputOf(wan), [
      '/models/wan-video/wan-2.5-t2v/predictions',
      { prompt: 'a white crane', duration: 5, size: '1280*720', enable_prompt_expansion: false },
    ])
    assert.deepEqual(inputOf(wan, image), [
      '/models/wan-video/wan-2.5-i2v/predictions',
      { prompt: 'a white crane', duration: 5, resolution: '720p', enable_prompt_expansion: false, image },
    ])
  })

  it('is accepted for every size, length and parameter of the cards', async () => {
    await using upstream = await startUpstream({ wire: replicateWire() })
    const headers = { authorization: `Bearer ${key}` }
    const anyOf = (rule: ParameterRule) => {
      if (rule.type === 'boolean') return true
      return rule.type === 'string' ? 'https://images.example/last.png' : rule.maximum
    }
    for (const { upstreamModel: model, seconds: length, size: sizes, parameters: rules } of replicate.cards) {
      const parameters = Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, anyOf(rule)]))
      for (const seconds of 'values' in length ? length.values : [length.min, length.max])
        for (const size of 'values' in sizes ? sizes.values.map(parseSize) : [])
          for (const at of [null, image]) {
            assert.ok(size)
            const { path, input } = toUpstream({ model, prompt: 'x', seconds, size, parameters }, at)
            const asked = { method: 'POST', headers, body: JSON.stringify({ input }) }
            const answer = await fetch(`${upstream.url}/v1${path}`, asked)
            assert.equal(answer.status, 201, await answer.text())
          }
    }
  })

  it('has the usual field names for a model without a card', () => {
    assert.deepEqual(inputOf({ ...veo, model: 'acme/film', parameters: {} }, image), [
      '/models/acme/film/predictions',
      { prompt: 'a red fox', duration: 8, resolution: '720p', aspect_ratio: '16:9', image },
    ])
  })
})

describe('a response of replicate', () => {
  type Answers = Partial<Record<'send' | 'fetch', Response>>
  const calls: string[] = []
  const call = (answers: Answers): Call => ({
    signal: new AbortController().signal,
    attemptId: 'att_1',
    credential: key,
    now: () => 0,
    send: async (path) => {
      calls.push(path)
      return answers.send ?? assert.fail('nothing was to be sent')
    },
    fetch: async () => answers.fetch ?? assert.fail('nothing was to be asked'),
    download: async () => assert.fail('nothing was to be fetched'),
  })
  const answer = (status: number, body: object) => Response.json(body, { status })
  const provider = replicate.create({ folder: '', media: undefined as never })
  const poll = async (body: object) => (await provider).poll('p1', call({ fetch: answer(200, body) }))

  it('may say only in its text how long to wait', async () => {
    const detail = 'Request was throttled. Your rate limit resets in ~30s.'
    const answered = await (await provider).submit(veo, call({ send: answer(429, { detail, status: 429 }) }))
    assert.ok('refused' in answered)
    assert.deepEqual([answered.refused.blame, answered.refused.retryAfterMs], ['busy', 30_000])
    const send = Response.json({ detail }, { status: 429, headers: { 'retry-after': '5' } })
    const told = await (await provider).submit(veo, call({ send }))
    assert.equal('refused' in told && told.refused.retryAfterMs, 5_000)
  })

  it('has a URL somewhere in its output', async () => {
    const film = 'https://replicate.delivery/x/out.mp4'
    const image = 'https://replicate.delivery/x/cover.png'
    for (const output of [film, [film], { cover: image, video: film }, { videos: [{ url: film }] }])
      assert.deepEqual(await poll({ status: 'succeeded', output }), { status: 'succeeded', output: film })
    for (const output of [null, '', 'done', 7, [], {}, ['out.mp4']])
      await assert.rejects(poll({ status: 'succeeded', output }), { code: 'provider_unavailable' })
  })

  it('ends the task if its data was removed, or it was cancelled', async () => {
    const gone = await poll({ status: 'succeeded', output: null, data_removed: true })
    assert.ok(gone.status === 'failed')
    assert.equal(gone.problem.code, 'output_unavailable')
    for (const status of ['canceled', 'aborted']) {
      const stopped = await poll({ status, output: null })
      assert.ok(stopped.status === 'failed')
      assert.equal(stopped.problem.code, 'generation_failed')
    }
  })

  it('shows a content refusal only by its sentence', async () => {
    const codeOf = async (error: string) => {
      const progress = await poll({ status: 'failed', error })
      assert.ok(progress.status === 'failed')
      return progress.problem.code
    }
    for (const error of ['NSFW content detected.', 'It was flagged by moderation.', 'Refused (E005)'])
      assert.equal(await codeOf(error), 'content_policy')
    for (const error of ['Service is busy (E003)', 'Prediction interrupted (E6716)', 'CUDA out of memory', ''])
      assert.equal(await codeOf(error), 'generation_failed')
  })

  it('has the progress in its logs', async () => {
    const logs = '10%|#   | 1/10\n 40%|##  | 4/10'
    assert.deepEqual(await poll({ status: 'processing', logs }), { status: 'running', progress: 40 })
    assert.deepEqual(await poll({ status: 'starting', logs: '' }), { status: 'running', progress: null })
  })

  it('to a failed upload: nothing is submitted', async () => {
    const uploads = [answer(500, {}), answer(401, {}), answer(201, {}), answer(201, { urls: { get: 7 } })]
    calls.length = 0
    for (const fetch of uploads)
      await assert.rejects((await provider).submit({ ...veo, image: large }, call({ fetch })), {
        code: 'provider_unavailable',
      })
    assert.deepEqual(calls, [])
  })

  it('to a cancel is too late while the prediction continues', async () => {
    const cancel = async (status: number, body: object) =>
      (await provider).cancel?.('p1', call({ fetch: answer(status, body) }))
    assert.equal(await cancel(200, { status: 'canceled' }), 'cancelled')
    assert.equal(await cancel(200, { status: 'processing' }), 'too_late')
    assert.equal(await cancel(404, {}), 'too_late')
    await assert.rejects(cancel(500, {}), { code: 'provider_unavailable' })
  })
})

it('the list of predictions is read page by page, as far back as the submit', async () => {
  await using upstream = await startUpstream({ wire: replicateWire({ perPage: 2 }), speed: 60_000 })
  await using outbound = openOutbound({ allow: ['127.0.0.1'] })
  const call: Call = {
    ...outbound.upstream(`${upstream.url}/v1`),
    signal: new AbortController().signal,
    attemptId: 'att_1',
    credential: key,
    now: () => Date.now(),
  }
  const provider = await replicate.create({ folder: '', media: undefined as never })
  const openedAt = Date.now()
  for (const request of [veo, wan, { ...veo, seconds: 4 }, { ...wan, image: picture }, kling, kling, kling])
    assert.ok('operation' in (await provider.submit(request, call)))
  const ids = upstream.ledger().accepts.map(({ id }) => id)
  const find = async (request: ProviderRequest, at = openedAt) => (await provider.find?.(request, at, call))?.matches
  assert.deepEqual(await find(veo), [ids[0]])
  assert.deepEqual(await find({ ...wan, image: picture }), [ids[3]])
  assert.deepEqual(await find(kling), [ids[6], ids[5], ids[4]])
  assert.deepEqual(await find(hailuo), [])
  assert.deepEqual(await find(veo, openedAt + 120_000), [])
  for (let more = 0; more < 14; more += 1) await provider.submit(hailuo, call)
  await assert.rejects(async () => find(veo), { code: 'provider_unavailable' })
})

it('a prediction from before the submit is not a match, even if the list has no time limit', async () => {
  const openedAt = Date.parse('2026-11-15T12:00:00Z')
  const request = {
    model: 'google/veo-3.1',
    prompt: 'a red fox',
    seconds: 8,
    size: { width: 1280, height: 720 },
    parameters: {},
    image: null,
  }
  const { model, input } = toUpstream(request, null)
  const listed = (id: string, ageMs: number) => ({
    id,
    model,
    source: 'api',
    status: 'processing',
    input,
    created_at: new Date(openedAt - ageMs).toISOString(),
  })
  const results = [listed('new', -1_000), listed('early', 59_000), listed('old', 61_000), listed('older', 3_600_000)]
  const provider = await replicate.create({ folder: '', media: undefined as never })
  const found = await provider.find?.(request, openedAt, { ...call(), fetch: async () => Response.json({ results }) })
  const ids = JSON.stringify(found)
  assert.deepEqual(
    results.map(({ id }) => [id, ids.includes(`"${id}"`)]),
    [
      ['new', true],
      ['early', true],
      ['old', false],
      ['older', false],
    ],
  )
})
