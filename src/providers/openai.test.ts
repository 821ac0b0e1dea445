import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openaiWire, type Trouble } from '../../simulators/openai.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { openOutbound } from '../outbound.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { openai } from './openai.ts'
import type { Call } from './provider.ts'

const key = 'sk-test-1234567890'
const request = {
  model: 'film',
  prompt: 'a red fox',
  seconds: 4,
  size: { width: 1280, height: 720 },
  parameters: { seed: 7 },
  image: null,
}
const requests = [request, { ...request, prompt: 'a red fox, from a picture', image: picture }] as const

for (const dialect of ['openai', 'vllm-omni', 'sglang', 'fastvideo'] as const)
  testNetworkProvider(`openai (${dialect})`, {
    member: openai,
    path: '/v1',
    key,
    requests,
    wire: () => openaiWire(dialect),
    ...((dialect === 'sglang' || dialect === 'fastvideo') && { listsBlindly: true as const }),
    without: {
      'poll-status-expired': 'gateways do say so, of what has failed',
      ...((dialect === 'sglang' || dialect === 'fastvideo') && { 'poll-policy': 'it never says why' }),
    },
  })

describe('the videos that an upstream lists', () => {
  const openedAt = 1_800_000_000_000
  const at = openedAt / 1_000
  const asked = { ...request, prompt: 'a red fox\n in snow', seconds: 5, size: { width: 832, height: 480 } }
  const ours = { id: 'v1', prompt: asked.prompt, seconds: '5', size: '832x480', created_at: at }
  const findIn = async (answer: (path: string) => Response) => {
    const provider = await openai.create({ folder: '', media: undefined as never })
    const fetch = async (path: string) => answer(path)
    const call = { fetch, credential: null, signal: AbortSignal.timeout(1_000), now: () => openedAt + 5_000 }
    return provider.find?.(asked, openedAt, call as unknown as Call)
  }
  const find = (data: unknown[], more: object = { has_more: false }, headers: Record<string, string> = {}) =>
    findIn((path) => Response.json({ object: 'list', data: path.includes('after=') ? [] : data, ...more }, { headers }))
  const likeness = async (change: object) => {
    const found = await find([{ ...ours, ...change }])
    return found?.matches.length === 1 ? 'match' : found?.possible.length === 1 ? 'possible' : 'other'
  }

  it('match by their prompt and time, and by seconds and a size that may have been adjusted', async () => {
    assert.equal(await likeness({}), 'match')
    assert.equal(await likeness({ prompt: 'a red fox in snow ' }), 'match')
    assert.equal(await likeness({ seconds: '4', size: '848x480' }), 'match')
    assert.equal(await likeness({ seconds: null, size: undefined }), 'match')
    for (const created_at of [openedAt, new Date(openedAt).toISOString()])
      assert.equal(await likeness({ created_at }), 'match', String(created_at))
  })

  it('are possible if they have too few fields, or others than the request', async () => {
    for (const prompt of [undefined, null, '', ' ', 7, {}]) assert.equal(await likeness({ prompt }), 'possible')
    assert.equal(await likeness({ prompt: undefined, seconds: '20', size: '1280x720' }), 'possible')
    for (const created_at of [undefined, null, 'yesterday', 0, -1, 1e15, 5])
      assert.equal(await likeness({ created_at }), 'possible', String(created_at))
    for (const prompt of ['a red f…', 'A RED FOX in snow', 'a red fox in snow, cinematic, 4k', '"a red fox in snow"'])
      assert.equal(await likeness({ prompt }), 'possible', prompt)
    assert.equal(await likeness({ seconds: '20' }), 'possible', 'our prompt, with another length')
  })

  it('are of others if they differ, or are older or much younger than the attempt', async () => {
    assert.equal(await likeness({ prompt: 'a hen' }), 'other')
    for (const created_at of [at - 61, openedAt - 61_000, at + 400])
      assert.equal(await likeness({ created_at }), 'other')
  })

  it('have times of a clock that may be wrong, as its Date header shows', async () => {
    const slow = { ...ours, created_at: at - 600 }
    assert.deepEqual((await find([slow]))?.matches, [])
    const date = new Date(openedAt + 5_000 - 600_000).toUTCString()
    assert.deepEqual((await find([slow], undefined, { date }))?.matches, ['v1'])
    // Our own clock may have been set ahead since the attempt was opened.
    assert.deepEqual((await find([ours], undefined, { date }))?.matches, ['v1'])
  })

  it('are partial if there may be more since the attempt was opened', async () => {
    const others = (count: number, age: number) =>
      Array.from({ length: count }, (_, index) => ({ ...ours, id: `x${index}`, prompt: 'a hen', created_at: at - age }))
    const isPartial = async (data: unknown[], more: object) => (await find(data, more))?.isPartial
    assert.equal(await isPartial(others(3, 0), {}), false)
    assert.equal(await isPartial(others(100, 0), { has_more: false }), false)
    assert.equal(await isPartial([...others(99, 0), ...others(1, 90)], { has_more: true }), false)
    for (const more of [{ has_more: true }, { has_more: 'true' }, { next: 'x' }, { last_id: 'x' }])
      assert.equal(await isPartial(others(3, 0), more), true, JSON.stringify(more))
    assert.equal(await isPartial(others(20, 0), {}), true)
    assert.equal(await isPartial([...others(1, 90), ...others(9, 0)], { has_more: true }), true, 'the oldest first')
    assert.equal(await isPartial([{ ...ours, id: 'a/b' }], { has_more: false }), true, 'ours, with an unusable id')
    assert.equal(await isPartial([{ ...ours, id: 17 }], { has_more: false }), true)
    assert.equal(await isPartial([null, 'x'], { has_more: false }), true)
    await assert.rejects(find([], { has_more: false, error: { message: 'no' } }), { code: 'provider_unavailable' })
  })

  it('are read page by page', async () => {
    const page = (from: number) =>
      Array.from({ length: 100 }, (_, index) => ({ ...ours, id: `x${from + index}`, prompt: 'a hen' }))
    const pages = [page(0), page(100), [ours]]
    const found = await findIn((path) => {
      const after = /after=x(\d+)/.exec(path)?.[1]
      const at = after === undefined ? 0 : (Number(after) + 1) / 100
      return Response.json({ data: pages[at], has_more: at < 2 })
    })
    assert.deepEqual(found, { matches: ['v1'], possible: [], isPartial: false })
    const stuck = await findIn(() => Response.json({ data: page(0), has_more: true }))
    assert.deepEqual(stuck, { matches: [], possible: [], isPartial: true })
  })
})

