import assert from 'node:assert/strict'
import { it } from 'node:test'
import { anyModel, toCards } from './openai.ts'

const cardOf = (model: object) => toCards({ data: [model] })[0]

it('a rule that its own default does not keep, or that nobody could, is as if nothing were said', () => {
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
  assert.deepEqual(cardOf({ id: 'm', parameters: odd })?.parameters, {})
})

it('what is no model is left out', () => {
  const odd = [null, 7, 'film', {}, { id: 7 }, { id: '' }, { id: 'a b' }, { id: 'x\n' }, { id: 'a'.repeat(201) }]
  assert.deepEqual(toCards({ data: odd }), [])
  assert.deepEqual(toCards({ data: 'film' }), [])
})
