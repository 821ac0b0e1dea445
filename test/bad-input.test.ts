import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { startService, type TestService, token } from './service.ts'

let service: TestService
let png: Buffer
let jpeg: Buffer

before(async () => {
  service = await startService()
  const canvas = createCanvas(200, 100)
  canvas.getContext('2d').fillRect(20, 20, 100, 50)
  png = await canvas.encode('png')
  jpeg = await canvas.encode('jpeg')
})
after(() => service[Symbol.asyncDispose]())

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }
type Fault = { status: number; code?: string | null; param?: string | null; message?: string }

async function faultOf(answer: Response): Promise<Fault> {
  const body = (await answer.json()) as { error?: Omit<Fault, 'status'> & { type: string } }
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_/)
  if (body.error) assert.deepEqual(Object.keys(body.error), ['message', 'type', 'param', 'code'])
  return { status: answer.status, ...body.error }
}

async function refuses(fields: object, status: number, code: string, param: string | null, message?: RegExp) {
  const fault = await faultOf(await service.submit({ ...film, ...fields }))
  const shown = JSON.stringify(fields).slice(0, 100)
  assert.deepEqual([fault.status, fault.code, fault.param], [status, code, param], `${shown} → ${fault.message}`)
  if (message) assert.match(fault.message ?? '', message)
}

function multipart(fields: Record<string, string | Blob>): Promise<Response> {
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...film, ...fields })) form.append(name, value as string)
  return service.fetch('/v1/videos', { method: 'POST', body: form })
}

function raw(type: string | undefined, body: string | Buffer): Promise<Response> {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  return service.fetch('/v1/videos', {
    method: 'POST',
    headers,
    body: new Blob([new Uint8Array(Buffer.from(body))]).stream(),
    duplex: 'half',
  } as RequestInit)
}

describe('fields', () => {
  it('a missing, empty, blank, huge or unstorable prompt', async () => {
    await refuses({ prompt: undefined }, 400, 'missing_required_parameter', 'prompt')
    await refuses({ prompt: null }, 400, 'missing_required_parameter', 'prompt')
    await refuses({ prompt: '' }, 400, 'missing_required_parameter', 'prompt')
    for (const prompt of ['   ', 'a\0b', 'half \ud83e', 'x'.repeat(32_001)])
      await refuses({ prompt }, 400, 'invalid_value', 'prompt')
    assert.equal((await service.submit({ ...film, prompt: '🦊'.repeat(32_000) })).status, 200)
  })
  it('wrong types', async () => {
    const message = /^`prompt` is (1|true|an object|an array)\. Expected a string\.$/
    for (const prompt of [1, true, {}, ['x']]) await refuses({ prompt }, 400, 'invalid_type', 'prompt', message)
    for (const model of [1, {}, ['studio']]) await refuses({ model }, 400, 'invalid_type', 'model')
    for (const seconds of [1.5, true, {}, ['1']]) await refuses({ seconds }, 400, 'invalid_type', 'seconds')
    for (const size of [1280, {}, ['256x256']]) await refuses({ size }, 400, 'invalid_type', 'size')
    for (const image of [1, [1], true]) await refuses({ image }, 400, 'invalid_type', 'image')
    await refuses({ image: {} }, 400, 'invalid_type', 'image.image_url')
    for (const reference of [1, [[]], true])
      await refuses({ input_reference: reference }, 400, 'invalid_type', 'input_reference')
    await refuses({ input_reference: { image_url: 1 } }, 400, 'invalid_type', 'input_reference.image_url')
    await refuses({ input_reference: {} }, 400, 'invalid_type', 'input_reference.image_url')
  })
  it('seconds and size outside the card name what is allowed', async () => {
    for (const seconds of ['0', '21', '-1', '1.5', '08', ' 1', '1e1', 'four', 0, 21, 999999999]) {
      await refuses({ seconds }, 400, 'invalid_value', 'seconds', /from '1' to '20'/)
    }
    for (const size of [
      '1280',
      '1280x',
      'x720',
      '255x256',
      '1922x1080',
      '257x256',
      '0x0',
      '1280x720x3',
      ' 1280x720',
      '1e3x720',
    ]) {
      await refuses({ size }, 400, 'invalid_value', 'size', /256 to 1920.*'1280x720'/)
    }
  })
  it('an unknown parameter is named, with those that the model takes', async () => {
    await refuses(
      { secnds: 5 },
      400,
      'unknown_parameter',
      'secnds',
      /Did you mean 'seconds'\? .* accepts: model, prompt, seconds, size, aspect_ratio, resolution, image, input_reference/,
    )
    await refuses(
      { style: 'noir' },
      400,
      'unknown_parameter',
      'style',
      /^Unknown parameter: 'style'\. Model 'studio' accepts/,
    )
    await refuses({ input_reference: { id: '1' } }, 400, 'unknown_parameter', 'input_reference.id')
    const fault = await faultOf(await multipart({ 'metadata[duration]': '1' }))
    assert.deepEqual([fault.status, fault.param], [400, 'metadata.duration'])
  })
  it('an unknown model, whatever its name', async () => {
    for (const model of ['nothing', '__proto__', 'constructor', '../studio', 'x'.repeat(10_000)])
      await refuses({ model }, 404, 'model_not_found', 'model')
  })
  it('a null is an absent field', async () => {
    const answer = await service.submit({
      ...film,
      seconds: null,
      size: null,
      image: null,
      input_reference: null,
      duration: null,
    })
    assert.deepEqual([answer.status, ((await answer.json()) as { size: string }).size], [200, '1280x720'])
  })
})

