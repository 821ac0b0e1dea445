import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { OpenAI, toFile } from 'openai-7.53'
import { difference, everyPicture } from '../src/media/footage.fixture.ts'
import { operatorToken, startService, type TestService, token, until } from './service.ts'

/* Derived videos with the official SDK: remix, edit and extend. */

const film = { model: 'sora-2', prompt: 'a red fox in a snowy forest', seconds: '1', size: '256x256', caption: false }
const yaml = 'aliases: { sora-2: studio }\ndefault_model: studio\noutbound: { allow: [127.0.0.1] }'
const folder = mkdtempSync(join(tmpdir(), 'filmgate-derive-'))

let service: TestService
let openai: OpenAI
let source: OpenAI.Video
let sourceBytes: Buffer

before(async () => {
  service = await startService({ yaml, env: { FILMGATE_OPERATOR_TOKEN: operatorToken } })
  openai = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
  source = await create({ seed: 7 })
  await completed(source)
  sourceBytes = await bytesOf(source.id)
})
after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

type Params = OpenAI.VideoCreateParams
const create = (more: object) => openai.videos.create({ ...film, ...more } as unknown as Params)
/** The types know only the lengths of Sora. */
const extend = (video: OpenAI.VideoExtendParams['video'], seconds: string, prompt = 'night falls') =>
  openai.videos.extend({ prompt, seconds: seconds as '4', video })
const upload = (bytes: Uint8Array, name = 'film.mp4') => toFile(bytes, name, { type: 'video/mp4' })

async function completed({ id }: { id: string }): Promise<Record<string, unknown>> {
  const video = await service.finish(id)
  assert.equal(video.status, 'completed', JSON.stringify(video.error))
  return video
}

async function bytesOf(id: string): Promise<Buffer> {
  return Buffer.from(await (await openai.videos.downloadContent(id)).arrayBuffer())
}

async function picturesOf(bytes: Buffer, name = 'video.mp4') {
  writeFileSync(join(folder, name), bytes)
  return everyPicture(join(folder, name))
}

describe('remix', () => {
  it('is a new video of the source’s model, size, length and parameters, and shows both prompts', async () => {
    const made = await openai.videos.remix(source.id, { prompt: 'at night' })
    const { status, progress, model, seconds, size, prompt, remixed_from_video_id: from } = made
    assert.notEqual(made.id, source.id)
    assert.deepEqual([status, progress, model, seconds, size], ['queued', 0, 'sora-2', '1', '256x256'])
    assert.deepEqual([prompt, from], ['at night', source.id])
    const polled = await completed(made)
    assert.deepEqual([polled.remixed_from_video_id, polled.prompt], [source.id, 'at night'])
    const task = await service.operator(`/tasks/${made.id}`)
    assert.deepEqual([task.source, task.has_image], [{ kind: 'remix', video: source.id }, false])
    const [[original], [remixed]] = [await picturesOf(sourceBytes), await picturesOf(await bytesOf(made.id))]
    const alone = await create({ prompt: 'at night', seed: 7 })
    await completed(alone)
    const [unrelated] = await picturesOf(await bytesOf(alone.id))
    assert.ok(difference(original, remixed) > 10, 'nothing changed')
    assert.ok(difference(unrelated, remixed) > 10, 'the source does not count')
    // It has the parameters of its source: with the same prompt it is the same film.
    const same = await openai.videos.remix(source.id, { prompt: film.prompt })
    await completed(same)
    assert.ok(difference(original, (await picturesOf(await bytesOf(same.id)))[0]) < 1)
  })

  it('of a video of an image is one of the same image, and a parameter can be another', async () => {
    const canvas = createCanvas(256, 256)
    const pen = canvas.getContext('2d')
    for (const [index, colour] of ['red', 'yellow', 'blue', 'white'].entries()) {
      pen.fillStyle = colour
      pen.fillRect((index % 2) * 128, Math.floor(index / 2) * 128, 128, 128)
    }
    const image = await create({ prompt: 'x', input_reference: await toFile(await canvas.encode('png'), 'a.png') })
    await completed(image)
    const task = await service.operator(`/tasks/${image.id}`)
    assert.deepEqual([task.source, task.has_image], [null, true])
    const remix = { prompt: 'y', seed: 3 } as unknown as { prompt: string }
    const made = await openai.videos.remix(image.id, remix)
    // It has its own copy by now.
    await openai.videos.delete(image.id)
    await completed(made)
    const [shown] = await picturesOf(await bytesOf(made.id))
    assert.ok(difference(shown, canvas) > 0)
    const { data } = shown?.getContext('2d').getImageData(16, 16, 1, 1) ?? { data: [] }
    assert.ok((data[0] ?? 0) > 100 && (data[2] ?? 255) < 120, `it is not red where the image is: ${[...data]}`)
  })

  it('is accepted as a form, too, and a repeat of it creates no second one', async () => {
    const post = (prompt: string, tries: string) => {
      const form = new FormData()
      form.append('prompt', prompt)
      const headers = { 'x-stainless-retry-count': tries }
      return service.fetch(`/v1/videos/${source.id}/remix`, { method: 'POST', body: form, headers })
    }
    const idOf = async (answer: Response) => ((await answer.json()) as { id: string }).id
    const first = await idOf(await post('in the rain', '0'))
    assert.equal(await idOf(await post('in the rain', '1')), first)
    assert.notEqual(await idOf(await post('in the fog', '1')), first)
    const edit = await openai.post('/videos/edits', {
      body: { prompt: 'in the rain', video: { id: source.id } },
      headers: { 'x-stainless-retry-count': '1' },
    })
    assert.notEqual((edit as { id: string }).id, first)
  })
})

