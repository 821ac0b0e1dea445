import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { providers } from '../src/providers/index.ts'
import { startService } from './service.ts'

/* A URL in a parameter of a model is fetched by the provider: the same rules as for `image` apply. */

type Rule = { type: string; format?: string; enum?: string[] }
interface Model {
  id: string
  parameters: Record<string, Rule>
}

const keys = { ARK_API_KEY: 'a', FAL_KEY: 'a:b', KLING_API_KEY: 'a', REPLICATE_API_TOKEN: 'a' }
const hostile = [
  ...['https://127.0.0.1/x.png', 'https://169.254.169.254/latest', 'https://10.0.0.3/', 'https://[::1]/', 'https://0/'],
  ...['https://localhost/', 'https://metadata.google.internal/', 'https://a:b@203.0.114.1/', 'https://2130706433/'],
  ...['https://[::ffff:127.0.0.1]/', 'https://203.0.114.1:22/'],
]
const unreadable = [
  ...[
    'http://127.0.0.1/x.png',
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'ftp://203.0.114.1/',
    '//203.0.114.1/',
  ],
  ...['data:image/png;base64,AAAA', 'https://203.0.114.1/a b', 'https://203.0.114.1\\@x/'],
  `https://203.0.114.1/${'x'.repeat(2_048)}`,
]

it('every URL parameter of every model is refused where `image` would be, by its name', async () => {
  await using service = await startService({ env: keys })
  const { data } = (await (await service.fetch('/v1/models')).json()) as { data: Model[] }
  const found = data.flatMap(({ id, parameters }) =>
    Object.entries(parameters).flatMap(([name, { format }]) => (format === undefined ? [] : [{ model: id, name }])),
  )
  for (const prefix of ['fal/', 'kling-', 'seedance-', 'replicate/'])
    assert.ok(
      found.some(({ model }) => model.startsWith(prefix)),
      `a URL parameter of ${prefix}`,
    )
  for (const { model, name } of found) {
    const faultOf = async (fields: object) => {
      const answer = await service.submit({ model, prompt: 'x', image: 'https://203.0.114.1/first.png', ...fields })
      const { error } = (await answer.json()) as { error?: { code: string; param: string } }
      return [answer.status, error?.code, error?.param]
    }
    for (const url of hostile) {
      assert.deepEqual(await faultOf({ [name]: url }), [400, 'invalid_image_url', name], `${model} ${name} ${url}`)
      assert.deepEqual(
        await faultOf({ metadata: { [name]: url } }),
        [400, 'invalid_image_url', name],
        `${model} ${url}`,
      )
    }
    for (const url of unreadable)
      assert.deepEqual(await faultOf({ [name]: url }), [400, 'invalid_value', name], `${model} ${name} ${url}`)
  }
})

it('one that leads to the internet is accepted', async () => {
  // Nothing is sent: no provider runs there.
  const accounts = JSON.stringify({ main: { provider: 'kling', key: 'a', base_url: 'http://127.0.0.1:9' } })
  await using service = await startService({ yaml: `accounts: ${accounts}` })
  const image = createCanvas(512, 512).toDataURL('image/png')
  const film = { model: 'kling-3.0', prompt: 'x', image }
  assert.equal((await service.submit({ ...film, last_image: 'https://203.0.114.1/last.png' })).status, 200)
  assert.equal((await service.submit({ ...film, last_image: 'https://127.0.0.1/last.png' })).status, 400)
})

it('every parameter of a card that takes a URL says so', () => {
  const cards = Object.values(providers).flatMap(({ cards }) => cards)
  assert.ok(cards.length > 20)
  for (const { id, parameters } of cards)
    for (const [name, rule] of Object.entries(parameters)) {
      if (rule.type !== 'string' || rule.enum) continue
      const isText = name === 'negative_prompt'
      assert.equal(rule.format, isText ? undefined : 'https', `${id} ${name}: text, or a URL with format https?`)
    }
})
