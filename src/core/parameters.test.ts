import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ModelCard } from './catalog.ts'
import { type ReadOptions, readParameters as readExtras, readSizeWords } from './parameters.ts'

const card = {
  id: 'm',
  size: { values: ['1280x720'], default: '1280x720' },
  parameters: {
    seed: { type: 'integer', minimum: 0, maximum: 100, description: '' },
    strength: { type: 'number', minimum: 0, maximum: 1, description: '' },
    caption: { type: 'boolean', description: '' },
    style: { type: 'string', maxLength: 10, enum: ['noir', 'pop'], description: '' },
    note: { type: 'string', maxLength: 5, description: '' },
    last_image: { type: 'string', maxLength: 40, format: 'https', description: '' },
  },
} as unknown as ModelCard

const readParameters = (of: ModelCard, fields: Record<string, unknown>, options: ReadOptions) =>
  readExtras(of, fields, options).parameters

it('accepts the parameters of the card, typed in JSON and as text in a form', () => {
  const expected = { seed: 7, strength: 0.5, caption: false, style: 'noir', note: '12' }
  assert.deepEqual(readParameters(card, { prompt: 'x', ...expected }, { text: false }), expected)
  const form = { prompt: 'x', seed: '7', strength: '0.5', caption: 'false', style: 'noir', note: '12' }
  assert.deepEqual(readParameters(card, form, { text: true }), expected)
})

it('refuses another type or value, and says what is expected', () => {
  const bad: [object, RegExp][] = [
    [{ seed: '7' }, /a whole number from 0 to 100/],
    [{ seed: 1.5 }, /a whole number/],
    [{ seed: 101 }, /from 0 to 100/],
    [{ strength: Number.NaN }, /a number from 0 to 1/],
    [{ caption: 'true' }, /true or false/],
    [{ style: 'baroque' }, /one of 'noir', 'pop'/],
    [{ note: 'too long' }, /at most 5 characters/],
    [{ note: {} }, /text/],
  ]
  for (const [fields, message] of bad) {
    assert.throws(() => readParameters(card, { ...fields }, { text: false }), { code: 'invalid_value', message })
  }
  for (const fields of [{ seed: 'seven' }, { seed: '' }, { caption: 'yes' }, { caption: 'constructor' }]) {
    assert.throws(() => readParameters(card, { ...fields }, { text: true }), { code: 'invalid_value' })
  }
})

it('names an unknown field, and the fields that the model accepts', () => {
  for (const name of ['duration', '__proto__', 'constructor', 'toString']) {
    const fields = Object.fromEntries([[name, 1]])
    assert.throws(() => readParameters(card, fields, { text: false }), {
      code: 'unknown_parameter',
      param: name,
      message: /accepts: model, .*seed/,
    })
  }
})

it('ignores the seed -1 in metadata, as among the fields, and stores it for a model without seeds', () => {
  for (const [metadata, text] of [
    [{ seed: -1 }, false],
    [{ seed: '-1' }, true],
    ['{"seed":-1}', true],
  ] as const)
    assert.deepEqual(readExtras(card, { metadata }, { text }), { parameters: {}, metadata: null, ignored: [] })
  assert.deepEqual(readParameters(card, { seed: 7, metadata: { seed: -1 } }, { text: false }), { seed: 7 })
  const seedless = { ...card, parameters: {} }
  assert.deepEqual(readExtras(seedless, { metadata: { seed: -1 } }, { text: false }).metadata, { seed: -1 })
})

it('accepts them in metadata as well, but not twice, and no common field there', () => {
  assert.deepEqual(readParameters(card, { metadata: { seed: 7, style: 'pop' } }, { text: false }), {
    seed: 7,
    style: 'pop',
  })
  assert.deepEqual(readParameters(card, { metadata: '{"seed":7}' }, { text: true }), { seed: 7 })
  assert.deepEqual(readParameters(card, { metadata: { aspect_ratio: '9:16' } }, { text: false }), {})
  const code = 'unknown_parameter'
  for (const name of ['model', 'prompt', 'seconds', 'size'])
    assert.throws(() => readParameters(card, { metadata: { [name]: 'x' } }, { text: false }), {
      code,
      param: `metadata.${name}`,
    })
  assert.throws(() => readParameters(card, { seed: 1, metadata: { seed: 2 } }, { text: false }), { param: 'seed' })
  const param = 'metadata.seed'
  assert.throws(() => readParameters(card, { metadata: { seed: '7' } }, { text: false }), {
    param,
    message: /'metadata\.seed'/,
  })
  for (const metadata of ['{', 'null', 7, ['seed'], `{"seed":7,"x":"${'x'.repeat(65_536)}"}`])
    assert.throws(() => readParameters(card, { metadata }, { text: true }), { code: 'invalid_type', param: 'metadata' })
})

it('keeps the other keys of metadata, up to a limit', () => {
  const kept = (metadata: unknown, text = false) => readExtras(card, { metadata }, { text, reserved: ['duration'] })
  assert.deepEqual(kept({ seed: 7, job: 'a', last: true, at: 1.5 }), {
    parameters: { seed: 7 },
    metadata: { job: 'a', last: true, at: 1.5 },
    ignored: [],
  })
  assert.deepEqual(kept('{"job":"a"}', true).metadata, { job: 'a' })
  assert.equal(kept({ seed: 7 }).metadata, null)
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']))
  const long = { ['k'.repeat(64)]: 'x'.repeat(512) }
  assert.deepEqual([kept(many(16)).metadata, kept(long).metadata], [many(16), long])
  const param = 'metadata'
  assert.throws(() => kept(many(17)), { code: 'invalid_value', param, message: /has 17 keys .* limit is 16/ })
  assert.throws(() => kept({ ['k'.repeat(65)]: '' }), { code: 'invalid_value', message: /64 characters/ })
  for (const value of ['x'.repeat(513), {}, ['a']])
    assert.throws(() => kept({ job: value }), { code: 'invalid_value', param: 'metadata.job', message: /512/ })
  assert.throws(() => kept({ duration: 5 }), {
    code: 'unknown_parameter',
    param: 'metadata.duration',
    message: /outside/,
  })
})

it('accepts only URLs that begin with https', () => {
  const read = (last_image: string) => readParameters(card, { last_image }, { text: false })
  assert.deepEqual(read('https://example.com/a.png'), { last_image: 'https://example.com/a.png' })
  for (const url of [
    'http://example.com/a.png',
    'file:///etc/passwd',
    'https://',
    'https://a b',
    `https://${'a'.repeat(40)}`,
  ])
    assert.throws(() => read(url), { code: 'invalid_value', param: 'last_image', message: /https:\/\// })
})

it('reads size words from the fields and from metadata', () => {
  assert.deepEqual(readSizeWords({ resolution: '720p', metadata: { aspect_ratio: '9:16' } }), {
    resolution: '720p',
    aspect_ratio: '9:16',
  })
  assert.throws(() => readSizeWords({ aspect_ratio: '1:1', metadata: { aspect_ratio: '9:16' } }), {
    code: 'invalid_value',
    param: 'aspect_ratio',
    message: /given twice/,
  })
  assert.throws(() => readSizeWords({ metadata: { aspect_ratio: 1 } }), { code: 'invalid_type', param: 'aspect_ratio' })
})
