import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { otherNames, otherValues, withoutEffect } from '../src/api/spellings/table.ts'
import { startService, type TestService } from './service.ts'

/* Field names and values of clients of other services. test/request-shapes/ has their whole requests. */

let service: TestService
const png = createCanvas(64, 64).toBuffer('image/png').toString('base64')
const other = createCanvas(32, 64).toBuffer('image/png').toString('base64')

before(async () => {
  service = await startService({ env: { KLING_API_KEY: 'a' }, yaml: 'accounts: { studio: { provider: studio } }' })
})
after(() => service[Symbol.asyncDispose]())

interface Body {
  seconds?: string
  size?: string
  error?: { code: string; param: string | null; message: string }
}

async function send(fields: object): Promise<Body & { status: number }> {
  const answer = await service.submit({ model: 'studio', prompt: 'x', ...fields })
  return { ...((await answer.json()) as Body), status: answer.status }
}

async function takes(fields: object, seen: Partial<Body> = {}) {
  const { status, seconds, size, error } = await send(fields)
  assert.equal(status, 200, `${JSON.stringify(fields).slice(0, 100)}: ${error?.message}`)
  assert.deepEqual({ seconds, size }, { seconds: '4', size: '1280x720', ...seen }, JSON.stringify(fields))
}

async function refuses(fields: object, param: string, message: RegExp) {
  const { status, error } = await send(fields)
  assert.deepEqual([status, error?.param], [400, param], `${JSON.stringify(fields).slice(0, 100)}: ${error?.message}`)
  assert.match(error?.message ?? '', message)
}

it('other names and other texts of seconds', async () => {
  for (const fields of [{ duration: 5 }, { duration: '5' }, { seconds: '5.0' }, { duration: '5s' }, { n_seconds: 5 }])
    await takes(fields, { seconds: '5' })
  await takes({ seconds: 5, duration: '5.0' }, { seconds: '5' })
  await refuses({ seconds: '4', duration: 5 }, 'duration', /'seconds' \(4\) and 'duration' \(5\) contradict/)
  const accepts = /^`seconds` is '5\.5'\. .* from '1' to '20'\. You sent it as 'duration'\.$/
  await refuses({ duration: '5.5' }, 'duration', accepts)
  await refuses({ duration: true }, 'duration', /^`seconds` is true\. .* You sent it as 'duration'\.$/)
  await refuses({ seconds: '5.5' }, 'seconds', /^`seconds` is '5\.5'\. .* from '1' to '20'\.$/)
})

it('other names and other texts of a size', async () => {
  const wide = { size: '1920x1080' }
  for (const size of ['1920*1080', '1920X1080', '1920×1080', '1080p', '1080P']) await takes({ size }, wide)
  for (const fields of [
    { width: 1920, height: 1080 },
    { width: '1920', height: '1080', size: '1920x1080' },
    { resolution: '1080p', aspect_ratio: '16:9' },
    { resolution: '1080P' },
    { resolution: 1080, ratio: '16:9' },
    { resolution: '1920x1080' },
    { ratio: '1920:1080' },
    { size: '1080p', aspect_ratio: 'landscape' },
    { size: '1920x1080', resolution: '1080p' },
  ])
    await takes(fields, wide)
  await takes({ size: '1000x500', aspect_ratio: '2:1' }, { size: '1000x500' })
  await takes({ size: '832x480', resolution: '480p' }, { size: '832x480' })
  await takes({ size: '9:16' }, { size: '720x1280' })
  await takes({ aspect_ratio: 'square' }, { size: '720x720' })
  await refuses({ width: 1920 }, 'width', /without 'height'/)
  await refuses({ size: '1280x720', width: 640, height: 360 }, 'width', /'size' \(1280x720\) and 'width' \(640x360\)/)
  await refuses({ size: '1280x720', aspect_ratio: '9:16' }, 'aspect_ratio', /does not match 'size' 1280x720/)
  await refuses({ aspect_ratio: '5:4' }, 'aspect_ratio', /supports: .*720p 16:9/)
  await refuses({ aspect_ratio: '16:9', resolution: '4k' }, 'resolution', /supports: .*720p 16:9/)
  await refuses({ size: '4K' }, 'size', /supports: .*720p 16:9/)
  await refuses(
    { ratio: '5:7' },
    'ratio',
    /^Invalid 'aspect_ratio': .* supports: .*720p 16:9.* You sent it as 'ratio'\.$/,
  )
  await refuses({ size: 'abc' }, 'size', /^`size` is 'abc'\. /)
  await refuses({ width: 1280, height: 7 }, 'width', /^`size` is '1280x7'\. .* You sent it as 'width' and 'height'\.$/)
  await refuses({ width: [1], height: 256 }, 'width', /^'width' is an object or a list\. /)
  await refuses({ width: 1280, height: 'b' }, 'height', /^'height' is 'b'\. Expected a whole number of pixels\.$/)
})

