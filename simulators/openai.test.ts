import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import OpenAI from 'openai-7.53'
import { picture } from '../src/providers/contract.ts'
import { type Dialect, openaiWire } from './openai.ts'
import { tinyFilm } from './upstream/film.fixture.ts'
import { startUpstream } from './upstream.ts'

/* OpenAI's own SDK at the simulators of what speaks its API. */

const clientOf = (url: string) => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, maxRetries: 0 })
const request = { model: 'film' as 'sora-2', prompt: 'a pond', seconds: '4', size: '1280x720' } as const

for (const dialect of ['openai', 'vllm-omni', 'sglang'] satisfies Dialect[])
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
      assert.deepEqual(Buffer.from(await content.arrayBuffer()), tinyFilm)
      assert.deepEqual(
        (await client.videos.list()).data.map((one) => one.id),
        [id],
      )
      assert.deepEqual(
        (await client.models.list()).data.map((one) => one.id),
        ['film'],
      )
    })

    it('is told of a video that fails, of one that is not there, and of a bad request', async () => {
      await using upstream = await startUpstream({ wire: openaiWire(dialect), speed: 60_000, next: ['poll-failed'] })
      const client = clientOf(upstream.url)
      const { id } = await client.videos.create(request)
      const failed = client.videos.retrieve(id)
      // vLLM-Omni answers with the error as its status.
      if (dialect === 'vllm-omni') await assert.rejects(failed, OpenAI.InternalServerError)
      else assert.equal((await failed).status, 'failed')
      await assert.rejects(client.videos.retrieve('video_none'), OpenAI.NotFoundError)
      const refused = dialect === 'openai' ? OpenAI.BadRequestError : OpenAI.UnprocessableEntityError
      await assert.rejects(client.videos.create({ ...request, size: 'wide' as '1280x720' }), refused)
    })
  })

it('wants a key where OpenAI does', async () => {
  await using upstream = await startUpstream({ wire: openaiWire() })
  const response = await fetch(`${upstream.url}/v1/videos`)
  assert.equal(response.status, 401)
})