describe('images', () => {
  it('two sources at once', async () => {
    const image = png.toString('base64')
    const other = jpeg.toString('base64')
    await refuses({ image, input_reference: other }, 400, 'invalid_value', 'input_reference', /than 'image'/)
  })
  it('bad base64, other formats, and names instead of bytes', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>').toString('base64')
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64').toString('base64')
    for (const image of [
      'fox.png',
      '%%%',
      svg,
      gif,
      `data:image/svg+xml;base64,${svg}`,
      'data:image/png,raw',
      'AAAA',
    ]) {
      await refuses({ image }, 400, 'invalid_image', 'image')
    }
  })
  it('broken and hostile images', async () => {
    const bomb = Buffer.from(png)
    bomb.writeUInt32BE(50_000, 16)
    bomb.writeUInt32BE(50_000, 20)
    const liar = Buffer.from(png)
    liar.writeUInt32BE(4_000, 16)
    const flipped = Buffer.from(png)
    flipped.fill(0x55, 60, 90)
    const cases = {
      cutPng: png.subarray(0, png.length / 2),
      cutJpeg: jpeg.subarray(0, jpeg.length / 2),
      bomb,
      liar,
      flipped,
      header: png.subarray(0, 33),
    }
    for (const [name, bytes] of Object.entries(cases)) {
      const fault = await faultOf(await service.submit({ ...film, image: Buffer.from(bytes).toString('base64') }))
      assert.deepEqual([fault.status, fault.code, fault.param], [400, 'invalid_image', 'image'], name)
    }
  })
  it('private, malformed and other URLs', async () => {
    const urls = [
      'http://127.0.0.1/a.png',
      'http://localhost/a',
      'http://[::1]/a',
      'http://169.254.169.254/latest',
      'http://0x7f.1/',
      'file:///etc/passwd',
      'ftp://example.com/a',
      'http://',
      'https://user:pass@example.com/a',
      'http://10.1.2.3/',
      'gopher://x',
      'http://metadata.google.internal/',
    ]
    for (const image of urls) await refuses({ image }, 400, 'invalid_image_url', 'image')
    await refuses(
      { input_reference: { image_url: 'http://192.168.0.1/a' } },
      400,
      'invalid_image_url',
      'input_reference.image_url',
    )
  })
  it('a file part without a name, of a type that says nothing, is still an image', async () => {
    const boundary = 'xyz'
    const part = (headers: string, body: Buffer | string) =>
      Buffer.concat([
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n`),
        Buffer.from(body),
        Buffer.from('\r\n'),
      ])
    for (const type of ['application/octet-stream', 'image/png']) {
      const body = Buffer.concat([
        ...Object.entries(film).map(([name, value]) =>
          part(`name="${name}"\r\nContent-Type: text/plain; charset=utf-8`, value),
        ),
        part(`name="input_reference"\r\nContent-Type: ${type}`, png),
        Buffer.from(`--${boundary}--\r\n`),
      ])
      assert.equal((await raw(`multipart/form-data; boundary=${boundary}`, body)).status, 200, type)
    }
  })
  it("a member of an object is text, also where OpenAI's SDK for Java calls it a stream", async () => {
    const part = (name: string, text: string, type: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n${text}\r\n`
    const fields = Object.entries(film).map(([name, value]) => part(name, value, 'text/plain; charset=utf-8'))
    const url = `data:image/png;base64,${png.toString('base64')}`
    const member = part('input_reference[image_url]', url, 'application/octet-stream')
    const body = Buffer.from(`${fields.join('')}${member}--b--\r\n`)
    assert.equal((await raw('multipart/form-data; boundary=b', body)).status, 200)
  })
  it('an image as a field is as good as one in JSON, also one of megabytes', async () => {
    const canvas = createCanvas(1500, 1500)
    const context = canvas.getContext('2d')
    const noise = context.createImageData(1500, 1500)
    let seed = 1
    for (let at = 0; at < noise.data.length; at += 1) {
      seed = (seed * 16_807) % 2_147_483_647
      noise.data[at] = seed & 255
    }
    context.putImageData(noise, 0, 0)
    const large = (await canvas.encode('png')).toString('base64')
    assert.ok(large.length > 4_000_000)
    assert.equal((await multipart({ 'input_reference[image_url]': `data:image/png;base64,${large}` })).status, 200)
    assert.equal((await service.submit({ ...film, image: large })).status, 200)
  })
  it('an image that is too large', async () => {
    const large = Buffer.concat([png, Buffer.alloc(20 * 2 ** 20)])
    await refuses({ image: large.toString('base64') }, 400, 'invalid_image', 'image', /20 MiB/)
    assert.equal((await faultOf(await multipart({ input_reference: new Blob([new Uint8Array(large)]) }))).status, 413)
  })
})

describe('bodies', () => {
  it('malformed JSON, and JSON that is no object', async () => {
    for (const body of [
      '',
      '{',
      '{"a":}',
      'null',
      '[]',
      '"x"',
      '1',
      'prompt=x',
      '{"prompt":"x"} trailing',
      '\u0000',
      '{"__proto__":{"x":1},"prompt":"x"}',
    ]) {
      const fault = await faultOf(await raw('application/json', body))
      assert.deepEqual([fault.status, fault.code], [400, 'invalid_json'], body)
    }
  })
  it('JSON that is empty, or has a name that reaches into objects, is refused as such', async () => {
    for (const [body, message] of [
      ['', /^The body is empty\. Send a JSON object\.$/],
      ['{"prompt":"x","image":{"__proto__":1}}', /^The body has a field named '__proto__'/],
      ['{"constructor":{"prototype":1}}', /'prototype' within 'constructor'/],
      ['{"__proto__":1', /^The body is not valid JSON\.$/],
    ] as const) {
      const fault = await faultOf(await raw('application/json', body))
      assert.deepEqual([fault.status, fault.code], [400, 'invalid_json'], body)
      assert.match(fault.message ?? '', message)
    }
  })
  it('JSON with a field twice, at every route that takes JSON, also within objects and in a form', async () => {
    const id = `video_${'0'.repeat(48)}`
    const film = '"model":"studio","prompt":"x","seconds":"1"'
    const twice: [path: string, body: string, param: string][] = [
      ['/v1/videos', `{${film},"seconds":"20"}`, 'seconds'],
      ['/v1/videos', `{${film},"seconds":20}`, 'seconds'],
      ['/v1/videos', '{"prompt":"\\"","model":7,"model":"studio"}', 'model'],
      ['/v1/videos', `{${film},"\\u0073econds":"20"}`, 'seconds'],
      ['/v1/videos', `{${film},"metadata":{"seed":1,"seed":2}}`, 'seed'],
      ['/v1/videos', `{${film},"input_reference":{"image_url":"a","image_url":"b"}}`, 'image_url'],
      ['/v1/videos/edits', `{"prompt":"x","video":{"id":"${id}","id":"${id}"}}`, 'id'],
      ['/v1/videos/extensions', `{"prompt":"x","prompt":"y","seconds":4,"video":{"id":"${id}"}}`, 'prompt'],
      [`/v1/videos/${id}/remix`, '{"prompt":"x","prompt":"y"}', 'prompt'],
      ['/v1/webhook_endpoints', '{"url":"https://example.com/","url":"https://10.0.0.1/"}', 'url'],
      [`/v1/webhook_endpoints/whe_${'0'.repeat(36)}`, '{"url":"a","url":"b"}', 'url'],
    ]
    const headers = { 'content-type': 'application/json' }
    for (const [path, body, param] of twice) {
      const fault = await faultOf(await service.fetch(path, { method: 'POST', headers, body }))
      assert.deepEqual([fault.status, fault.code, fault.param], [400, 'invalid_json', param], `${path} ${body}`)
      assert.equal(fault.message, `The body has the field '${param}' twice. Send each field once.`)
    }
    const part = new Blob(['{"image_url":"a","image_url":"b"}'], { type: 'application/json' })
    const inPart = await faultOf(await multipart({ input_reference: part }))
    assert.deepEqual([inPart.status, inPart.code, inPart.param], [400, 'invalid_json', 'image_url'])
    const inText = await faultOf(await multipart({ metadata: '{"seed":1,"seed":2}' }))
    assert.deepEqual([inText.status, inText.code, inText.param], [400, 'invalid_value', 'seed'])
    const inside = { prompt: '{"a":1,"a":1}', metadata: { seed: 1 } }
    assert.equal((await service.submit({ model: 'studio', seconds: '1', size: '256x256', ...inside })).status, 200)
  })
  it('JSON nested a hundred thousand deep', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const fault = await faultOf(await raw('application/json', `{"model":"studio","prompt":"x","image":${deep}}`))
    assert.equal(fault.status, 400)
    const object = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    assert.equal(
      (await faultOf(await raw('application/json', `{"model":"studio","prompt":"x","extra":${object}}`))).status,
      400,
    )
  })
  it('another content type, or none', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/jsonx', 'image/png']) {
      const fault = await faultOf(await raw(type, JSON.stringify(film)))
      assert.deepEqual([fault.status, fault.code], [415, 'unsupported_media_type'], type)
    }
    assert.ok([400, 415].includes((await faultOf(await raw(undefined, JSON.stringify(film)))).status))
    assert.ok([400, 415].includes((await faultOf(await service.fetch('/v1/videos', { method: 'POST' }))).status))
  })
  it('a body that is too large', async () => {
    const fault = await faultOf(await service.submit({ ...film, image: 'A'.repeat(40 * 2 ** 20) }))
    assert.deepEqual([fault.status, fault.code], [413, 'body_too_large'])
  })
  it('more than 1 MiB beside the image, in JSON and in a form', async () => {
    const long = 'x'.repeat(2 ** 20)
    for (const answer of [service.submit({ ...film, prompt: long }), multipart({ prompt: `${long}x` })]) {
      const fault = await faultOf(await answer)
      assert.deepEqual([fault.status, fault.code], [413, 'body_too_large'])
      assert.match(fault.message ?? '', /everything except the reference image may have up to 1 MiB/)
    }
  })
  it('objects of more fields than any request has, in JSON and in a form', async () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`field${at}`, at]))
    const part = `--b\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(many)}\r\n--b--\r\n`
    for (const answer of [
      service.submit({ ...film, ...many }),
      service.submit({ ...film, metadata: many }),
      raw('multipart/form-data; boundary=b', part),
    ]) {
      const fault = await faultOf(await answer)
      assert.deepEqual([fault.status, fault.code], [400, 'invalid_json'])
      assert.equal(fault.message, 'The body has too many fields: an object may have up to 200.')
    }
  })
  it('metadata of more fields than any model has, as text of a form', async () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`field${at}`, at]))
    const fault = await faultOf(await multipart({ prompt: 'x', metadata: JSON.stringify(many) }))
    assert.deepEqual([fault.status, fault.code, fault.param], [400, 'invalid_value', 'metadata'])
    assert.equal(fault.message, "Invalid 'metadata': it has more than 200 fields.")
  })
  it('a chunked body that is answered before its end: the connection ends with the answer', async () => {
    for (const route of ['POST /v1/videos', 'GET /livez']) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {})
      socket.write(`${[`${route} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n1\r\nx\r\n`)
      assert.match(await text(socket), /^HTTP\/1\.1 (401|200) /)
    }
  })
  it('a chunked body of crumbs, whatever it is sent to: the connection ends', async () => {
    const paths = ['POST /v1/videos', 'DELETE /v1/videos/video_x', 'POST /v1/unknown']
    for (const [route, key] of [
      ...paths.map((path) => [path, token] as const),
      ['POST /v1/videos', 'wrong'] as const,
    ]) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {})
      const closed = once(socket, 'close')
      socket.resume()
      const head = [`Authorization: Bearer ${key}`, 'Content-Type: application/json', 'Transfer-Encoding: chunked']
      socket.write(`${[`${route} HTTP/1.1`, 'Host: x', ...head].join('\r\n')}\r\n\r\n`)
      socket.write('1\r\n \r\n'.repeat(10_000))
      await closed
    }
    assert.equal((await service.submit(film)).status, 200)
  })
  it('a long text where no image belongs: as the whole body, and as metadata in a form', async () => {
    const long = JSON.stringify('x'.repeat(2 ** 20))
    const whole = await faultOf(await raw('application/json', long))
    assert.deepEqual([whole.status, whole.code], [413, 'body_too_large'])
    const part = (name: string, type: string, body: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`
    const texts = Object.entries(film).map(([name, value]) => part(name, 'text/plain', String(value)))
    const form = `${texts.join('')}${part('metadata', 'application/json', long)}--b--\r\n`
    const fault = await faultOf(await raw('multipart/form-data; boundary=b', form))
    assert.deepEqual([fault.status, fault.code], [413, 'body_too_large'])
  })
  it('a body that is too large for a route without uploads is refused before it is sent, with the limit of that route', async () => {
    const endpoint = `/v1/webhook_endpoints/whe_${'0'.repeat(36)}`
    const routes = [
      'DELETE /v1/videos/video_1',
      `POST ${endpoint}/replay`,
      `POST ${endpoint}`,
      'POST /v1/webhook_endpoints',
    ]
    for (const [route, limit] of [
      ...routes.map((route) => [route, 'its body may have up to 128 KiB'] as const),
      ['POST /v1/videos/edits', 'send a video as a file of a form, not as JSON'] as const,
    ]) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      const head = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 28000000']
      socket.end(`${[`${route} HTTP/1.1`, 'Host: x', ...head].join('\r\n')}\r\n\r\n{`)
      const answer = await text(socket)
      assert.match(answer, /^HTTP\/1\.1 413 /, route)
      assert.ok(answer.includes(`"The request is too large: ${limit}."`), answer)
    }
  })
  it('multipart without a boundary, cut short, with broken parts, or with a field twice', async () => {
    const head = '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx'
    const cases: [string, string][] = [
      ['multipart/form-data', head],
      ['multipart/form-data; boundary=b', head],
      ['multipart/form-data; boundary=b', 'nothing like it'],
      ['multipart/form-data; boundary=b', ''],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="a"; filename="x"\r\n\r\nhalf a fi',
      ],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="prompt"\r\nContent-Type: application/json\r\n\r\n{broken\r\n--b--\r\n',
      ],
      [
        'multipart/form-data; boundary=b',
        `${head}\r\n--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\ny\r\n--b--\r\n`,
      ],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="__proto__[x]"\r\n\r\ny\r\n--b--\r\n',
      ],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="a[b][c][d]"\r\n\r\ny\r\n--b--\r\n',
      ],
    ]
    for (const [type, body] of cases)
      assert.equal((await faultOf(await raw(type, body))).status, 400, `${type} ${body.slice(0, 60)}`)
    const many = `${Array.from({ length: 100 }, (_, at) => `--b\r\nContent-Disposition: form-data; name="f${at}"\r\n\r\nx\r\n`).join('')}--b--\r\n`
    assert.equal((await faultOf(await raw('multipart/form-data; boundary=b', many))).status, 400)
  })
})

