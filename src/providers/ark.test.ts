import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { arkWire } from '../../simulators/ark.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { openOutbound } from '../outbound.ts'
import { ark, toUpstream } from './ark.ts'
import { shapes } from './cards/ark.ts'
import { picture, testNetworkProvider } from './contract.ts'
import type { Call } from './provider.ts'

const request = {
  model: 'dreamina-seedance-2-0-260128',
  prompt: 'a red fox',
  seconds: 5,
  parameters: {},
  image: null,
  size: { width: 1280, height: 720 },
}
const newest = { ...request, model: 'dreamina-seedance-2-5-260628' }
const last = 'https://example.com/last.png'
const key = 'ark-test-1234567890'

testNetworkProvider('ark', {
  member: ark,
  wire: arkWire,
  path: '/api/v3',
  key,
  requests: [
    request,
    { ...request, image: picture, parameters: { last_image: last, audio: false, watermark: true } },
    { ...newest, seconds: 30, size: { width: 480, height: 854 } },
    { ...newest, image: picture, size: { width: 1080, height: 1920 } },
    { ...request, model: 'dreamina-seedance-2-0-fast-260128', size: { width: 992, height: 432 } },
    { ...request, model: 'dreamina-seedance-2-0-mini-260615', image: picture },
    { ...request, model: 'ep-20261114-abcde', size: { width: 3840, height: 2160 } },
  ],
  without: { 'poll-status-expired': 'it is documented: the task has waited for too long' },
})

/** Its last 8 hexadecimal digits are 3 days and 7 seconds. */
const attemptId = `att_${'0'.repeat(28)}${(86_400 * 3 + 7).toString(16).padStart(8, '0')}`

