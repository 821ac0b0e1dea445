import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { jumpingClock, startService, type TestService, token, until } from './service.ts'

/* Requests for derived videos that are refused, and that they leave nothing behind. */

const clock = jumpingClock()
const film = { model: 'studio', prompt: 'a fox', seconds: '1', size: '256x256' }
const yaml = `
tokens:
  - { name: me, secret: ${token}, models: ["*"] }
  - { name: other, secret: other-secret, models: ["*"] }
  - { name: poor, secret: poor-secret, models: ["fal*"] }
outbound: { allow: [127.0.0.1] }
`
let service: TestService
let id: string
let bytes: Uint8Array<ArrayBuffer>

before(async () => {
  service = await startService({ yaml, env: { FILMGATE_TOKEN: '', FAL_KEY: 'a:b' }, world: { clock } })
  id = await submit(film)
  await service.finish(id)
  bytes = await bytesOf(id)
})
after(() => service[Symbol.asyncDispose]())

async function submit(body: object): Promise<string> {
  return ((await (await service.submit(body)).json()) as { id: string }).id
}

async function bytesOf(video: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await (await service.fetch(`/v1/videos/${video}/content`)).arrayBuffer())
}

type Fields = Record<string, unknown>

function post(path: string, body: Fields | FormData | string, headers: Record<string, string> = {}): Promise<Response> {
  if (body instanceof FormData) return service.fetch(path, { method: 'POST', body, headers })
  const type = { 'content-type': 'application/json' }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return service.fetch(path, { method: 'POST', body: text, headers: { ...type, ...headers } })
}

function formOf(fields: Record<string, string | Blob>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value as string)
  return form
}

async function refuses(answer: Promise<Response>, [status, code, param]: unknown[], message = /./) {
  const response = await answer
  const { error } = (await response.json()) as { error?: { code: string; param: string | null; message: string } }
  assert.deepEqual([response.status, error?.code, error?.param], [status, code, param], error?.message)
  assert.match(error?.message ?? '', message)
}

const paths = { edit: '/v1/videos/edits', extension: '/v1/videos/extensions' }
const edits = (fields: Fields, headers = {}) => post(paths.edit, { prompt: 'x', video: { id }, ...fields }, headers)
const extensions = (fields: Fields, headers = {}) =>
  post(paths.extension, { prompt: 'x', seconds: '1', video: { id }, ...fields }, headers)
const remixes = (fields: Fields, of = id, headers = {}) =>
  post(`/v1/videos/${of}/remix`, { prompt: 'x', ...fields }, headers)
const mp4 = (content: Uint8Array<ArrayBuffer> | string) => new File([content], 'film.mp4', { type: 'video/mp4' })

