import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readByteSize } from './byte-size.ts'

it('a size is a number with a unit, or 0', () => {
  assert.deepEqual(['0', '200MB', '50GB'].map(readByteSize), [0, 200_000_000, 50_000_000_000])
  for (const text of ['', '5', '5 GB', '5gb', '-1GB', '1.5GB', '1234567MB', '00'])
    assert.equal(readByteSize(text), undefined, text)
})