/** A call that gets this response to each request. */
function answering(status: number, body: unknown): Call {
  const answer = async () => Response.json(body, { status })
  return {
    fetch: answer,
    send: answer,
    download: answer,
    signal: new AbortController().signal,
    attemptId: `att_${'0'.repeat(36)}`,
    credential: null,
    now: () => 0,
  }
}

/** FastAPI's own form, and OpenAI's error object, which vLLM uses. */
function saying(status: number, message: string): Call[] {
  const error = { message, type: 'Conflict', param: null, code: status }
  return [answering(status, { detail: message }), answering(status, { error })]
}

const unclear = { code: 'provider_unavailable' }

describe('how the openai provider reads a response', async () => {
  const provider = await openai.create({ folder: '', media: undefined as never })
  const submit = (call: Call) => provider.submit(request, call)
  const poll = (status: number, body: unknown) => provider.poll('v1', answering(status, body))
  const refusalOf = async (call: Call) => {
    const answer = await submit(call)
    assert.ok('refused' in answer)
    const { blame, problem } = answer.refused
    return { blame, code: problem.code, why: String((problem.cause as Error).message) }
  }

  it('recognises a vLLM-Omni with wrong options, and tells the operator what to do', async () => {
    const several =
      'Asynchronous video jobs is not supported with --api-server-count > 1 because the operation uses process-local frontend state'
    for (const call of saying(409, several)) {
      const { blame, why } = await refusalOf(call)
      assert.deepEqual([blame, why.includes('start it with --api-server-count 1')], ['account', true])
      await assert.rejects(provider.find?.(request, 0, call) ?? assert.fail(), unclear)
    }
    for (const call of saying(503, 'Video generation handler not initialized.')) {
      const { blame, why } = await refusalOf(call)
      assert.deepEqual([blame, why.includes('start it with a video model')], ['account', true])
    }
    for (const call of saying(503, 'API worker topology is not initialized.'))
      assert.equal((await refusalOf(call)).blame, 'busy')
  })

  it('treats any other 409 or 503 as unclear, since a proxy may have passed the request on', async () => {
    const others = ['upstream connect error', 'Service Unavailable', 'no healthy upstream', '']
    for (const status of [409, 503])
      for (const call of others.flatMap((message) => saying(status, message)))
        await assert.rejects(submit(call), unclear)
    // A message with the status of another proves nothing.
    for (const call of saying(409, 'Video generation handler not initialized.'))
      await assert.rejects(submit(call), unclear)
    for (const status of [409, 503]) await assert.rejects(submit(answering(status, null)), unclear)
  })

  it('reads the body of a failed video before its HTTP status', async () => {
    const failed = { id: 'v1', object: 'video', status: 'failed', progress: 0 }
    for (const code of [400, 404, 409, 422, 500, 503, 599]) {
      const answer = await poll(code, { ...failed, error: { code, message: 'it broke' } })
      assert.equal(answer.status, 'failed', String(code))
      assert.equal(answer.status === 'failed' && answer.problem.code, 'generation_failed')
    }
    assert.deepEqual(await poll(404, { detail: 'Video not found' }), { status: 'missing' })
    assert.deepEqual(await poll(404, { error: { message: 'Video not found', code: 404 } }), { status: 'missing' })
    // An error of a gateway, about the request and not about the video.
    assert.deepEqual(await poll(404, { status: 'error', message: 'no such route' }), { status: 'missing' })
    await assert.rejects(poll(500, { status: 'error', message: 'try later' }), unclear)
    await assert.rejects(poll(500, { ...failed, status: 'completed' }), unclear)
  })

  it('treats a guardrail as a content refusal, in a submit and in a failed video', async () => {
    const message = 'Guardrail blocked prompt: Blocked by keyword filter'
    for (const call of saying(400, message)) {
      const { blame, code } = await refusalOf(call)
      assert.deepEqual([blame, code], ['request', 'content_policy'])
    }
    const failed = { id: 'v1', object: 'video', status: 'failed' }
    const codeOf = async (code: number, said: string) => {
      const answer = await poll(code, { ...failed, error: { code, message: said } })
      assert.ok(answer.status === 'failed')
      return answer.problem.code
    }
    assert.equal(await codeOf(400, message), 'content_policy')
    assert.equal(await codeOf(400, 'Model mismatch'), 'generation_failed')
    // A crash is not a refusal.
    assert.equal(await codeOf(500, 'CUDA out of memory in the guardrail model'), 'generation_failed')
    for (const call of saying(400, 'extra_params.guardrails is not a boolean'))
      assert.equal((await refusalOf(call)).code, 'generation_failed')
  })

  it('repeats a cancel that is not done yet, and treats any other conflict as too late', async () => {
    const cancel = (call: Call) => provider.cancel?.('v1', call) ?? assert.fail()
    for (const message of [
      'Cancellation in progress. Please try again later.',
      'Video output not yet available. Please try again later.',
    ])
      for (const call of saying(409, message)) await assert.rejects(cancel(call), { ...unclear, retryable: true })
    for (const call of saying(409, 'It has ended.')) assert.equal(await cancel(call), 'too_late')
    assert.equal(await cancel(answering(409, null)), 'too_late')
  })

  it('reads statuses of other servers: a deleted video is missing, an unknown word is running', async () => {
    assert.deepEqual(await poll(200, { id: 'v1', object: 'video', status: 'deleted' }), { status: 'missing' })
    for (const body of [{ status: 'NOT_START', progress: '0%' }, { status: 7 }, { status: null }, {}, null, [], 'x', 7])
      assert.deepEqual(await poll(200, body), { status: 'running', progress: null }, JSON.stringify(body))
    assert.deepEqual(await poll(200, { status: 'in_progress', progress: 42 }), { status: 'running', progress: 42 })
    for (const error of [null, 'it broke', 7, [], { code: null }, { code: {} }])
      assert.equal((await poll(200, { status: 'failed', error })).status, 'failed', JSON.stringify(error))
  })
})

