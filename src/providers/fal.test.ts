import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { falWire } from '../../simulators/fal.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { parseSize } from '../core/catalog.ts'
import type { ParameterRule } from '../core/parameters.ts'
import type { Problem } from '../core/problem.ts'
import type { UpstreamRequest } from '../outbound/upstream.ts'
import { openOutbound } from '../outbound.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { fal, readResult, toUpstream } from './fal.ts'
import type { Call, ProviderRequest } from './provider.ts'

const key = '01234567-89ab-cdef-0123-456789abcdef:secret'

function requestOf(id: string, more: Partial<ProviderRequest> = {}): ProviderRequest {
  const card = fal.cards.find((one) => one.id === id)
  assert.ok(card)
  const size = parseSize(card.size.default)
  assert.ok(size)
  const { upstreamModel: model, seconds } = card
  return { model, prompt: 'a red fox', seconds: seconds.default, size, parameters: {}, image: null, ...more }
}

function exampleOf(rule: ParameterRule): string | number | boolean {
  if (rule.type === 'boolean') return false
  if (rule.type === 'string') return rule.enum?.[0] ?? (rule.format === 'https' ? last.last_image : 'rain')
  return rule.maximum
}

/** The mistake that the simulator finds in the request, and the fields that it ignores. */
async function readingOf(request: ProviderRequest): Promise<unknown> {
  const provider = await fal.create({ folder: '', media: undefined as never })
  let sent: { path: string; body: Buffer } | undefined
  const send = async (path: string, { body = '' }: UpstreamRequest) => {
    sent = { path, body: Buffer.from(body) }
    return Response.json({ request_id: 'x' })
  }
  await provider.submit(request, { send, credential: key } as unknown as Call)
  assert.ok(sent)
  const head = { method: 'POST', query: new URLSearchParams(), headers: { authorization: `Key ${key}` } }
  const question = await falWire().read({ ...head, ...sent }, undefined as never)
  assert.ok(question.ask === 'submit')
  const { mistake, overlooked } = question.submission.body.more as { mistake: unknown; overlooked: unknown }
  return { mistake, overlooked }
}

const last = { last_image: 'https://example.com/last.png' }
const both = { image: picture, parameters: last }
const requests = fal.cards.flatMap(({ id }) => [requestOf(id), requestOf(id, { image: picture })])
const more = [
  requestOf('fal/veo-3.1', both),
  requestOf('fal/kling-3.0-pro', both),
  requestOf('fal/wan-2.7', { parameters: { seed: 7, negative_prompt: 'rain', enable_prompt_expansion: false } }),
  requestOf('fal/seedance-2.0', { parameters: { audio: false, seed: 7 } }),
  requestOf('fal/ltx-2.3', { parameters: { fps: '48', audio: false } }),
  requestOf('fal/hailuo-2.3', { parameters: { prompt_optimizer: false } }),
]

testNetworkProvider('fal', {
  member: fal,
  key,
  wire: falWire,
  requests: [requestOf('fal/kling-3.0-pro', { prompt: 'koi' }), ...requests, ...more],
})

