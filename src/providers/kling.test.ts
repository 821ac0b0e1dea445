import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errors, klingWire } from '../../simulators/kling.ts'
import { startUpstream } from '../../simulators/upstream.ts'
import { openOutbound } from '../outbound.ts'
import { shapes } from './cards/kling.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { kling, toUpstream } from './kling.ts'
import type { Call, ProviderRequest } from './provider.ts'

const key = 'kling-test-1234567890'
const attemptId = `att_${'0'.repeat(36)}`
const text: ProviderRequest = {
  model: 'kling-3.0',
  prompt: 'a red fox',
  seconds: 5,
  size: { width: 1280, height: 720 },
  parameters: {},
  image: null,
}
const [turbo, omni] = [
  { ...text, model: 'kling-3.0-turbo' },
  { ...text, model: 'kling-3.0-omni' },
]
const frames = { last_image: 'https://pictures.example/end.png' }

testNetworkProvider('kling', {
  member: kling,
  wire: () => klingWire(),
  key,
  requests: [
    text,
    { ...text, prompt: 'with sound', parameters: { audio: true, multi_shot: false } },
    { ...text, prompt: 'from a picture', image: picture, size: { width: 2160, height: 3840 } },
    { ...text, prompt: 'from a picture to another', image: picture, parameters: { ...frames, audio: false } },
    turbo,
    { ...turbo, prompt: 'turbo, from a picture', image: picture, size: { width: 1080, height: 1080 } },
    omni,
    { ...omni, prompt: 'omni, with @image_1', image: picture, parameters: { audio: true } },
  ],
})

/** A call that gets this response to every request. */
function answering(status: number, body: unknown): Call {
  const answer = async () => Response.json(body, { status })
  return {
    fetch: answer,
    send: answer,
    download: answer,
    signal: new AbortController().signal,
    attemptId,
    credential: key,
    now: () => 0,
  }
}

describe('a request to kling', () => {
  const shape = { resolution: '1080p', ratio: '9:16' }
  const options = { external_task_id: attemptId }
  const image = picture.bytes.toString('base64')

  it('has a text', () => {
    assert.deepEqual(toUpstream({ ...text, parameters: { audio: true, multi_shot: false } }, shape, attemptId), {
      path: '/text-to-video/kling-3.0',
      body: {
        prompt: 'a red fox',
        settings: { resolution: '1080p', aspect_ratio: '9:16', duration: 5, audio: 'native', multi_shot: false },
        options,
      },
    })
  })

  it('has two frames and no ratio', () => {
    assert.deepEqual(toUpstream({ ...text, image: picture, parameters: frames }, shape, attemptId), {
      path: '/image-to-video/kling-3.0',
      body: {
        contents: [
          { type: 'prompt', text: 'a red fox' },
          { type: 'first_frame', url: image },
          { type: 'last_frame', url: frames.last_image },
        ],
        settings: { resolution: '1080p', duration: 5 },
        options,
      },
    })
  })

  it('has a reference image and a ratio for Omni', () => {
    assert.deepEqual(toUpstream({ ...omni, image: picture }, shape, attemptId), {
      path: '/omni-video/kling-3.0-omni',
      body: {
        contents: [
          { type: 'prompt', text: 'a red fox' },
          { type: 'refer_image', url: image, id: 'image_1' },
        ],
        settings: { resolution: '1080p', aspect_ratio: '9:16', duration: 5 },
        options,
      },
    })
  })

  it('can have every size of the cards, and no other', async () => {
    for (const { size } of kling.cards) {
      assert.ok('values' in size)
      for (const value of size.values) assert.ok(shapes[value], value)
    }
    const { submit } = await kling.create({ folder: '', media: undefined as never })
    const answer = await submit({ ...text, size: { width: 10, height: 10 } }, answering(500, {}))
    assert.ok('refused' in answer)
    assert.equal(answer.refused.blame, 'request')
  })
})