describe('the openai provider at a vLLM-Omni in trouble', async () => {
  const provider = await openai.create({ folder: '', media: undefined as never })
  const openWorld = async (trouble?: Trouble) => {
    const upstream = await startUpstream({ wire: openaiWire('vllm-omni', trouble), speed: 60_000 })
    const outbound = openOutbound({ allow: ['127.0.0.1'] })
    const call: Call = { ...answering(500, {}), ...outbound.upstream(`${upstream.url}/v1`) }
    const close = async () => {
      await outbound[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    }
    return { upstream, call, [Symbol.asyncDispose]: close }
  }

  for (const trouble of ['several-api-servers', 'no-topology', 'no-handler'] as const)
    it(`is refused and accepts nothing: ${trouble}`, async () => {
      await using world = await openWorld(trouble)
      const answer = await provider.submit(request, world.call)
      assert.ok('refused' in answer)
      assert.notEqual(answer.refused.blame, 'request')
      assert.equal(world.upstream.ledger().accepts.length, 0)
      await assert.rejects(provider.check?.(world.call) ?? assert.fail(), { code: 'generation_failed' })
    })

  it('cancels a video with a slow abort by the second request', async () => {
    await using world = await openWorld('slow-abort')
    const { call } = world
    const answer = await provider.submit(request, call)
    assert.ok('operation' in answer)
    await assert.rejects(provider.cancel?.(answer.operation, call) ?? assert.fail(), unclear)
    assert.equal(await provider.cancel?.(answer.operation, call), 'cancelled')
    assert.deepEqual(await provider.poll(answer.operation, call), { status: 'missing' })
  })
})
