import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { googleWire } from '../../simulators/google.ts'
import { downloadFaults } from '../../simulators/upstream.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { google, toUpstream } from './google.ts'
import { readRefusal } from './kit/google-errors.ts'
import { readSubmitted } from './kit/index.ts'
import type { Call, ProviderRequest } from './provider.ts'

const request: ProviderRequest = {
  model: 'gemini-omni-1.1-flash',
  prompt: 'a red fox',
  seconds: 8,
  size: { width: 1280, height: 720 },
  parameters: { seed: 7 },
  image: null,
}
const tall = { model: 'gemini-omni-1.2-flash', seconds: 15, size: { width: 2160, height: 3840 }, parameters: {} }
const requests = [request, { ...request, ...tall, image: picture, prompt: 'a red fox, from a picture' }] as const
const key = 'AIzaSyTest-1234567890'

testNetworkProvider('google', { member: google, wire: googleWire, key, requests })
testNetworkProvider('google (films inside polls)', {
  member: google,
  wire: () => googleWire('always inline'),
  key,
  requests,
  without: Object.fromEntries(downloadFaults.map(({ name }) => [name, 'the film comes with a poll'])),
})

describe('the words of the google provider', () => {
  it('are the fields of the Interactions API', () => {
    assert.deepEqual(toUpstream(request), {
      model: 'gemini-omni-1.1-flash',
      input: [{ type: 'text', text: 'a red fox' }],
      response_modalities: ['video'],
      response_format: { type: 'video', aspect_ratio: '16:9', resolution: '720p', duration: '8s', delivery: 'uri' },
      generation_config: { seed: 7, video_config: { task: 'text_to_video' } },
      background: true,
    })
    const { input, response_format: format, generation_config: config } = toUpstream(requests[1])
    assert.deepEqual(input[0], { type: 'image', mime_type: 'image/png', data: picture.bytes.toString('base64') })
    assert.deepEqual([format.aspect_ratio, format.resolution, format.duration], ['9:16', '4k', '15s'])
    assert.deepEqual(config, { video_config: { task: 'image_to_video' } })
  })

  it('distinguish a bad key, a daily quota and a content refusal from a bad request', async () => {
    const detail = (reason: string) => ({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason })
    const quota = { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }] }
    const patience = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.5s' }
    const cases = [
      [400, { error: { code: 'invalid_request', message: 'Invalid duration' } }, 'request', 'generation_failed'],
      [400, [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }], 'account'],
      [400, { error: { code: 400, message: 'x', details: [detail('API_KEY_INVALID')] } }, 'account'],
      [400, { error: { code: 400, message: 'User location', status: 'FAILED_PRECONDITION' } }, 'account'],
      [400, { error: { code: 'invalid_request', message: 'It violates our policies' } }, 'request', 'content_policy'],
      [402, { error: { code: 402, message: 'no credit' } }, 'account'],
      [404, { error: { code: 404, message: 'The model is no longer available', status: 'NOT_FOUND' } }, 'request'],
      [429, { error: { code: 429, message: 'Quota', details: [patience] } }, 'busy', 'generation_failed', 17_500],
      [429, { error: { code: 429, message: 'Quota', details: [quota] } }, 'account'],
      [429, { error: { code: 429, message: 'Your spend limit is reached' } }, 'account'],
    ] as const
    const read = (body: unknown, status: number) =>
      readSubmitted(Response.json(body, { status }), callOf(), { refusal: readRefusal })
    for (const [status, body, blame, code = 'generation_failed', wait] of cases) {
      const answer = await read(body, status)
      assert.ok('refused' in answer)
      const { refused } = answer
      assert.deepEqual([refused.blame, refused.problem.code, refused.retryAfterMs], [blame, code, wait])
    }
    await assert.rejects(read({}, 500), { code: 'provider_unavailable' })
  })

  it('are read wherever the video is, and however it ended', async () => {
    const step = (video: object) => ({ steps: [{ type: 'model_output', content: [{ type: 'video', ...video }] }] })
    const inside = '/v1beta/interactions/v1_0'
    const link = 'https://generativelanguage.googleapis.com/v1beta/files/abc1:download?alt=media'
    const errors = [{ code: 'blocked', message: 'It was stopped for safety.' }]
    const cases = [
      [{ status: 'completed', ...step({ uri: link }) }, { output: { file: 'abc1' } }],
      [
        { status: 'completed', ...step({ uri: 'https://films.example/1.mp4' }) },
        { output: { url: 'https://films.example/1.mp4' } },
      ],
      [
        { status: 'completed', ...step({ data: 'QUJD' }) },
        { output: { inside, at: ['steps', 0, 'content', 0, 'data'] } },
      ],
      [{ status: 'completed', output_video: { data: 'QUJD' } }, { output: { inside, at: ['output_video', 'data'] } }],
      [{ status: 'completed', steps: [], usage: { total_output_tokens: 0 } }, { code: 'content_policy' }],
      [{ status: 'failed', errors }, { code: 'content_policy' }],
      [{ status: 'failed', steps: [{ error: errors[0] }] }, { code: 'content_policy' }],
      [{ status: 'budget_exceeded' }, { code: 'generation_failed' }],
      [{ status: 'requires_action' }, { code: 'generation_failed' }],
    ] as const
    const provider = await google.create({ folder: '', media: undefined as never })
    for (const [body, wanted] of cases) {
      const progress = await provider.poll(
        'v1_0',
        callOf({ download: async () => Response.json({ id: 'v1_0', ...body }) }),
      )
      if (progress.status === 'failed') assert.deepEqual({ code: progress.problem.code }, wanted)
      else assert.deepEqual(progress, { status: 'succeeded', ...wanted })
    }
  })

  it('treat a 400 as unclear unless it says that the interaction does not exist', async () => {
    const provider = await google.create({ folder: '', media: undefined as never })
    const stray = { error: { code: 'invalid_request', message: 'Try again' } }
    const poll = provider.poll('v1_0', callOf({ download: async () => Response.json(stray, { status: 400 }) }))
    await assert.rejects(poll, { code: 'provider_unavailable' })
  })
})

function callOf(more: Partial<Call> = {}): Call {
  const nothing = async () => Response.json({}, { status: 404 })
  return {
    send: nothing,
    fetch: nothing,
    download: nothing,
    signal: new AbortController().signal,
    attemptId: 'att_0',
    credential: key,
    now: () => Date.now(),
    ...more,
  }
}