describe('a request to fal', () => {
  const cases: [what: string, request: ProviderRequest, body: Record<string, unknown>][] = [
    [
      'Veo counts seconds with their unit',
      requestOf('fal/veo-3.1', { parameters: { audio: false, seed: 7, negative_prompt: 'rain' } }),
      {
        prompt: 'a red fox',
        duration: '8s',
        aspect_ratio: '16:9',
        resolution: '720p',
        generate_audio: false,
        seed: 7,
        negative_prompt: 'rain',
      },
    ],
    [
      'Veo has other names for two frames',
      requestOf('fal/veo-3.1-fast', { ...both, seconds: 4, size: { width: 2160, height: 3840 } }),
      {
        prompt: 'a red fox',
        duration: '4s',
        aspect_ratio: '9:16',
        resolution: '4k',
        first_frame_url: `data:image/png;base64,${picture.bytes.toString('base64')}`,
        last_frame_url: last.last_image,
      },
    ],
    [
      'Kling counts seconds as text and has no resolution',
      requestOf('fal/kling-3.0-pro', { parameters: { audio: true, cfg_scale: 0.7 } }),
      { prompt: 'a red fox', duration: '5', aspect_ratio: '16:9', generate_audio: true, cfg_scale: 0.7 },
    ],
    [
      'Kling takes its shape from the image',
      requestOf('fal/kling-3.0', both),
      {
        prompt: 'a red fox',
        duration: '5',
        start_image_url: `data:image/png;base64,${picture.bytes.toString('base64')}`,
        end_image_url: last.last_image,
      },
    ],
    [
      'Grok counts seconds as a number',
      requestOf('fal/grok-imagine-video', { size: { width: 480, height: 720 } }),
      { prompt: 'a red fox', duration: 6, aspect_ratio: '2:3', resolution: '480p' },
    ],
    [
      'an endpoint that has no card',
      requestOf('fal/veo-3.1', { model: 'somebody/film/text-to-video', seconds: 5 }),
      { prompt: 'a red fox', duration: '5', aspect_ratio: '16:9', resolution: '720p' },
    ],
  ]
  for (const [what, request, body] of cases) it(what, () => assert.deepEqual(toUpstream(request), body))

  it('has only fields that the endpoint knows, for every size, length and parameter of every card', async () => {
    for (const { id, size, seconds, parameters } of fal.cards)
      for (const text of 'values' in size ? size.values : [])
        for (const length of 'values' in seconds ? seconds.values : [seconds.min, seconds.max])
          for (const image of [null, picture]) {
            const given = Object.entries(parameters).filter(([name]) => name !== 'last_image' || image)
            const request = requestOf(id, {
              seconds: length,
              size: parseSize(text) ?? assert.fail(),
              image,
              parameters: Object.fromEntries(given.map(([name, rule]) => [name, exampleOf(rule)])),
            })
            assert.deepEqual(await readingOf(request), { mistake: null, overlooked: [] }, id)
          }
  })

  it('is not sent if the endpoint would ignore a part of it', async () => {
    const provider = await fal.create({ folder: '', media: undefined as never })
    const call = { send: () => assert.fail('it was asked') } as unknown as Call
    for (const request of [
      requestOf('fal/kling-3.0', { parameters: last }),
      requestOf('fal/veo-3.1', { parameters: last }),
    ]) {
      const answer = await provider.submit(request, call)
      assert.ok('refused' in answer)
      assert.equal(answer.refused.blame, 'request')
      assert.match(answer.refused.problem.message, /'last_image' without an image/)
    }
  })
})

describe('a result of fal', () => {
  const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
  const failed = { error: 'Invalid status code', error_type: 'bad_request' }
  const read = (response: Response, status = {}) =>
    readResult(response, status).then(
      (progress) => ('problem' in progress ? progress.problem.code : progress.status),
      (thrown: Problem) => thrown.code,
    )
  const ofType = (type: string) => ({ detail: [{ loc: ['body'], msg: 'no', type }] })

  it('a failed run is distinguished from a failed request', async () => {
    assert.equal(await read(answer(422, ofType('content_policy_violation'))), 'content_policy')
    assert.equal(await read(answer(422, ofType('no_media_generated')), failed), 'content_policy')
    assert.equal(await read(answer(422, ofType('image_too_small'))), 'generation_failed')
    assert.equal(await read(answer(504, ofType('generation_timeout'))), 'generation_failed')
    const lost = { detail: 'Lost', error_type: 'runner_disconnected' }
    assert.equal(await read(answer(503, lost)), 'generation_failed')
    assert.equal(await read(answer(500, 'no', { 'x-fal-error-type': 'internal_error' })), 'generation_failed')
    assert.equal(await read(answer(502, '<h1>Bad gateway</h1>'), failed), 'generation_failed')
    assert.equal(await read(answer(502, '<h1>Bad gateway</h1>')), 'provider_unavailable')
    assert.equal(await read(answer(429, { detail: 'slow down' }), failed), 'provider_unavailable')
    assert.equal(await read(answer(401, { detail: 'no' })), 'provider_unavailable')
  })

  it('an unknown run is missing, unless its status says that it failed', async () => {
    assert.equal(await read(answer(404, { detail: 'Request not found' })), 'missing')
    assert.equal(await read(answer(404, { detail: 'Path /x not found' }), failed), 'generation_failed')
  })

  it('a run still in progress is recognised by its message, whatever the HTTP status', async () => {
    for (const status of [400, 500])
      assert.equal(await read(answer(status, { detail: 'Request is still in progress' })), 'running')
  })

  it('a video is found wherever a model puts it', async () => {
    const url = 'https://v3.fal.media/files/x.mp4'
    for (const body of [{ video: { url } }, { video_url: url }, { videos: [{ url }] }])
      assert.deepEqual(await readResult(answer(200, body), {}), { status: 'succeeded', output: { url } })
    assert.equal(await read(answer(200, { video: {} })), 'provider_unavailable')
  })
})

