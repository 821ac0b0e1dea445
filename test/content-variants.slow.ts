import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { loadImage } from '@napi-rs/canvas'
import OpenAI from 'openai-7.53'
import { jumpingClock, startService, type TestService, token, until } from './service.ts'

/* The pictures of a finished video: a thumbnail and a spritesheet, generated on the first request. */

const film = { model: 'studio', prompt: 'a lighthouse at dusk', seconds: '1', size: '256x320' }
const kinds = [
  { variant: 'thumbnail', type: 'image/webp', ending: 'webp', size: [256, 320] },
  { variant: 'spritesheet', type: 'image/jpeg', ending: 'jpg', size: [800, 1000] },
] as const

let service: TestService
let id: string

before(async () => {
  service = await startService()
  id = await makeFilm(service)
})
after(() => service[Symbol.asyncDispose]())

async function makeFilm(on: TestService): Promise<string> {
  const task = (await (await on.submit(film)).json()) as { id: string }
  assert.equal((await on.finish(task.id)).status, 'completed')
  return task.id
}

const pathOf = (video: string, variant: string) => `/v1/videos/${video}/content?variant=${variant}`
const ask = (variant: string, headers: Record<string, string> = {}, method = 'GET') =>
  service.fetch(pathOf(id, variant), { method, headers })
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())
const errorOf = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; param: string | null; message: string } }
  return [answer.status, error.code, error.param, error.message] as const
}

/** The files of a task in the bucket of a data folder, by name. */
function filesOf(data: string, task: string): Record<string, string> {
  const bucket = join(data, 'bucket')
  const all = readdirSync(bucket, { recursive: true }).map(String)
  return Object.fromEntries(
    all
      .filter((name) => name.includes(`${task}/`))
      .map((name) => [name.slice(name.lastIndexOf('/') + 1), join(bucket, name)]),
  )
}

const pictureFile = (data: string, task: string, variant: string) =>
  Object.entries(filesOf(data, task)).find(([name]) => name.startsWith(variant))?.[1] ?? assert.fail('it is not kept')

for (const { variant, type, ending, size } of kinds) {
  it(`a ${variant} is an image of its type, with its length, its name and a tag made of its bytes`, async () => {
    const answer = await ask(variant)
    const bytes = await bytesOf(answer)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type])
    assert.equal(answer.headers.get('content-length'), String(bytes.length))
    assert.equal(answer.headers.get('etag'), `"${createHash('sha256').update(bytes).digest('hex')}"`)
    assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${id}.${ending}"`)
    const magic = variant === 'thumbnail' ? bytes.toString('latin1', 8, 12) : bytes.toString('hex', 0, 3)
    assert.equal(magic, variant === 'thumbnail' ? 'WEBP' : 'ffd8ff')
    const { width, height } = await loadImage(bytes)
    assert.deepEqual([width, height], size)
  })

  it(`a ${variant} is made once: it is kept beside the video, and sent from there, also after a restart`, async () => {
    const first = await ask(variant)
    const bytes = await bytesOf(first)
    const file = pictureFile(service.data, id, variant)
    const kept = readFileSync(file)
    assert.ok(kept.equals(bytes))
    await service.restart()
    // Other bytes than would be generated: the response shows that the stored ones are served.
    writeFileSync(file, Buffer.concat([kept, Buffer.from('!')]))
    assert.equal((await bytesOf(await ask(variant))).length, bytes.length + 1)
    writeFileSync(file, kept)
    await service.restart()
    assert.equal((await ask(variant)).headers.get('etag'), first.headers.get('etag'))
    assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
  })

  it(`a ${variant} has conditions, parts and HEAD as the video has`, async () => {
    const whole = await ask(variant)
    const etag = whole.headers.get('etag') ?? ''
    const bytes = await bytesOf(whole)
    assert.equal((await ask(variant, { 'if-none-match': etag })).status, 304)
    assert.equal((await ask('video', { 'if-none-match': etag })).status, 200)
    const head = await ask(variant, {}, 'HEAD')
    for (const name of ['etag', 'content-length', 'content-type', 'last-modified'])
      assert.equal(head.headers.get(name), whole.headers.get(name), name)
    const part = await ask(variant, { range: 'bytes=4-11' })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 4-11/${bytes.length}`])
    assert.ok(bytes.subarray(4, 12).equals(await bytesOf(part)))
    const beyond = await ask(variant, { range: `bytes=${bytes.length}-` })
    assert.deepEqual(await errorOf(beyond), [
      416,
      'range_not_satisfiable',
      null,
      `The ${variant} has ${bytes.length} bytes. Request a range within them.`,
    ])
  })
}

it('OpenAI’s SDK fetches them by name', async () => {
  const openai = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1` })
  for (const { variant, type } of kinds) {
    const answer = await openai.videos.downloadContent(id, { variant })
    assert.equal(answer.headers.get('content-type'), type)
    assert.ok((await loadImage(Buffer.from(await answer.arrayBuffer()))).width > 0)
  }
})

it('HEAD alone makes it too', async () => {
  const other = await makeFilm(service)
  const head = await service.fetch(pathOf(other, 'thumbnail'), { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'image/webp'])
  assert.equal(
    Number(head.headers.get('content-length')),
    readFileSync(pictureFile(service.data, other, 'thumb')).length,
  )
})

