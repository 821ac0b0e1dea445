import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ModelCard } from './catalog.ts'
import { fitDeadlines } from './deadlines.ts'

const card = { deadlines: { startMs: 60_000, totalMs: 100_000 } } as ModelCard

it('a request may shorten the deadlines of its model, never stretch them', () => {
  assert.deepEqual(fitDeadlines(card, {}, 1_000), { startBy: 61_000, finishBy: 101_000 })
  assert.deepEqual(fitDeadlines(card, { start_within: '5' }, 0), { startBy: 5_000, finishBy: 100_000 })
  assert.deepEqual(fitDeadlines(card, { finish_within: 20 }, 0), { startBy: 20_000, finishBy: 20_000 })
  for (const wrong of [0, -1, 1.5, 'soon', '', 61, 1e12])
    assert.throws(() => fitDeadlines(card, { start_within: wrong }, 0), {
      code: 'invalid_value',
      param: 'start_within',
    })
})
