import assert from 'node:assert/strict'
import { it } from 'node:test'
import { anyModel, toCards } from './openai.ts'

const cardOf = (model: object) => toCards({ data: [model] })[0]

it('a rule that is not valid, or that its own default breaks, is ignored', () => {
  for (const seconds of [
    { values: [5] },
    { values: [] },
    { min: 4, max: 2, default: 4 },
    { values: [5], default: 6 },
    'x',
  ])
    assert.deepEqual(cardOf({ id: 'm', seconds })?.seconds, anyModel.seconds, JSON.stringify(seconds))
  for (const size of [
    { values: ['1x1'] },
    { values: [], default: '1x1' },
    { values: [7], default: 'x' },
    { default: '4x4' },
  ])
    assert.deepEqual(cardOf({ id: 'm', size })?.size, anyModel.size, JSON.stringify(size))
  const odd = { a: { type: 'string', maxLength: 5, enum: 'x' }, b: { type: 'integer' }, c: { type: 'object' }, d: null }
  assert.deepEqual(Object.keys(cardOf({ id: 'm', parameters: odd })?.parameters ?? {}), ['a'])
})

it('entries that are not models are left out', () => {
  const odd = [
    null,
    7,
    'film',
    {},
    { id: 7 },
    { id: '' },
    { id: 'a b' },
    { id: 'x\n' },
    { id: 'a'.repeat(201) },
    { id: 'a/../b' },
    { id: '..' },
  ]
  assert.deepEqual(toCards({ data: odd }), [])
  assert.throws(() => toCards({ data: 'film' }), { code: 'provider_unavailable' })
})

it('only the parts that we understand are copied, up to a limit', () => {
  const deep = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`)
  const rule = { type: 'boolean', description: 'x'.repeat(1_000), extra: deep }
  const [card] = toCards({ data: [{ id: 'm', parameters: { sharp: rule, model: rule, prompt: rule, 'a b': rule } }] })
  assert.deepEqual(card?.parameters, { sharp: { type: 'boolean', description: 'x'.repeat(500) } })
  assert.equal(toCards({ data: Array.from({ length: 5_000 }, (_, at) => ({ id: `m${at}` })) }).length, 500)
})

it('a parameter that is a URL, by its format or its name, gets the rules for URLs', () => {
  const text = { type: 'string', maxLength: 200, description: '' }
  const parameters = {
    last_image: { ...text, format: 'https' },
    mask: { ...text, format: 'uri' },
    audio_url: text,
    note: text,
  }
  const kept = Object.entries(cardOf({ id: 'm', parameters })?.parameters ?? {})
  const urls = kept.filter(([, rule]) => 'format' in rule).map(([name]) => name)
  assert.deepEqual(urls, ['last_image', 'mask', 'audio_url'])
})