it('fields that are missing, of another type, or of another request', async () => {
  await refuses(remixes({ prompt: undefined }), [400, 'missing_required_parameter', 'prompt'])
  await refuses(remixes({ prompt: '  ' }), [400, 'invalid_value', 'prompt'])
  await refuses(edits({ prompt: 7 }), [400, 'invalid_type', 'prompt'])
  await refuses(edits({ video: undefined }), [400, 'missing_required_parameter', 'video'])
  await refuses(edits({ video: null }), [400, 'missing_required_parameter', 'video'])
  for (const video of ['x', 7, true, [7], {}, { id: 7 }, { id, more: 1 }, { file_id: 'x' }])
    await refuses(edits({ video }), [400, 'invalid_type', 'video'], /\{"id": "video_…"\}/)
  for (const seconds of [undefined, ''])
    await refuses(extensions({ seconds }), [400, 'missing_required_parameter', 'seconds'])
  for (const seconds of ['-1', '0', '1.5', '21', 'x', -4, 0, 21])
    await refuses(extensions({ seconds }), [400, 'invalid_value', 'seconds'])
  for (const seconds of [1.5, true, ['1']]) await refuses(extensions({ seconds }), [400, 'invalid_type', 'seconds'])
  const fromSource = /^Unknown parameter: '[\w.]+'\. The source video determines it\. Model 'studio' accepts: prompt, /
  for (const name of ['video', 'nonsense'])
    await refuses(remixes({ [name]: '4' }), [400, 'unknown_parameter', name], /accepts: prompt, model, metadata/)
  for (const name of ['size', 'seconds', 'image', 'input_reference', 'aspect_ratio', 'duration', 'width'])
    await refuses(remixes({ [name]: '4' }), [400, 'unknown_parameter', name], fromSource)
  for (const name of ['size', 'seconds', 'image', 'input_reference', 'resolution'])
    await refuses(edits({ [name]: '4' }), [400, 'unknown_parameter', name], fromSource)
  for (const name of ['size', 'image'])
    await refuses(extensions({ [name]: '4' }), [400, 'unknown_parameter', name], fromSource)
  for (const [name, asked] of [
    ['aspect_ratio', remixes],
    ['duration', remixes],
    ['width', edits],
    ['size', extensions],
  ] as const)
    await refuses(asked({ metadata: { [name]: '1:1' } }), [400, 'unknown_parameter', `metadata.${name}`], fromSource)
  await refuses(extensions({ metadata: { duration: 4 } }), [400, 'unknown_parameter', 'metadata.duration'], /^Send 'd/)
  await refuses(edits({ n: 2 }), [400, 'invalid_value', 'n'])
  await refuses(extensions({ seconds: undefined, duration: 21 }), [400, 'invalid_value', 'duration'])
  await refuses(remixes({ seed: 'x' }), [400, 'invalid_value', 'seed'])
  await refuses(extensions({ finish_within: 0 }), [400, 'invalid_value', 'finish_within'])
  for (const body of ['', '{', '[]', '7', 'null']) {
    await refuses(post(paths.edit, body), [400, 'invalid_json', null])
    await refuses(post(`/v1/videos/${id}/remix`, body), [400, 'invalid_json', null])
  }
  await refuses(post(paths.edit, JSON.stringify({ prompt: 'x'.repeat(2e6) })), [413, 'body_too_large', null], /form/)
})

it('fields without effect, and other names of the seconds', async () => {
  for (const answer of [
    await remixes({ user: 'u', n: 1, seed: -1 }),
    await edits({ user: 'u', async: true }),
    await extensions({ seconds: undefined, duration: '2.0' }),
  ])
    assert.equal(answer.status, 200, await answer.text())
})

it('a source that is not there, not one’s own, deleted, unfinished, failed or expired', async () => {
  const all = (of: string, headers = {}): [Promise<Response>, string][] => [
    [remixes({}, encodeURIComponent(of), headers), 'video_id'],
    [edits({ video: { id: of } }, headers), 'video'],
    [extensions({ video: { id: of } }, headers), 'video'],
  ]
  const refusesAll = async (of: string, expected: unknown[], message?: RegExp, headers = {}) => {
    for (const [answer, param] of all(of, headers)) await refuses(answer, [...expected, param], message)
  }
  for (const none of ['x', '../x', `video_${'0'.repeat(48)}`]) await refusesAll(none, [404, 'video_not_found'])
  const other = { authorization: 'Bearer other-secret' }
  await refusesAll(id, [404, 'video_not_found'], /./, other)

  const deleted = await submit(film)
  await service.finish(deleted)
  await service.fetch(`/v1/videos/${deleted}`, { method: 'DELETE' })
  await refusesAll(deleted, [404, 'video_not_found'])

  const queued = await submit({ ...film, seconds: '20', size: '1920x1080' })
  await refusesAll(queued, [400, 'video_not_usable'], /not ready yet/)
  await service.fetch(`/v1/videos/${queued}`, { method: 'DELETE' })

  const failed = await submit({ ...film, image: 'http://127.0.0.1:9/none.png' })
  await service.fetch(`/v1/videos/${failed}`)
  const old = await submit(film)
  await service.finish(old)
  clock.jump(25 * 3_600_000)
  await refusesAll(old, [400, 'video_not_usable'], /has expired/)
  await service.finish(failed)
  await refusesAll(failed, [400, 'video_not_usable'], /has failed/)
  await until('what expired is gone', async () => (await service.fetch(`/v1/videos/${old}/content`)).status === 410)
  await refusesAll(old, [400, 'video_not_usable'], /has expired/)
  id = await submit(film)
  await service.finish(id)
})

it('a model that can’t, that is not for this token, or that did not make it', async () => {
  const { data } = (await (await service.fetch('/v1/models')).json()) as { data: { id: string; makes: string[] }[] }
  const other = data.find((model) => model.makes.length === 0)?.id ?? ''
  const file = () => formOf({ prompt: 'x', seconds: '1', model: other, video: mp4(bytes) })
  const can = new RegExp(`^Model '${other}' can't extend videos. Models that can: studio\\.$`)
  await refuses(post(paths.extension, file()), [400, 'invalid_value', 'model'], can)
  await refuses(
    post(paths.extension, file(), { authorization: 'Bearer poor-secret' }),
    [400, 'invalid_value', 'model'],
    /You have no access to a model that can/,
  )
  await refuses(
    edits({ model: other }),
    [400, 'invalid_value', 'model'],
    /Only 'studio', which generated the video, can be used/,
  )
  await refuses(post(paths.edit, formOf({ prompt: 'x', video: mp4(bytes) })), [
    ...[400, 'missing_required_parameter', 'model'],
  ])
  const unknown = formOf({ prompt: 'x', video: mp4(bytes), model: 'nothing' })
  await refuses(post(paths.edit, unknown), [404, 'model_not_found', 'model'])
})

it('a file that is no video, of another size or length, turned, twice, beside an id, or elsewhere', async () => {
  const fields = { prompt: 'x', model: 'studio' }
  const sends = (video: Blob, more: Record<string, string> = {}, path = paths.edit) =>
    post(path, formOf({ ...fields, ...more, video }))
  const cut = bytes.slice(0, bytes.length / 2)
  for (const content of ['', 'GIF89a', cut, new Uint8Array(5000)])
    await refuses(sends(mp4(content)), [400, 'invalid_video', 'video'], /H\.264/)
  await refuses(sends(mp4(turned(bytes))), [400, 'invalid_video', 'video'], /upright/)
  const both = formOf({ ...fields, video: mp4(bytes) })
  both.append('video[id]', id)
  await refuses(post(paths.edit, both), [400, 'invalid_multipart', 'video[id]'])
  const two = formOf({ ...fields, video: mp4(bytes) })
  two.append('video', mp4(bytes))
  await refuses(post(paths.edit, two), [400, 'invalid_multipart', 'video'])
  const elsewhere = formOf({ ...fields, 'video[id]': id, input_reference: mp4(bytes) })
  await refuses(post(paths.edit, elsewhere), [400, 'unknown_parameter', 'input_reference'])
  await refuses(sends(mp4(bytes), { prompt: '' }), [400, 'missing_required_parameter', 'prompt'])
  await refuses(sends(mp4(bytes), {}, paths.extension), [400, 'missing_required_parameter', 'seconds'])
  assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
})

it('a whole that would be too long, and a source too long to be drawn anew', async () => {
  const long = mp4(slow(bytes, 119))
  const fields = { prompt: 'x', model: 'studio', video: long }
  const whole = /122 seconds\. The limit is 120, and the video has 119\. Extend it by at most 1\./
  await refuses(post(paths.extension, formOf({ ...fields, seconds: '3' })), [400, 'invalid_value', 'seconds'], whole)
  await refuses(
    post(paths.edit, formOf(fields)),
    [400, 'invalid_value', 'video'],
    /It has 119 seconds: up to 20 are accepted/,
  )
  const longer = formOf({ ...fields, seconds: '1', video: mp4(slow(bytes, 130)) })
  await refuses(
    post(paths.extension, longer),
    [400, 'invalid_value', 'video'],
    /It has 1\d\d seconds: up to 120 are accepted/,
  )
})

it('more than 50 MiB is refused, with its length or without, and an upload that breaks off leaves nothing', async () => {
  const large = new Blob(Array.from({ length: 51 }, () => randomBytes(2 ** 20)))
  const form = formOf({ prompt: 'x', model: 'studio', video: new File([large], 'film.mp4') })
  await refuses(post(paths.edit, form), [413, 'body_too_large', null], /50 MiB/)
  const stream = new Response(form)
  const headers = { 'content-type': stream.headers.get('content-type') ?? '', authorization: `Bearer ${token}` }
  const body = Buffer.from(await stream.arrayBuffer())
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = httpRequest(`${service.url}${paths.edit}`, { method: 'POST', headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject)
    // A chunked body has no length: it has to be counted while it arrives.
    sent.write(body.subarray(0, 1000))
    sent.end(body.subarray(1000))
  })
  assert.equal(status, 413)
  for (let round = 0; round < 20; round += 1) {
    const sent = httpRequest(`${service.url}${paths.edit}`, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(40 * 2 ** 20) },
    })
    sent.on('error', () => {})
    await new Promise<void>((resolve) => sent.write(body.subarray(0, 2 ** 20), () => resolve()))
    await until('it is being written', () => readdirSync(join(service.data, 'scratch')).length > 0)
    sent.destroy()
    await until('nothing of it is left', () => readdirSync(join(service.data, 'scratch')).length === 0)
  }
  // Each used a part of the common limit, and has given it back.
  const whole = formOf({ prompt: 'x', model: 'studio', video: mp4(padded(bytes)) })
  assert.equal((await post(paths.edit, whole)).status, 200)
})