describe('bodies made to be slow or large', () => {
  it('multipart with a name that is too long, of a text as of a file, however it is written', async () => {
    for (const name of ['['.repeat(16_000), 'a'.repeat(201), `a[${'b'.repeat(60_000)}]`])
      for (const type of ['text/plain', 'application/octet-stream', 'image/png']) {
        const head = `Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n`
        const fault = await faultOf(await raw('multipart/form-data; boundary=b', `--b\r\n${head}x\r\n--b--\r\n`))
        assert.deepEqual([fault.status, fault.code], [400, 'invalid_multipart'], `${name.slice(0, 9)} ${type}`)
        assert.equal(fault.message, 'A field name is longer than 200 characters.')
      }
  })

  it('multipart that ends inside a part is answered', async () => {
    const bodies = [
      '--b\r\nContent-Disposition: form-data; name="prompt"\r\n--b--\r\n',
      '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx\r\n--bx\r\n',
      '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx\r\n--b-x',
    ]
    await Promise.all(
      bodies.map(async (body) => assert.equal((await raw('multipart/form-data; boundary=b', body)).status, 400)),
    )
  })
  it('JSON parts count for their bytes, and are values', async () => {
    const part = (name: string, json: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\n\r\n${json}\r\n`
    const form = (parts: string) => raw('multipart/form-data; boundary=b', `${parts}--b--\r\n`)
    const fields = Object.entries(film)
      .map(([name, value]) => part(name, JSON.stringify(value)))
      .join('')
    assert.equal((await form(fields)).status, 200)
    const many = part('extra', `[${'{},'.repeat(2_000_000)}{}]`)
    assert.equal((await faultOf(await form(`${fields}${many}`))).status, 400)
    const large = part('extra', JSON.stringify('x'.repeat(12_000_000)))
    assert.equal(
      (await faultOf(await form(`${large}${large.replace('extra', 'more')}${large.replace('extra', 'most')}`))).status,
      413,
    )
  })
  it('a part of invalid JSON is named, and so is a field name that reaches into objects', async () => {
    for (const name of ['metadata', 'input_reference[image_url]']) {
      const broken = new Blob(['{"a":'], { type: 'application/json' })
      const { status, code, param, message } = await faultOf(await multipart({ [name]: broken }))
      const expected = [400, 'invalid_value', name, `'${name}' is not valid JSON.`]
      assert.deepEqual([status, code, param, message], expected)
    }
    for (const name of ['__proto__', 'constructor']) {
      const head = `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`
      const { code, message } = await faultOf(await raw('multipart/form-data; boundary=b', `${head}x\r\n--b--\r\n`))
      assert.equal(code, 'invalid_multipart')
      assert.match(message ?? '', /^A field of the form has a reserved name, such as '__proto__' or 'constructor'/)
    }
  })
  it('JSON of a million values, and JSON that is not UTF-8', async () => {
    const values = `{"model":"studio","prompt":"x","extra":[${'{},'.repeat(1_000_000)}{}]}`
    assert.equal((await faultOf(await raw('application/json', values))).code, 'invalid_json')
    assert.equal(
      (await faultOf(await raw('application/json', Buffer.from('{"prompt":"caf\xe9"}', 'latin1')))).code,
      'invalid_json',
    )
  })
  it('a form that is not UTF-8, in a value, in a name, and as the URL of an image', async () => {
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const send = (others: Record<string, string>, encoding: BufferEncoding) => {
      const parts = Object.entries({ ...film, ...others }).map(([name, value]) => part(name, value))
      return raw('multipart/form-data; boundary=b', Buffer.from(`${parts.join('')}--b--\r\n`, encoding))
    }
    for (const [name, value] of [
      ['prompt', 'caf\xe9'],
      ['metadata[a]', 'caf\xe9'],
      ['image', 'https://203.0.114.1/caf\xe9.png'],
      ['metadata[caf\xe9]', 'a'],
    ] as const) {
      const { status, code, param, message } = await faultOf(await send({ [name]: value }, 'latin1'))
      assert.deepEqual([status, code, param], [400, 'invalid_multipart', name.replace('\xe9', '\ufffd')])
      assert.equal(message, `The field '${param}' is not UTF-8. Send the form as UTF-8.`)
      assert.equal((await send({ [name]: value }, 'utf8')).status, 200, name)
    }
    const own = await send({ prompt: 'sent as \ufffd' }, 'utf8')
    assert.equal(((await own.json()) as { prompt: string }).prompt, 'sent as \ufffd')
  })
  it('a path that does not exist is answered before its body is read', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write(
      'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n\r\n{',
    )
    const answer = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
    socket.destroy()
    assert.match(answer, /^HTTP\/1\.1 404 /)
  })
  it('a form that says it is too large is refused at once, and an empty DELETE may name a type', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9999999999\r\n\r\n--b`,
    )
    const answer = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
    socket.destroy()
    assert.match(answer, /^HTTP\/1\.1 413 /)
    const headers = { 'content-type': 'application/json' }
    assert.equal(
      (await faultOf(await service.fetch('/v1/videos/video_1', { method: 'DELETE', headers }))).code,
      'video_not_found',
    )
  })
  it('an image with megabytes that are no picture', async () => {
    const chunk = Buffer.alloc(12 + 8_000_000)
    chunk.writeUInt32BE(8_000_000, 0)
    chunk.write('prVt', 4, 'latin1')
    const image = Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]).toString('base64')
    await refuses({ image }, 400, 'invalid_image', 'image', /too much data besides the picture/)
  })
})