describe('a response of kling', async () => {
  const provider = await kling.create({ folder: '', media: undefined as never })
  const refusal = async (status: number, code: number) => {
    const answer = await provider.submit(text, answering(status, { code, message: 'no', request_id: 'r' }))
    assert.ok('refused' in answer)
    return [answer.refused.blame, answer.refused.problem.code]
  }
  const task = { id: '8123', status: 'processing', message: '', external_id: attemptId }

  it('says that the account has no credit left', async () => {
    const isCredit = async (status: number, code: number) => {
      const answer = await provider.submit(text, answering(status, { code, message: 'no', request_id: 'r' }))
      return 'refused' in answer && answer.refused.isCredit === true
    }
    for (const code of [1101, 1102]) assert.ok(await isCredit(429, code), String(code))
    assert.ok(!(await isCredit(401, 1000)))
  })

  it('blames by its code, whatever the status', async () => {
    const blames = {
      account: [1000, 1001, 1002, 1003, 1004, 1100, 1101, 1102, 1103, 1304],
      request: [1200, 1201, 1202, 1203],
      busy: [1302, 1303],
    }
    for (const [blame, codes] of Object.entries(blames))
      for (const code of codes) {
        assert.deepEqual(await refusal(errors[code]?.[0] ?? 0, code), [blame, 'generation_failed'], String(code))
        assert.deepEqual(await refusal(200, code), [blame, 'generation_failed'], `${code} with 200`)
      }
    for (const code of [1300, 1301]) assert.deepEqual(await refusal(400, code), ['request', 'content_policy'])
    assert.equal((await refusal(429, 9999))[0], 'busy')
  })

  it('is unclear if its code does not decide', async () => {
    for (const [status, code] of [
      [500, 5000],
      [503, 5001],
      [504, 5002],
      [200, 9999],
      [200, 0],
    ] as const)
      await assert.rejects(provider.submit(text, answering(status, { code, data: {} })), {
        code: 'provider_unavailable',
      })
  })

  it('is unclear for a 1201 about our reference, in any words; any other 1201 is a bad request', async () => {
    const submit = (message: unknown) => provider.submit(text, answering(400, { code: 1201, message }))
    for (const message of [
      `External_task_id ${attemptId} already exists`,
      'external task id is duplicated',
      `duplicate of ${attemptId}`,
    ])
      await assert.rejects(submit(message), { code: 'provider_unavailable' }, message)
    for (const message of ['duration is not supported', '', undefined])
      assert.ok('refused' in (await submit(message)), String(message))
  })

  it('does not promise that a second task with the same reference is refused: we have never seen that', () => {
    assert.equal(provider.recovery, 'lookup')
    assert.equal(provider.refusesDuplicates, undefined)
  })

  it('finds an accepted task by its reference', async () => {
    await using upstream = await startUpstream({ wire: klingWire(), speed: 60_000 })
    await using outbound = openOutbound({ allow: ['127.0.0.1'] })
    const call: Call = { ...answering(500, {}), ...outbound.upstream(upstream.url) }
    const first = await provider.submit(text, call)
    assert.ok('operation' in first)
    assert.deepEqual((await provider.find?.(text, 0, call))?.matches, [first.operation])
  })

  it('finds no task of another reference, and proves nothing without a list', async () => {
    const find = async (body: unknown) => (await provider.find?.(text, 0, answering(200, body)))?.matches
    assert.deepEqual(await find({ code: 0, data: [] }), [])
    assert.deepEqual(await find({ code: 0, data: [task, { ...task, external_id: 'att_other' }] }), ['8123'])
    assert.deepEqual(await find({ code: 0, data: { result: [task] } }), ['8123'])
    const { external_id: _reference, ...unnamed } = task
    assert.deepEqual(await find({ code: 0, data: [unnamed] }), [], 'without a reference it may be of another')
    assert.deepEqual(await find({ code: 0, data: task }), ['8123'])
    assert.deepEqual(await find({ code: 0, data: { ...task, external_id: 'att_other' } }), [])
    assert.deepEqual(await find({ code: 0, data: null }), [])
    await assert.rejects(find({ code: 5000, data: [] }), { code: 'provider_unavailable' })
    for (const body of [{ code: 0 }, { code: 0, data: {} }, { code: 0, data: 'none' }, { code: 5001, data: null }])
      await assert.rejects(find(body), { code: 'provider_unavailable' }, JSON.stringify(body))
    // We don't know that this means that the task does not exist.
    const unknown = answering(400, { code: 1201, message: 'external_task_id is invalid' })
    await assert.rejects(provider.find?.(text, 0, unknown) ?? assert.fail(), { code: 'provider_unavailable' })
  })

  it('to a poll of several tasks: those that it has, and nothing about the others', async () => {
    const asked: string[] = []
    const polled = async (body: unknown, status = 200) => {
      const answer = answering(status, body)
      const fetch: Call['fetch'] = (path, ...rest) => {
        asked.push(path)
        return answer.fetch(path, ...rest)
      }
      return provider.pollMany?.poll(['8123', '8124'], { ...answer, fetch })
    }
    const other = { ...task, id: '8124', status: 'failed' }
    const found = await polled({ code: 0, data: [other, task] })
    assert.deepEqual(asked, ['/tasks?task_ids=8123,8124'])
    assert.deepEqual(
      [found?.get('8123'), found?.get('8124')?.status],
      [{ status: 'running', progress: null }, 'failed'],
    )
    assert.deepEqual([...((await polled({ code: 0, data: task }))?.keys() ?? [])], ['8123'])
    assert.equal((await polled({ code: 0, data: null }))?.size, 0)
    const odd = { ...task, id: '8124', status: 'succeeded', outputs: [] }
    assert.deepEqual([...((await polled({ code: 0, data: [odd, task] }))?.keys() ?? [])], ['8123'])
    for (const status of [200, 400])
      assert.equal((await polled({ code: 1203, message: 'no such task' }, status))?.size, 0)
    assert.equal((await polled('too many ids', 400))?.size, 0)
    for (const status of [200, 429])
      await assert.rejects(polled({ code: 1302, message: 'too fast' }, status), { code: 'provider_unavailable' })
    await assert.rejects(polled('away', 502), { code: 'provider_unavailable' })
  })

  it('to a poll: a task that is not in the list is missing, and an error code does not end it', async () => {
    const poll = (body: unknown) => provider.poll('8123', answering(200, body))
    assert.deepEqual(await poll({ code: 0, data: [] }), { status: 'missing' })
    assert.deepEqual(await poll({ code: 0, data: [{ ...task, id: '8124' }] }), { status: 'missing' })
    assert.deepEqual(await poll({ code: 0, data: null }), { status: 'missing' })
    assert.deepEqual(await poll({ code: 0, data: { ...task, id: '8124' } }), { status: 'missing' })
    for (const data of [[task], task])
      assert.deepEqual(await poll({ code: 0, data }), { status: 'running', progress: null })
    await assert.rejects(poll({ code: 1302, message: 'too fast' }), { code: 'provider_unavailable' })
    for (const message of ['content risk control triggered', 'Failure to pass the risk control system']) {
      const progress = await poll({ code: 0, data: [{ ...task, status: 'failed', message }] })
      assert.ok(progress.status === 'failed')
      assert.equal(progress.problem.code, 'content_policy')
    }
  })
})
