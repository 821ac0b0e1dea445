import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isElsewhere, keyVersionOf } from './account.ts'

it('a key version tells another address from another key, and neither by its text', () => {
  const one = keyVersionOf('sim https://a/', 'the key')
  assert.match(one, /^[0-9a-f]{8}\.[0-9a-f]{8}$/)
  assert.equal(isElsewhere(one, keyVersionOf('sim https://b/', 'the key')), true)
  const rotated = keyVersionOf('sim https://a/', 'another key')
  assert.deepEqual([isElsewhere(one, rotated), one === rotated], [false, false])
  // Of an attempt from before addresses were noted nobody knows.
  for (const old of ['12345678', '']) assert.deepEqual([isElsewhere(old, one), isElsewhere(one, old)], [false, false])
})
