import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { errors, klingWire } from './kling.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/*
 * No client of the vendor's is available for this API: it publishes none for npm, and `@ai-sdk/klingai` can't be had
 * here. So this plays the exchanges of its documents by plain fetch, literally: the bodies, the types and the codes are
 * written out here and share nothing with the adapter.
 */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

interface Answer {
  code: number
  message: string
  request_id: string
  data?: unknown
}

describe('the kling simulator', () => {
  let upstream: Upstream
  before(async () => {
    upstream = await startUpstream({ wire: klingWire(), speed: 50 })
  })
  after(() => upstream[Symbol.asyncDispose]())

  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(upstream.url + path, {
      method,
      headers: { authorization: 'Bearer api-key', 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, answer: (await response.json()) as Answer }
  }
  const create = async (path: string, body: unknown) => {
    const { status, answer } = await ask('POST', path, body)
    assert.deepEqual([status, answer.code, answer.message], [200, 0, 'SUCCEED'], answer.message)
    return answer.data as Record<string, unknown>
  }
  const task = async (query: string) => {
    const { status, answer } = await ask('GET', `/tasks?${query}`)
    assert.deepEqual([status, answer.code], [200, 0])
    assert.ok(Array.isArray(answer.data))
    return answer.data[0] as Record<string, unknown>
  }
  const finished = async (id: unknown) => {
    for (const until = Date.now() + 5_000; Date.now() < until; await sleep(10)) {
      const now = await task(`task_ids=${id}`)
      if (now.status === 'succeeded' || now.status === 'failed') return now
      assert.match(String(now.status), /^(submitted|processing)$/)
      assert.equal(now.outputs, undefined)
    }
    return assert.fail('it does not end')
  }
  const refusal = async (code: number, path: string, body: unknown) => {
    const { status, answer } = await ask('POST', path, body)
    assert.deepEqual([status, answer.code], [errors[code]?.[0], code], JSON.stringify(body))
    assert.deepEqual([typeof answer.message, typeof answer.request_id], ['string', 'string'])
    assert.equal('data' in answer, false)
  }

  it('generates a video from text, from submit to bytes', async () => {
    const data = await create('/text-to-video/kling-3.0', {
      prompt: 'a paper boat in the rain',
      settings: { resolution: '720p', aspect_ratio: '16:9', duration: 5, audio: 'off' },
      options: { external_task_id: 'gw-01' },
    })
    assert.match(String(data.id), /^\d{18}$/)
    assert.deepEqual([data.status, data.external_id], ['submitted', 'gw-01'])
    // In milliseconds.
    assert.ok(Math.abs(Number(data.create_time) - Date.now()) < 10_000)
    assert.equal(data.update_time, data.create_time)
    const done = await finished(data.id)
    assert.deepEqual([done.id, done.external_id, done.message], [data.id, 'gw-01', ''])
    const [video] = done.outputs as Record<string, string>[]
    assert.deepEqual([video?.type, typeof video?.duration, video?.watermark_url], ['video', 'string', ''])
    assert.deepEqual(done.billing, [{ charge_type: 'unit', amount: '3', package_type: 'video' }])
    const place = video?.url ?? ''
    assert.notEqual(new URL(place).origin, upstream.url)
    assert.deepEqual(withoutMark(Buffer.from(await (await fetch(place)).arrayBuffer())), tinyFilm)
    assert.equal((await fetch(place, { headers: { authorization: 'Bearer api-key' } })).status, 400)
  })

  it('accepts each of the documented bodies', async () => {
    const contents = [
      { type: 'prompt', text: 'the parrot turns its head' },
      { type: 'first_frame', url: 'https://pictures.example/parrot.png' },
    ]
    await create('/text-to-video/kling-3.0', { prompt: 'only what must be there' })
    await create('/text-to-video/kling-3.0-turbo', { prompt: 'fast', settings: { resolution: '1080p', duration: 15 } })
    await create('/image-to-video/kling-3.0-turbo', { contents, settings: { resolution: '720p', duration: 5 } })
    await create('/image-to-video/kling-3.0', {
      contents: [...contents, { type: 'last_frame', url: png }],
      settings: { resolution: '4k', duration: 3, audio: 'native', multi_shot: true },
      options: { callback_url: 'https://example.com/cb', watermark_info: { enabled: false } },
    })
    for (const options of [
      { callback_url: 'https://xxx/callback', external_task_id: '' },
      { callback_url: 'https://xxx/callback', external_task_id: '' },
    ])
      await create('/omni-video/kling-3.0-omni', {
        contents: [
          { type: 'prompt', text: "Change the color of @image_1's feathers" },
          { type: 'refer_image', url: png, id: 'image_1' },
        ],
        settings: { resolution: '1080p', duration: 5, audio: 'native', multi_shot: false },
        options,
      })
  })

  it('looks up tasks by its ids or by references, and lists only those that it knows', async () => {
    const data = await create('/text-to-video/kling-3.0', {
      prompt: 'asked for',
      options: { external_task_id: 'gw-02' },
    })
    const found = await task('external_task_ids=gw-02')
    assert.deepEqual([found.id, found.external_id], [data.id, 'gw-02'])
    const { answer: both } = await ask('GET', `/tasks?task_ids=${data.id},0`)
    assert.deepEqual(
      (both.data as { id: string }[]).map(({ id }) => id),
      [data.id],
    )
    for (const query of ['task_ids=0', 'external_task_ids=nobody'])
      assert.deepEqual((await ask('GET', `/tasks?${query}`)).answer.data, [])
    const many = Array.from({ length: 21 }, (_, at) => at).join()
    for (const query of ['', `task_ids=${many}`, 'task_ids=1&external_task_ids=2'])
      assert.deepEqual((await ask('GET', `/tasks?${query}`)).answer.code, 1201, query)
  })

  it('refuses a reference that was used before, without a second task', async () => {
    const body = { prompt: 'once', options: { external_task_id: 'gw-03' } }
    await create('/text-to-video/kling-3.0', body)
    const before = upstream.ledger().accepts.length
    const { status, answer } = await ask('POST', '/text-to-video/kling-3.0', body)
    assert.deepEqual([status, answer.code], [400, 1201])
    assert.match(answer.message, /^External_task_id.* already exists$/)
    assert.equal(upstream.ledger().accepts.length, before)
  })

  it('fails with a sentence and no code, and bills nothing', async () => {
    upstream.setFaults({
      next: [
        { fault: 'poll-policy', prompt: 'rude' },
        { fault: 'poll-failed', prompt: 'hard' },
      ],
    })
    for (const [prompt, message] of [
      ['rude', /risk control/],
      ['hard', /failed/],
    ] as const) {
      const { id } = await create('/text-to-video/kling-3.0', { prompt })
      const failed = await finished(id)
      assert.deepEqual([failed.status, failed.billing, failed.outputs], ['failed', [{ amount: '0' }], undefined])
      assert.match(String(failed.message), message)
    }
  })

  it('requires a plain key', async () => {
    const code = async (headers: Record<string, string>) => {
      const { status, answer } = await ask('GET', '/tasks?task_ids=0', undefined, headers)
      assert.equal(status, 401)
      return answer.code
    }
    assert.equal(await code({ authorization: 'Token api-key' }), 1002)
    assert.equal(await code({ authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.x' }), 1002)
    const none = await fetch(`${upstream.url}/tasks?task_ids=0`)
    assert.deepEqual([none.status, ((await none.json()) as Answer).code], [401, 1001])
  })

  it('refuses unsupported values', async () => {
    const [ofText, ofImage] = ['/text-to-video/kling-3.0', '/image-to-video/kling-3.0']
    const prompt = { type: 'prompt', text: 'a fox' }
    const frame = { type: 'first_frame', url: png }
    await refusal(1200, ofText, 'no json')
    await refusal(1203, '/text-to-video/kling-9', { prompt: 'a fox' })
    await refusal(1203, '/v1/videos/text2video', { prompt: 'a fox', model_name: 'kling-v3' })
    assert.deepEqual((await ask('GET', ofText)).answer.code, 1202)
    for (const body of [{}, { prompt: ' ' }, { prompt: 'x'.repeat(3_073) }, { contents: [prompt] }])
      await refusal(1201, ofText, body)
    for (const settings of [
      { duration: '5' },
      { duration: 2 },
      { duration: 16 },
      { duration: 5.5 },
      { resolution: '480p' },
      { aspect_ratio: '21:9' },
      { audio: true },
      { audio: 'original' },
      { multi_shot: 'no' },
    ])
      await refusal(1201, ofText, { prompt: 'a fox', settings })
    for (const settings of [{ resolution: '4k' }, { audio: 'native' }])
      await refusal(1201, '/text-to-video/kling-3.0-turbo', { prompt: 'a fox', settings })
    await refusal(1201, ofText, { prompt: 'a fox', options: { external_task_id: 7 } })
    await refusal(1201, ofImage, { contents: [prompt, frame], settings: { aspect_ratio: '16:9' } })
    for (const contents of [
      [],
      [prompt],
      [frame],
      [prompt, { type: 'last_frame', url: png }],
      [prompt, frame, { type: 'refer_image' }],
      ...[`data:image/png;base64,${png}`, 'AAAA', '', undefined].map((url) => [prompt, { type: 'first_frame', url }]),
    ])
      await refusal(1201, ofImage, { contents })
    await refusal(1201, '/image-to-video/kling-3.0-turbo', {
      contents: [prompt, frame, { type: 'last_frame', url: png }],
    })
  })

  it('has every documented code', async () => {
    const rows = {
      401: [1000, 1001, 1002, 1003, 1004],
      403: [1103],
      404: [1202, 1203],
      400: [1200, 1201, 1300, 1301],
      429: [1100, 1101, 1102, 1302, 1303, 1304],
      500: [5000],
      503: [5001],
      504: [5002],
    }
    assert.equal(Object.values(rows).flat().length, Object.keys(errors).length)
    for (const [status, codes] of Object.entries(rows))
      for (const code of codes) {
        await using refusing = await startUpstream({ wire: klingWire(code) })
        const response = await fetch(`${refusing.url}/text-to-video/kling-3.0`, {
          method: 'POST',
          headers: { authorization: 'Bearer api-key' },
          body: '{"prompt":"a fox"}',
        })
        const answer = (await response.json()) as Answer
        assert.deepEqual([response.status, answer.code, 'data' in answer], [Number(status), code, false])
        assert.equal(refusing.ledger().accepts.length, 0)
      }
  })
})
