import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryAfterMs } from './retry-after.ts'

const now = Date.parse('2026-11-15T08:00:00Z')
const asked = (value?: string) =>
  retryAfterMs(new Response(null, value ? { headers: { 'retry-after': value } } : {}), now)

it('reads seconds, and a date by the given clock; everything else is ignored', () => {
  assert.equal(asked('7'), 7_000)
  assert.equal(asked('1.5'), 1_500)
  assert.equal(asked('-1'), -1_000)
  assert.equal(asked('Sun, 15 Nov 2026 08:00:20 GMT'), 20_000)
  assert.equal(asked('Sun, 15 Nov 2026 07:59:50 GMT'), -10_000)
  for (const nothing of [undefined, 'soon']) assert.equal(asked(nothing), undefined)
})
