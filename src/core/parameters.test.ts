import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ModelCard } from './catalog.ts'
import { readParameters } from './parameters.ts'

const card = {
  id: 'm',
  parameters: {
    seed: { type: 'integer', minimum: 0, maximum: 100, description: '' },
    strength: { type: 'number', minimum: 0, maximum: 1, description: '' },
    caption: { type: 'boolean', description: '' },
    style: { type: 'string', maxLength: 10, enum: ['noir', 'pop'], description: '' },
    note: { type: 'string', maxLength: 5, description: '' },
  },
} as unknown as ModelCard

it('takes what the card names, in JSON as it is and in a form as text', () => {
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

it('names a field that nobody knows, and those that the model takes', () => {
  for (const name of ['duration', '__proto__', 'constructor', 'toString']) {
    const fields = Object.fromEntries([[name, 1]])
    assert.throws(() => readParameters(card, fields, { text: false }), {
      code: 'unknown_parameter',
      param: name,
      message: /takes: model, .*seed/,
    })
  }
})
