import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { clients } from './request-shapes/index.ts'
import type { Shape } from './request-shapes/shape.ts'
import { startService, type TestService } from './service.ts'

/* Requests of other people's clients, as they send them, against a whole service. */

const png = createCanvas(512, 512).toBuffer('image/png')
const base64 = png.toString('base64')
// Unreachable: a submit does not wait for its image.
const stands = { $image: `data:image/png;base64,${base64}`, $base64: base64, $url: 'http://127.0.0.1:9/a.png' }
const shapes = clients.flatMap((client) => client.shapes)

let service: TestService
before(async () => {
  const named = shapes.flatMap(({ body, servedBy = 'studio' }) =>
    typeof body.model === 'string' ? [[body.model, servedBy]] : [],
  )
  const remote = (provider: string) => ({ provider, base_url: 'http://127.0.0.1:9', key: 'a' })
  const yaml = {
    accounts: { engine: remote('openai'), kling: remote('kling') },
    models: { engine: { account: 'engine' } },
    aliases: Object.fromEntries(named),
    default_model: 'studio',
    outbound: { allow: ['127.0.0.1'] },
  }
  service = await startService({ yaml: JSON.stringify(yaml) })
})
after(() => service[Symbol.asyncDispose]())

function filled(value: unknown): string {
  return Object.entries(stands).reduce((text, [name, stand]) => text.replaceAll(name, stand), JSON.stringify(value))
}

function formOf(body: Shape['body']): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value === '$file') form.append(name, new File([new Uint8Array(png)], 'a.png', { type: 'image/png' }))
    else form.append(name, value as string)
  }
  return form
}

function requestOf({ as, body }: Shape): RequestInit {
  const ready = JSON.parse(filled(body)) as Record<string, string>
  if (as === 'form') return { method: 'POST', body: formOf(ready) }
  if (as === 'urlencoded') return { method: 'POST', body: new URLSearchParams(ready) }
  return { method: 'POST', body: JSON.stringify(ready), headers: { 'content-type': 'application/json' } }
}

interface Answered {
  id: string
  seconds: string
  size: string
  error?: { param: string; message: string }
}

for (const { client, shapes } of clients) {
  describe(client, () => {
    for (const shape of shapes) {
      it(shape.what, async () => {
        const answer = await service.fetch(shape.path ?? '/v1/videos', requestOf(shape))
        const { id, seconds, size, error } = (await answer.json()) as Answered
        // Nothing has to be drawn for this.
        if (id) await service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
        const refusal = { refused: error?.param }
        assert.deepEqual(answer.status === 200 ? { seconds, size } : refusal, shape.expected, error?.message)
        assert.equal(answer.status, 'refused' in shape.expected ? 400 : 200, error?.message)
      })
    }
  })
}

it('there are many of them, and each says where it comes from', () => {
  assert.ok(shapes.length >= 80, `${shapes.length}`)
  for (const { source, what } of shapes) assert.match(source, /\S{5}/, what)
})

it('a request without a model is a 400 unless the operator set a default', async () => {
  await using strict = await startService()
  const nameless = shapes.filter(({ body }) => body.model === undefined)
  assert.ok(nameless.length > 2)
  for (const shape of nameless) {
    const answer = await strict.fetch('/v1/videos', requestOf(shape))
    const { error } = (await answer.json()) as Answered
    const refusals = ['model', ...('refused' in shape.expected ? [shape.expected.refused] : [])]
    assert.ok(answer.status === 400 && refusals.includes(error?.param ?? ''), `${shape.what}: ${error?.message}`)
  }
})
