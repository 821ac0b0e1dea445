import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hasOtherAddress, keyVersionOf } from './account.ts'

it('a key version shows whether the address or the key differs, and contains neither', () => {
  const one = keyVersionOf('sim https://a/', 'the key')
  assert.match(one, /^[0-9a-f]{8}\.[0-9a-f]{8}$/)
  assert.equal(hasOtherAddress(one, keyVersionOf('sim https://b/', 'the key')), true)
  const rotated = keyVersionOf('sim https://a/', 'another key')
  assert.deepEqual([hasOtherAddress(one, rotated), one === rotated], [false, false])
  // An attempt from before addresses were recorded.
  for (const old of ['12345678', ''])
    assert.deepEqual([hasOtherAddress(old, one), hasOtherAddress(one, old)], [false, false])
})
