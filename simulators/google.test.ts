import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { GoogleGenAI } from '@google/genai'
import { googleWire } from './google.ts'
import { withoutMark } from './upstream/marks.ts'
import { tinyFilm } from './upstream/tiny-film.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const key = 'AIzaSyTest-1234567890'
const format = { type: 'video', aspect_ratio: '9:16', resolution: '720p', duration: '5s' } as const
const asked = { model: 'gemini-omni-1.1-flash', background: true, response_modalities: ['video'] as ['video'] }

describe("the simulated Gemini API, used by Google's own client", { concurrency: false }, () => {
  let upstream: Upstream
  let client: GoogleGenAI
  before(async () => {
    upstream = await startUpstream({ wire: googleWire(), speed: 50 })
    client = clientFor(key)
  })
  after(() => upstream[Symbol.asyncDispose]())

  const clientFor = (apiKey: string) =>
    new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: upstream.url } })
  const create = (text: string, more: object = {}) =>
    client.interactions.create({ ...asked, input: [{ type: 'text', text }], response_format: format, ...more })
  const finish = async (id: string) => {
    for (let tries = 0; tries < 100; tries += 1) {
      const interaction = await client.interactions.get(id)
      if (interaction.status !== 'queued' && interaction.status !== 'in_progress') return interaction
      await sleep(10)
    }
    return assert.fail('it does not end')
  }

  it('generates a video with a link, which the same client downloads', async () => {
    const { id, status } = await create('a marble run', { response_format: { ...format, delivery: 'uri' } })
    assert.equal(status, 'in_progress')
    const { output_video: video } = await finish(id)
    assert.equal(video?.mime_type, 'video/mp4')
    const [, name = ''] = /\/(files\/[a-z0-9]+):download\?alt=media$/.exec(video?.uri ?? '') ?? []
    assert.equal((await client.files.get({ name })).state, 'PROCESSING')
    assert.equal((await client.files.get({ name })).state, 'ACTIVE')
    const downloadPath = join(tmpdir(), `${randomUUID()}.mp4`)
    await client.files.download({ file: name, downloadPath })
    assert.deepEqual(withoutMark(await readFile(downloadPath)), tinyFilm)
    await rm(downloadPath)
  })

  it('generates a video from an image, inside the response unless a link was requested', async () => {
    const image = { type: 'image', mime_type: 'image/png', data: 'iVBORw0KGgo=' }
    const generation_config = { seed: 7, video_config: { task: 'image_to_video' } }
    const { id } = await create('', { input: [image, { type: 'text', text: 'it moves' }], generation_config })
    const { output_video: video } = await finish(id)
    assert.deepEqual(withoutMark(Buffer.from(video?.data ?? '', 'base64')), tinyFilm)
  })

  it('fails, refuses content, and cancels a running interaction', async () => {
    upstream.setFaults({
      next: [
        { fault: 'poll-failed', prompt: 'fails' },
        { fault: 'poll-policy', prompt: 'refused' },
      ],
    })
    const { status, errors } = await finish((await create('fails')).id)
    assert.deepEqual([status, errors?.[0]?.code], ['failed', 'internal'])
    const refused = await finish((await create('refused')).id)
    assert.deepEqual([refused.status, refused.output_video], ['completed', undefined])
    assert.match(refused.output_text ?? '', /can't/)
    upstream.setFaults({ speed: 60_000 })
    assert.equal((await client.interactions.cancel((await create('stopped')).id)).status, 'cancelled')
    upstream.setFaults({ speed: 50 })
  })

  it('reports mistakes in a request, a key and an id', async () => {
    const fails = (work: Promise<unknown>, status: number, text: RegExp) =>
      assert.rejects(work, (error: Error & { status?: number }) => {
        assert.equal(error.status, status)
        assert.match(error.message, text)
        return true
      })
    await fails(create('too long', { response_format: { ...format, duration: '11s' } }), 400, /maximum allowed 10s/)
    await fails(create('a number', { response_format: { ...format, duration: 5 } }), 400, /duration/)
    await fails(create('no model', { model: 'gemini-omni-flash-preview' }), 404, /no longer available/)
    await fails(client.interactions.get('v1_nope'), 400, /Invalid interaction name: v1_nope/)
    await fails(clientFor('short').interactions.get('v1_nope'), 400, /API error/)
    assert.equal(
      upstream.ledger().accepts.every(({ prompt }) => !/too long|number|no model/.test(prompt)),
      true,
    )
    assert.equal((await fetch(`${upstream.url}/v1beta/models`)).status, 403)
    assert.equal((await fetch(`${upstream.url}/v1beta/models`, { headers: { authorization: 'Bearer x' } })).status, 401)
  })

  it("works with Vercel's client too, which waits for the video", async () => {
    const provider = createGoogleGenerativeAI({ apiKey: key, baseURL: `${upstream.url}/v1beta` })
    const google = {
      responseModalities: ['video'],
      responseFormat: [{ type: 'video', duration: '5s' }],
    }
    const { content } = await provider.interactions('gemini-omni-1.1-flash').doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'a marble run' }] }],
      providerOptions: { google },
    })
    const file = content.find(({ type }) => type === 'file')
    assert.ok(file?.type === 'file' && file.data.type === 'data' && typeof file.data.data === 'string')
    assert.deepEqual(withoutMark(Buffer.from(file.data.data, 'base64')), tinyFilm)
  })
})
