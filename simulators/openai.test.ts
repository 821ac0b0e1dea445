import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import OpenAI from 'openai-7.53'
import { picture } from '../src/providers/contract.ts'
import { type Dialect, openaiWire } from './openai.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream } from './upstream.ts'

/* OpenAI's own SDK with the simulators of its API. */

const clientOf = (url: string) => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, maxRetries: 0 })
const request = { model: 'film' as 'sora-2', prompt: 'a pond', seconds: '4', size: '1280x720' } as const

for (const dialect of ['openai', 'vllm-omni', 'sglang', 'fastvideo'] satisfies Dialect[])
  describe(`OpenAI's SDK at ${dialect}`, () => {
    it('goes from a prompt and a picture to the bytes', async () => {
      await using upstream = await startUpstream({ wire: openaiWire(dialect), speed: 50 })
      const client = clientOf(upstream.url)
      const input_reference = new File([picture.bytes], 'a.png', { type: picture.type })
      const { id, object, status } = await client.videos.create({ ...request, input_reference })
      assert.deepEqual([object, status], ['video', 'queued'])
      let video = await client.videos.retrieve(id)
      while (video.status === 'queued' || video.status === 'in_progress') video = await client.videos.retrieve(id)
      assert.deepEqual([video.status, video.progress, video.size, video.seconds], ['completed', 100, '1280x720', '4'])
      const content = await client.videos.downloadContent(id)
      assert.deepEqual(withoutMark(Buffer.from(await content.arrayBuffer())), tinyFilm)
      assert.deepEqual(
        (await client.videos.list()).data.map((one) => one.id),
        [id],
      )
      assert.deepEqual(
        (await client.models.list()).data.map((one) => one.id),
        ['film'],
      )
    })

    it('gets errors for a failed video, an unknown video and a bad request', async () => {
      await using upstream = await startUpstream({ wire: openaiWire(dialect), speed: 60_000, next: ['poll-failed'] })
      const client = clientOf(upstream.url)
      const { id } = await client.videos.create(request)
      const failed = client.videos.retrieve(id)
      // vLLM-Omni uses the error as the HTTP status.
      if (dialect === 'vllm-omni') await assert.rejects(failed, OpenAI.InternalServerError)
      else assert.equal((await failed).status, 'failed')
      await assert.rejects(client.videos.retrieve('video_none'), OpenAI.NotFoundError)
      const refused = dialect === 'openai' ? OpenAI.BadRequestError : OpenAI.UnprocessableEntityError
      await assert.rejects(client.videos.create({ ...request, size: 'wide' as '1280x720' }), refused)
    })
  })

describe('a list of videos', () => {
  interface Page {
    data: { id: string; prompt?: string; size: string; seconds: string }[]
    has_more?: boolean
  }
  /** So many were asked for, of which the first is read again. */
  const open = async (dialect: Dialect, count: number, more: object = {}) => {
    const upstream = await startUpstream({ wire: openaiWire(dialect) })
    const client = clientOf(upstream.url)
    const ids: string[] = []
    for (let at = 0; at < count; at += 1) ids.push((await client.videos.create({ ...request, ...more })).id)
    const headers = { authorization: 'Bearer sk-test' }
    const list = async (query: string) => {
      const response = await fetch(`${upstream.url}/v1/videos${query}`, { headers })
      return { status: response.status, page: (await response.json()) as Page }
    }
    return { ids, list, [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose]() }
  }

  it('of vLLM-Omni has the fields of the request; SGLang and FastVideo list no prompt', async () => {
    const asked = { size: '854x480' as '1280x720', seconds: '5' as '4' }
    const told: Record<string, unknown> = {}
    for (const dialect of ['vllm-omni', 'sglang', 'fastvideo'] satisfies Dialect[]) {
      await using server = await open(dialect, 1, asked)
      const { data } = (await server.list('')).page
      told[dialect] = [data[0]?.prompt, data[0]?.size, data[0]?.seconds]
    }
    assert.deepEqual(told, {
      'vllm-omni': ['a pond', '854x480', '5'],
      // Adjusted: frames that 8 GPUs can share, and sides that are multiples of 16.
      sglang: [undefined, '848x480', '4'],
      fastvideo: [undefined, '854x480', '5'],
    })
  })

  it('of SGLang has 20 by default, and says if there are more', async () => {
    await using server = await open('sglang', 21)
    const { page } = await server.list('')
    assert.deepEqual([page.data.length, page.has_more], [20, true])
    const { page: rest } = await server.list(`?order=desc&after=${page.data.at(-1)?.id}`)
    assert.deepEqual([rest.data.length, rest.has_more], [1, false])
    assert.equal((await server.list('?limit=100')).page.data.length, 21)
    assert.equal((await server.list('?limit=101')).status, 422)
  })

  it('of FastVideo has all videos, and does not say if there are more', async () => {
    await using server = await open('fastvideo', 21)
    const { page } = await server.list('?order=asc')
    assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [server.ids, undefined])
    assert.deepEqual((await server.list('?after=none')).page.data, [])
    assert.equal((await server.list('?limit=0')).status, 422)
    assert.equal((await server.list('?limit=2')).page.data.length, 2)
  })
})

it('requires a key where OpenAI does', async () => {
  await using upstream = await startUpstream({ wire: openaiWire() })
  const response = await fetch(`${upstream.url}/v1/videos`)
  assert.equal(response.status, 401)
})