// Thirteen of them once used up the common limit for good: no image could be sent any more.
it('submits that break off give back what they had of the memory', async () => {
  const form = new Response(formOf({ ...film, image: new File([new Uint8Array(2 ** 20)], 'a.png') }))
  const headers = { 'content-type': form.headers.get('content-type') ?? '', authorization: `Bearer ${token}` }
  const body = Buffer.from(await form.arrayBuffer())
  for (let round = 0; round < 20; round += 1) {
    const length = { 'content-length': String(25 * 2 ** 20) }
    const sent = httpRequest(`${service.url}/v1/videos`, { method: 'POST', headers: { ...headers, ...length } })
    sent.on('error', () => {})
    await new Promise<void>((resolve) => sent.write(body.subarray(0, 2 ** 19), () => resolve()))
    sent.destroy()
  }
  const whole = service.fetch('/v1/videos', { method: 'POST', headers, body: new Uint8Array(body) })
  await refuses(whole, [400, 'invalid_image', 'image'])
})

it('clients that disconnect while they wait for room leave nothing reserved', async () => {
  const headers = { 'content-type': 'multipart/form-data; boundary=x', authorization: `Bearer ${token}` }
  const length = { 'content-length': String(25 * 2 ** 20), expect: '100-continue' }
  const open = async () => {
    const sent = httpRequest(`${service.url}/v1/videos`, { method: 'POST', headers: { ...headers, ...length } })
    sent.on('error', () => {})
    sent.flushHeaders()
    // The server has read it, whether there is room for it or not.
    await once(sent, 'continue')
    return sent
  }
  const first = await Promise.all(Array.from({ length: 7 }, open))
  const waiting = await Promise.all(Array.from({ length: 17 }, open))
  for (const sent of waiting) sent.destroy()
  await service.fetch('/v1/models')
  for (const sent of first) sent.destroy()
  // Larger than what would be left.
  const image = new File([new Uint8Array(18 * 2 ** 20)], 'a.png')
  await refuses(post('/v1/videos', formOf({ ...film, image })), [400, 'invalid_image', 'image'])
})