describe('edit', () => {
  it('by id, as the SDK sends it and as JSON', async () => {
    const made = await openai.videos.edit({ prompt: 'at night', video: { id: source.id } })
    assert.deepEqual([made.model, made.seconds, made.remixed_from_video_id], ['sora-2', '1', source.id])
    await completed(made)
    const body = JSON.stringify({ prompt: 'at dawn', video: { id: source.id }, finish_within: 600 })
    const headers = { 'content-type': 'application/json' }
    const answer = await service.fetch('/v1/videos/edits', { method: 'POST', headers, body })
    assert.equal(answer.status, 200)
    await completed((await answer.json()) as { id: string })
  })

  it('of a file shows what is in it, by the model that is named or by the usual one', async () => {
    const made = await openai.videos.edit({ prompt: 'static shot', video: await upload(sourceBytes) })
    const { model, seconds, size, remixed_from_video_id: from } = made
    assert.deepEqual([model, seconds, size, from], ['studio', '1', '256x256', null])
    await completed(made)
    const [shown] = await picturesOf(await bytesOf(made.id))
    const middle = (await picturesOf(sourceBytes))[12]
    const bare = await create({ prompt: 'static shot' })
    await completed(bare)
    const [unrelated] = await picturesOf(await bytesOf(bare.id))
    assert.ok(difference(middle, shown) < difference(middle, unrelated) / 2)
    const named = { prompt: 'x', video: await upload(sourceBytes), model: 'sora-2' }
    assert.equal((await openai.videos.edit(named as OpenAI.VideoEditParams)).model, 'sora-2')
    assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
    // Only a picture of it is stored, and a video that is derived from this one needs it again.
    const again = await openai.videos.edit({ prompt: 'tripod', video: { id: made.id } })
    await openai.videos.delete(made.id)
    await completed(again)
    assert.ok(difference(middle, (await picturesOf(await bytesOf(again.id)))[0]) < difference(middle, unrelated))
  })
})

describe('extend', () => {
  it('begins with the source and goes on from its last picture; its length is that of the whole', async () => {
    const made = await extend({ id: source.id }, '2')
    assert.deepEqual([made.seconds, made.size, made.remixed_from_video_id], ['3', '256x256', null])
    const polled = await completed(made)
    assert.equal(polled.seconds, '3')
    const [before, whole] = [await picturesOf(sourceBytes), await picturesOf(await bytesOf(made.id))]
    assert.deepEqual([before.length, whole.length], [24, 72])
    for (const index of [0, 12, 23]) assert.ok(difference(before[index], whole[index]) < 3, `picture ${index}`)
    assert.ok(difference(whole[23], whole[24]) < 3, 'it jumps at the joint')
    const twice = await extend({ id: made.id }, '1', 'the sun rises')
    assert.equal((await completed(twice)).seconds, '4')
    assert.equal((await picturesOf(await bytesOf(twice.id))).length, 96)
  })

  it('of a file', async () => {
    const made = await extend(await upload(sourceBytes), '1')
    assert.deepEqual([made.model, made.seconds, made.size], ['studio', '2', '256x256'])
    await completed(made)
    const whole = await picturesOf(await bytesOf(made.id))
    assert.equal(whole.length, 48)
    assert.ok(difference(whole[23], (await picturesOf(sourceBytes))[23]) < 3)
  })

  it('is generated even if its source was deleted, and the service stopped, right after it was accepted', async () => {
    const other = await create({ prompt: 'a blue whale' })
    await completed(other)
    const made = await extend({ id: other.id }, '1')
    await openai.videos.delete(other.id)
    const gone = `${service.data}/bucket`
    await until('the source is gone', () => !JSON.stringify(readdirSync(gone, { recursive: true })).includes(other.id))
    await service.restart()
    openai = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
    assert.equal((await completed(made)).seconds, '2')
  })
})

it('what a model makes of videos is in the list of models', async () => {
  const { makes } = (await openai.models.retrieve('studio')) as unknown as { makes: string[] }
  assert.deepEqual(makes, ['remix', 'edit', 'extension'])
})