describe('fal between status and result', () => {
  const prompt = 'between'
  const place = async () => {
    const upstream = await startUpstream({ wire: falWire(), speed: 0 })
    const outbound = openOutbound({ allow: ['127.0.0.1'] })
    const provider = await fal.create({ folder: '', media: undefined as never })
    const call: Call = {
      ...outbound.upstream(upstream.url),
      signal: new AbortController().signal,
      attemptId: 'att_1',
      credential: key,
      now: () => Date.now(),
    }
    const stack = new AsyncDisposableStack()
    for (const one of [upstream, outbound]) stack.use(one)
    const submitted = await provider.submit(requestOf('fal/kling-3.0', { prompt }), call)
    assert.ok('operation' in submitted)
    return {
      upstream,
      provider,
      call,
      operation: submitted.operation,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  it('an operation holds the app and not the whole endpoint', async () => {
    await using here = await place()
    assert.match(String(here.operation), /^fal-ai\/kling-video\/requests\/[0-9a-f-]{36}$/)
  })

  it('polls the configured address, whatever URLs a response has', async () => {
    const provider = await fal.create({ folder: '', media: undefined as never })
    const asked: string[] = []
    const elsewhere = { request_id: 'q1', response_url: 'https://example.com/q1', status_url: 'https://example.com/s' }
    const answer = async (path: string) => {
      asked.push(path)
      return Response.json({ ...elsewhere, status: 'COMPLETED', video: { url: 'https://example.com/film.mp4' } })
    }
    const call = { send: answer, fetch: answer, credential: key } as unknown as Call
    const submitted = await provider.submit(requestOf('fal/grok-imagine-video'), call)
    assert.ok('operation' in submitted)
    await provider.poll(submitted.operation, call)
    const app = '/xai/grok-imagine-video'
    assert.deepEqual(asked, [`${app}/text-to-video`, `${app}/requests/q1/status`, `${app}/requests/q1`])
  })

  it('polls again if the result is not available although the run is over', async () => {
    await using here = await place()
    const { upstream, provider, call, operation } = here
    for (const fault of ['poll-500', 'poll-502', 'poll-429', 'poll-garbage', 'poll-done-without-url']) {
      upstream.setFaults({ next: ['poll-back', 'poll-done-without-url', fault].map((one) => ({ fault: one, prompt })) })
      assert.equal((await provider.poll(operation, call)).status, 'running')
      await assert.rejects(provider.poll(operation, call), { code: 'provider_unavailable' }, fault)
      assert.equal((await provider.poll(operation, call)).status, 'succeeded')
    }
  })

  it('a cancel is too late while the run continues', async () => {
    await using here = await place()
    const { upstream, provider, call, operation } = here
    upstream.setFaults({ speed: 60_000, next: [{ fault: 'poll-progress-null', prompt }] })
    assert.equal(await provider.cancel?.(operation, call), 'too_late')
    assert.equal(await provider.cancel?.(operation, call), 'cancelled')
  })

  it('the check recognises a bad key', async () => {
    await using here = await place()
    const { provider, call } = here
    const wrong = { ...call, fetch: (path: string) => call.fetch(path, { method: 'GET' }, call.signal) }
    assert.equal((await provider.check?.(wrong))?.status, 401)
    assert.equal((await provider.check?.(call))?.status, 200)
  })

  it('a value that the model refuses fails the run', async () => {
    await using here = await place()
    const { provider, call } = here
    const answer = await provider.submit(requestOf('fal/kling-3.0', { seconds: 99 }), call)
    assert.ok('operation' in answer)
    const progress = await provider.poll(answer.operation, call)
    assert.equal('problem' in progress && progress.problem.code, 'generation_failed')
  })
})