it('characters can not be created, and paths that only accept POST have no GET', async () => {
  const form = formOf({ name: 'Fox', video: mp4(bytes) })
  const what = /^No model here generates characters\. Describe the character in the prompt/
  await refuses(post('/v1/videos/characters', form), [400, 'invalid_request', null], what)
  await refuses(post('/v1/videos/characters', { name: 'Fox' }), [400, 'invalid_request', null], what)
  await refuses(service.fetch('/v1/videos/characters'), [400, 'invalid_request', null], what)
  await refuses(service.fetch('/v1/videos/characters/char_1'), [400, 'invalid_request', null], what)
  for (const path of Object.values(paths))
    for (const method of ['GET', 'DELETE'])
      await refuses(service.fetch(path, { method }), [405, 'method_not_allowed', null], /Use POST/)
  assert.deepEqual(
    service.log.filter((line) => /"level":"error"/.test(line)),
    [],
  )
})

/** As a phone stores a video that was filmed sideways: with a rotation in the matrix of the track (ISO 14496). */
function turned(video: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(video)
  const matrix = copy.indexOf('tkhd') + 44
  for (const [index, value] of [0, 65_536, 0, -65_536, 0, 0].entries()) copy.writeInt32BE(value, matrix + index * 4)
  return new Uint8Array(copy)
}

/** With a large, meaningless box at its end. */
function padded(video: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const box = Buffer.alloc(40 * 2 ** 20)
  box.writeUInt32BE(box.length)
  box.write('free', 4)
  return new Uint8Array(Buffer.concat([video, box]))
}

/** With frames that last so long that the video does, too. */
function slow(video: Uint8Array<ArrayBuffer>, seconds: number): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(video)
  const scale = copy.indexOf('mdhd') + 16
  copy.writeUInt32BE(Math.round(copy.readUInt32BE(scale) / seconds), scale)
  return new Uint8Array(copy)
}