describe('a request to ark', () => {
  it('has the prompt, the size as resolution and ratio, and an expiry of its own', () => {
    assert.deepEqual(toUpstream(request, attemptId), {
      model: 'dreamina-seedance-2-0-260128',
      content: [{ type: 'text', text: 'a red fox' }],
      resolution: '720p',
      ratio: '16:9',
      duration: 5,
      execution_expires_after: 172_807,
    })
  })

  it("has the frames with their roles, and the parameters by the vendor's names", () => {
    const parameters = { last_image: last, audio: false, watermark: true }
    assert.deepEqual(toUpstream({ ...request, image: picture, parameters }, attemptId), {
      model: 'dreamina-seedance-2-0-260128',
      content: [
        { type: 'text', text: 'a red fox' },
        {
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${picture.bytes.toString('base64')}` },
          role: 'first_frame',
        },
        { type: 'image_url', image_url: { url: last }, role: 'last_frame' },
      ],
      resolution: '720p',
      ratio: '16:9',
      duration: 5,
      generate_audio: false,
      watermark: true,
      execution_expires_after: 172_807,
    })
  })

  it('has the adaptive ratio if the model requires it for a first frame', () => {
    assert.equal(toUpstream({ ...newest, image: picture }, attemptId)?.ratio, 'adaptive')
    assert.equal(toUpstream(newest, attemptId)?.ratio, '16:9')
  })

  it('can have every size of every card, and no other', () => {
    for (const { size } of ark.cards)
      for (const text of 'values' in size ? size.values : assert.fail('it lists its sizes')) {
        const [width = 0, height = 0] = text.split('x').map(Number)
        const { resolution, ratio } = toUpstream({ ...request, size: { width, height } }, attemptId) ?? {}
        assert.deepEqual({ resolution, ratio }, shapes[text])
        const [across = 0, down = 0] = String(ratio).split(':').map(Number)
        assert.ok(Math.abs(width / height / (across / down) - 1) < 0.03, text)
      }
    assert.equal(toUpstream({ ...request, size: { width: 1000, height: 1000 } }, attemptId), undefined)
  })
})

describe('a response of ark', () => {
  const callOf = (status: number, body: unknown): Call => {
    const answer = async () => Response.json(body, { status })
    return {
      send: answer,
      fetch: answer,
      download: answer,
      signal: new AbortController().signal,
      attemptId,
      credential: key,
      now: () => 0,
    }
  }
  const refusalOf = async (status: number, code: string, message = '') => {
    const provider = await ark.create({ folder: '', media: undefined as never })
    const answer = await provider.submit(request, callOf(status, { error: { code, message, param: '', type: '' } }))
    assert.ok('refused' in answer)
    return [answer.refused.blame, answer.refused.problem.code]
  }

  for (const [status, code, message, blame] of [
    [404, 'ModelNotOpen', '', 'account'],
    [404, 'InvalidEndpointOrModel.NotFound', '', 'account'],
    [403, 'AccountOverdueError', '', 'account'],
    [429, 'SetLimitExceeded', '', 'account'],
    [429, 'QuotaExceeded', 'Your account has exhausted its free trial quota for the model.', 'account'],
    [429, 'QuotaExceeded', 'The request has exceeded the quota.', 'busy'],
    [429, 'ServerOverloaded', '', 'busy'],
    [400, 'InvalidParameter.TaskTypeConstraint', '', 'request'],
  ] as const)
    it(`${status} ${code} blames ${blame}${message && `: ${message}`}`, async () => {
      assert.deepEqual(await refusalOf(status, code, message), [blame, 'generation_failed'])
    })

  for (const code of ['InputImageSensitiveContentDetected.PrivacyInformation', 'InputTextRiskDetection'])
    it(`${code} is a content refusal`, async () => {
      assert.deepEqual(await refusalOf(400, code), ['request', 'content_policy'])
    })

  it('has the tokens that are billed, if they are a number', async () => {
    const provider = await ark.create({ folder: '', media: undefined as never })
    const polled = async (usage: unknown) => {
      const body = { status: 'succeeded', content: { video_url: 'https://example.com/v.mp4' }, usage }
      const progress = await provider.poll('cgt-1', callOf(200, body))
      return progress.status === 'succeeded' ? progress.usage : assert.fail(progress.status)
    }
    assert.deepEqual(await polled({ completion_tokens: 108_900, total_tokens: 108_900 }), { outputTokens: 108_900 })
    for (const usage of [undefined, null, 'x', {}, { completion_tokens: '7' }, { completion_tokens: -1 }])
      assert.equal(await polled(usage), undefined)
  })

  it('lists tasks without prompts; only a task with the expiry of the attempt is ours', async () => {
    const provider = await ark.create({ folder: '', media: undefined as never })
    const { model } = request
    const ours = { id: 'cgt-1', model, created_at: 1_000, execution_expires_after: 172_807 }
    const items = [
      ours,
      { ...ours, id: 'cgt-2', model: 'dreamina-seedance-2-0-fast-260128' },
      { ...ours, id: 'cgt-3', execution_expires_after: 172_800 },
      { ...ours, id: 'cgt-4', created_at: 900 },
      { ...ours, id: '../5' },
      { id: 'cgt-6' },
      null,
    ]
    const find = (body: unknown) => provider.find?.(request, 1_010_000, callOf(200, body))
    // Two of them have no usable id: they may still be ours.
    const found = { matches: ['cgt-1'], possible: ['cgt-6'], isPartial: true }
    assert.deepEqual(await find({ total: items.length, items }), found)
    assert.deepEqual((await find({ total: 1, items: [ours] }))?.isPartial, false)
    assert.deepEqual((await find({ total: 900, items: [ours] }))?.isPartial, true)
    assert.deepEqual(await find({ total: 0, items: null }), { matches: [], possible: [], isPartial: false })
    await assert.rejects(async () => find({}), { code: 'provider_unavailable' })
    const endpoint = { ...request, model: 'ep-1' }
    const own = await provider.find?.(endpoint, 1_010_000, callOf(200, { total: 1, items: [ours] }))
    assert.deepEqual(own?.matches, ['cgt-1'])
  })

  for (const status of ['expired', 'cancelled'])
    it(`${status} is the end of a task`, async () => {
      const provider = await ark.create({ folder: '', media: undefined as never })
      const progress = await provider.poll('cgt-1', callOf(200, { id: 'cgt-1', status, error: null }))
      assert.equal(progress.status, 'failed')
    })
})

describe('a cancel at ark', () => {
  it('stops a queued task, not a running one, and never deletes a video', async () => {
    await using upstream = await startUpstream({ wire: arkWire(), speed: 60_000 })
    await using outbound = openOutbound({ allow: ['127.0.0.1'] })
    const provider = await ark.create({ folder: '', media: undefined as never })
    const call: Call = {
      ...outbound.upstream(`${upstream.url}/api/v3`),
      signal: new AbortController().signal,
      attemptId,
      credential: key,
      now: () => Date.now(),
    }
    const submit = async () => {
      const answer = await provider.submit(request, call)
      return 'operation' in answer ? answer.operation : assert.fail('it is refused')
    }
    const queued = await submit()
    assert.equal(await provider.cancel?.(queued, call), 'cancelled')
    assert.equal(await provider.cancel?.(queued, call), 'cancelled')
    assert.equal((await provider.poll(queued, call)).status, 'failed')
    upstream.setFaults({ next: ['poll-progress-null'] })
    const running = await submit()
    assert.equal(await provider.cancel?.(running, call), 'too_late')
    upstream.setFaults({ speed: 0 })
    assert.equal(await provider.cancel?.(running, call), 'too_late')
    assert.equal((await provider.poll(running, call)).status, 'succeeded')
    assert.equal(await provider.cancel?.('cgt-unknown', call), 'too_late')
  })
})