describe('everything else', () => {
  it('unknown ids and paths, in the envelope', async () => {
    const ids = [
      'video_1',
      `video_${'0'.repeat(48)}`,
      'x'.repeat(400),
      'x'.repeat(10_000),
      '%00',
      "'%20OR%201=1",
      '..%2f..%2fetc',
    ]
    for (const path of ids.flatMap((id) => [`/v1/videos/${id}`, `/v1/videos/${id}/content`])) {
      const fault = await faultOf(await service.fetch(path))
      assert.deepEqual([fault.status, fault.code], [404, 'video_not_found'], path.slice(0, 100))
    }
    const fault = await faultOf(await service.fetch(`/v1/models/${'x'.repeat(10_000)}`))
    assert.deepEqual([fault.status, fault.code], [404, 'model_not_found'])
    for (const path of ['/v1/videos/%zz', '/v1/%'])
      assert.ok([400, 404].includes((await faultOf(await service.fetch(path))).status), path)
    for (const [method, path, status] of [
      ['PUT', '/v1/videos', 405],
      ['DELETE', '/v1/models', 405],
      ['GET', '/nothing', 404],
      ['POST', '/v1/videos/x/y/z', 404],
    ] as const) {
      assert.equal((await faultOf(await service.fetch(path, { method }))).status, status, `${method} ${path}`)
    }
  })
  it('an invalid limit is refused with the allowed ones', async () => {
    for (const limit of ['-1', '101', '1000', 'abc', '']) {
      const { status, param, message } = await faultOf(await service.fetch(`/v1/videos?limit=${limit}`))
      assert.deepEqual([status, param], [400, 'limit'], limit)
      assert.match(message ?? '', /Expected a whole number from 0 to 100/)
    }
  })
  it('a parameter of a query that is sent twice', async () => {
    const endpoints = '/v1/webhook_endpoints'
    for (const path of ['/v1/videos', endpoints, `${endpoints}/whe_${'0'.repeat(36)}/deliveries`]) {
      const fault = await faultOf(await service.fetch(`${path}?limit=5&limit=5`))
      assert.deepEqual([fault.status, fault.code, fault.param], [400, 'invalid_value', 'limit'], path)
      assert.equal(fault.message, '`limit` is sent more than once. Send it once.')
    }
    for (const name of ['after', 'model', 'order', 'status']) {
      const fault = await faultOf(await service.fetch(`/v1/videos?${name}=asc&${name}=asc`))
      assert.deepEqual([fault.status, fault.code, fault.param], [400, 'invalid_value', name])
    }
  })
  it('a token that is no token, long, or an attack', async () => {
    for (const secret of ["' OR 1=1 --", 'x'.repeat(10_000), '\u00ff', '%{#jndi:ldap://x}']) {
      const answer = await service.fetch('/v1/models', { headers: { authorization: `Bearer ${secret}` } })
      assert.equal((await faultOf(answer)).status, 401)
    }
  })
  it('bytes that are no HTTP, and headers without end', async () => {
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`,
      'POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
    ]) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      socket.end(bytes)
      const answer = await text(socket)
      assert.match(answer, /^HTTP\/1\.1 4\d\d /)
      assert.match(answer, /"error":\{/)
    }
  })
  it('a request without a host, and one with an unknown expectation', async () => {
    const send = (headers: string) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      socket.end(`GET /livez HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
      return text(socket)
    }
    assert.match(await send(''), /^HTTP\/1\.1 400 .*"message":"The request has no Host header\./s)
    assert.match(await send('Host:\r\n'), /^HTTP\/1\.1 200 /)
    assert.match(await send('Host: x\r\nExpect: foo\r\n'), /^HTTP\/1\.1 200 /)
  })
  it('a client that goes away in the middle of its request leaves nothing behind', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"model":`,
    )
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.resetAndDestroy()
    assert.equal((await service.fetch('/v1/models')).status, 200)
  })
  it('none of it was our fault', () => {
    assert.deepEqual(
      service.log.filter((line) => line.includes('request failed')),
      [],
    )
  })
})