it('another variant is refused with the names of those that there are', async () => {
  const [status, code, param, message] = await errorOf(await ask('hologram'))
  assert.deepEqual([status, code, param], [400, 'invalid_value', 'variant'])
  for (const name of ['video', 'thumbnail', 'spritesheet']) assert.ok(message.includes(`'${name}'`), message)
  const twice = await service.fetch(`${pathOf(id, 'video')}&variant=thumbnail`)
  assert.equal(twice.status, 400)
})

it('twenty at once get the same two pictures, each made once', async () => {
  const other = await makeFilm(service)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => service.fetch(pathOf(other, index % 2 ? 'thumbnail' : 'spritesheet'))),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 2)
  for (const answer of answers) assert.ok((await bytesOf(answer)).length > 0)
  const names = Object.keys(filesOf(service.data, other)).map((name) => name.split('.', 1)[0])
  assert.deepEqual(names.sort(), ['spritesheet', 'thumbnail', 'video'])
  assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
})

it('a picture that was removed is generated again', async () => {
  const etag = (await ask('thumbnail')).headers.get('etag')
  rmSync(pictureFile(service.data, id, 'thumbnail'))
  // This process still expected it there. Clients retry after such a response.
  assert.equal((await ask('thumbnail')).status, 500)
  const again = await ask('thumbnail')
  assert.deepEqual([again.status, again.headers.get('etag')], [200, etag])
})

it('of a video that is damaged or gone there is no picture, and nothing is left of the try', async () => {
  const other = await makeFilm(service)
  const file = pictureFile(service.data, other, 'video')
  const sound = readFileSync(file)
  const wrong = Buffer.from(sound)
  wrong.writeUInt8(wrong.readUInt8(wrong.length >> 1) ^ 1, wrong.length >> 1)
  for (const bytes of [wrong, null]) {
    if (bytes) writeFileSync(file, bytes)
    else rmSync(file)
    const [status, code, , message] = await errorOf(await service.fetch(pathOf(other, 'thumbnail')))
    assert.deepEqual([status, code], [500, 'internal'])
    assert.match(message, /stored video is damaged or missing/)
  }
  assert.deepEqual(Object.keys(filesOf(service.data, other)), [])
  assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
})

it('a picture of a video that is not ready, or not one’s own, is answered as the video is', async () => {
  const task = (await (await service.submit({ ...film, seconds: '20', size: '1280x720' })).json()) as { id: string }
  const [status, code] = await errorOf(await service.fetch(pathOf(task.id, 'thumbnail')))
  assert.deepEqual([status, code], [404, 'video_not_ready'])
  await service.fetch(`/v1/videos/${task.id}`, { method: 'DELETE' })
  const [gone, why] = await errorOf(await service.fetch(pathOf(task.id, 'spritesheet')))
  assert.deepEqual([gone, why], [404, 'video_not_found'])
})

it('it expires with its video, and also if that expires while it is made', async () => {
  const clock = jumpingClock()
  await using short = await startService({ world: { clock } })
  const [early, late] = [await makeFilm(short), await makeFilm(short)]
  assert.equal((await short.fetch(pathOf(early, 'thumbnail'))).status, 200)
  const making = short.fetch(pathOf(late, 'spritesheet'))
  await until('its video is being looked at', () => readdirSync(join(short.data, 'scratch')).length > 0, 1)
  clock.jump(25 * 3_600_000)
  const [status, code] = await errorOf(await making)
  assert.deepEqual([status, code], [410, 'video_expired'])
  assert.deepEqual((await errorOf(await short.fetch(pathOf(early, 'thumbnail'))))[1], 'video_expired')
  for (const task of [early, late])
    await until('nothing is kept', () => Object.keys(filesOf(short.data, task)).length === 0)
  assert.deepEqual(readdirSync(join(short.data, 'scratch')), [])
})

it('with delivery by nginx the response leads to the picture, with its type', async () => {
  await using behind = await startService({ env: { FILMGATE_CONTENT: 'accel:/protected/' } })
  const task = await makeFilm(behind)
  for (const { variant, type, ending } of kinds) {
    const answer = await behind.fetch(pathOf(task, variant))
    const path = answer.headers.get('x-accel-redirect') ?? ''
    assert.ok(path.startsWith('/protected/') && path.endsWith(`.${ending}`), path)
    assert.ok(existsSync(join(behind.data, 'bucket', path.slice('/protected/'.length))))
    assert.equal(answer.headers.get('content-type'), type)
  }
})

it('a service that stops while a picture is made leaves nothing behind', async () => {
  const other = await makeFilm(service)
  const left = new AbortController()
  const answer = service.fetch(pathOf(other, 'spritesheet'), { signal: left.signal }).catch(() => undefined)
  await until('its video is being looked at', () => readdirSync(join(service.data, 'scratch')).length > 0, 1)
  left.abort()
  await answer
  await service.restart()
  assert.deepEqual(readdirSync(join(service.data, 'scratch')), [])
  assert.equal((await service.fetch(pathOf(other, 'spritesheet'))).status, 200)
})
