import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OperatorHealth } from './accounts.ts'
import { fits, pick } from './schema.ts'
import { Video, VideoError } from './videos.ts'

const health = { state: 'ok', reason: null, paused_until: null, failures: 0, has_worked: false }

it('a response of another version fits: more fields, other enum values, no `object`', () => {
  assert.ok(fits(OperatorHealth, health))
  assert.ok(fits(OperatorHealth, { ...health, state: 'resting', reason: 'holiday', since: 7 }))
  const failed = pick(Video, ['id', 'error'])
  assert.ok(fits(failed, { id: 'x', error: null }))
  assert.ok(fits(failed, { id: 'x', error: { code: 'new_code', message: 'no' }, object: 'video' }))
})

it('a response with a missing field, another type or an invalid time does not fit', () => {
  const { failures, ...without } = health
  for (const wrong of [null, [], 'ok', {}, without, { ...health, failures: `${failures}` }, { ...health, state: null }])
    assert.equal(fits(OperatorHealth, wrong), false, JSON.stringify(wrong))
  assert.ok(fits(OperatorHealth, { ...health, paused_until: '2026-11-15T09:30:00.000Z' }))
  assert.equal(fits(OperatorHealth, { ...health, paused_until: 'soon' }), false)
  assert.equal(fits(pick(Video, ['warnings']), { warnings: ['a', 7] }), false)
  assert.equal(fits(VideoError, { code: 'x', message: Number.NaN }), false)
})