it('an image under any of its names, in any of its forms', async () => {
  const url = `data:image/png;base64,${png}`
  for (const fields of [
    ...[
      { image_url: url },
      { image: { url } },
      { image_url: { url } },
      { image: { image_url: { url, detail: 'low' } } },
    ],
    ...[{ input_reference: [url] }, { images: [png] }, { reference_images: [{ url }] }, { first_frame: url }],
    { frame_images: [{ type: 'image_url', image_url: { url }, frame_type: 'first_frame' }] },
    { input_reference: JSON.stringify({ image_url: url }) },
    { images: JSON.stringify([url]) },
    ...[
      { image: url, images: [url], image_url: url },
      { image: '', images: ['', url], image_url: url, first_frame: [''] },
    ],
  ])
    await takes(fields)
  await refuses({ image: png, image_url: other }, 'image_url', /another image than 'image'/)
  await refuses({ images: [png, other] }, 'images[1]', /'images\[1\]' .* Model 'studio' accepts one image\./)
  await refuses({ image: png, last_frame: other }, 'last_frame', /Model 'studio' accepts no last frame/)
  await refuses({ image: { file_id: 'file-1' } }, 'image.file_id', /no Files API/)
  await refuses({ file_id: 'file-1' }, 'file_id', /no Files API/)
  await refuses({ images: ['%%%'] }, 'images', /image/)
  await refuses({ image_url: 'http://10.0.0.1/a.png' }, 'image_url', /./)
  const frame = { image_url: { url }, frame_type: 'middle_frame' }
  await refuses({ frame_images: [frame] }, 'frame_images.frame_type', /use first_frame or last_frame/)
})

it('a large image may be sent twice, and as JSON in a form', async () => {
  const noise = createCanvas(700, 700)
  const pixels = noise.getContext('2d')
  const image = pixels.createImageData(700, 700)
  for (let at = 0; at < image.data.length; at += 1) image.data[at] = ((at * at) % 251) | (at % 4 === 3 ? 255 : 0)
  pixels.putImageData(image, 0, 0)
  const url = `data:image/png;base64,${noise.toBuffer('image/png').toString('base64')}${' '.repeat(2 ** 20)}`
  await takes({ image: url, images: [url] })
  const form = new FormData()
  const fields = { model: 'studio', prompt: 'x', image_reference: JSON.stringify({ image_url: url }) }
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  const answer = await service.fetch('/v1/videos', { method: 'POST', body: form })
  assert.equal(answer.status, 200, await answer.text())
  form.set('image_reference', fields.image_reference.slice(0, -1))
  const broken = await service.fetch('/v1/videos', { method: 'POST', body: form })
  assert.deepEqual([broken.status, ((await broken.json()) as Body).error?.param], [400, 'image_reference'])
})

it('a wrong model is reported before anything else', async () => {
  const { status, error } = await send({ model: 'nothing', n: 2 })
  assert.deepEqual([status, error?.param], [404, 'model'])
})

it('a last frame is the parameter of a model that takes one', async () => {
  const frames = (last: string) => [
    { type: 'image_url', image_url: { url: 'https://203.0.114.1/first.png' }, frame_type: 'first_frame' },
    { type: 'image_url', image_url: { url: last }, frame_type: 'last_frame' },
  ]
  await refuses(
    { model: 'kling-3.0', frame_images: frames('https://127.0.0.1/last.png') },
    ...(['frame_images[1].image_url.url', /./] as const),
  )
  assert.equal((await send({ model: 'kling-3.0', frame_images: frames('https://203.0.114.1/last.png') })).status, 200)
  const [image, last] = ['https://203.0.114.1/first.png', 'https://203.0.114.1/last.png']
  const kling = { model: 'kling-3.0', image, last_image: last }
  assert.equal((await send({ ...kling, image_tail: last })).status, 200)
  await refuses({ ...kling, image_tail: image }, 'image_tail', /'last_image' .* and 'image_tail' .* contradict/)
})

it('an empty field of a form is an absent one', async () => {
  const form = new FormData()
  const empty = ['seconds', 'size', 'image', 'input_reference[]', 'aspect_ratio', 'nonsense']
  for (const [name, value] of [['model', 'studio'], ['prompt', 'x'], ...empty.map((name) => [name, ''])])
    form.append(name ?? '', value ?? '')
  form.append('images', new File([], ''))
  const answer = await service.fetch('/v1/videos', { method: 'POST', body: form })
  assert.equal(answer.status, 200, await answer.text())
})

it('an empty list is an absent field, whatever else is sent', async () => {
  for (const others of [{}, { user: 'u' }]) {
    for (const name of ['prompt', 'model'])
      for (const empty of [[], ['']]) {
        const { status, error } = await send({ ...others, [name]: empty })
        assert.deepEqual([status, error?.code, error?.param], [400, 'missing_required_parameter', name])
      }
    await takes({ ...others, seconds: [], size: [] })
  }
  await using other = await startService({ yaml: 'default_model: studio' })
  for (const fields of [{}, { user: 'u' }])
    assert.equal((await other.submit({ prompt: 'x', model: [], ...fields })).status, 200)
})

it('a list that is nested very deep is refused wherever it stands', async () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  for (const name of ['model', 'seconds', 'duration', 'n', 'width', 'size', 'images', 'image_url']) {
    const fields = { model: '"studio"', prompt: '"x"', seconds: '"4"', height: '1', [name]: deep }
    const body = Object.entries(fields).map(([key, value]) => `"${key}":${value}`)
    assert.equal((await service.submit(`{${body}}`)).status, 400, name)
  }
})

it('a model of another type is refused', async () => {
  for (const model of [{ toString: 1, valueOf: 1 }, { a: 'b' }, 5, ['studio']])
    await refuses({ model }, 'model', /^`model` is .+ Expected a string/)
})

it('every row of the table is true', async () => {
  const meant = { seconds: 5, size: '1920x1080', resolution: '1080p', aspect_ratio: '9:16', 'first frame': png }
  for (const [name, { means }] of Object.entries(otherNames)) {
    if (means === 'last frame') continue
    const field = means === 'first frame' ? 'image' : means
    const [own, theirs] = [await send({ [field]: meant[means] }), await send({ [name]: meant[means] })]
    assert.deepEqual([theirs.status, theirs.seconds, theirs.size], [200, own.seconds, own.size], name)
  }
  for (const { field, written, means } of otherValues) {
    const [value = '', name = field] = means.split(' ').reverse()
    const own = await send({ [name]: value })
    for (const text of written) {
      const theirs = await send({ [field]: text })
      assert.deepEqual([theirs.status, theirs.seconds, theirs.size], [200, own.seconds, own.size], `${field} ${text}`)
    }
  }
  for (const [name, { values = ['anything'], instead }] of Object.entries(withoutEffect)) {
    for (const value of values) await takes({ [name]: value })
    if (instead) await refuses({ [name]: 'another' }, name, /It may be '/)
  }
  await takes({ n: 1, async: true, watermark: false, seed: -1, private: false })
})
