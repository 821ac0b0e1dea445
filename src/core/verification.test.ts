import assert from 'node:assert/strict'
import { it } from 'node:test'
import { defaultMode, resultLimits } from './verification.ts'

it('only bytes that can not have changed on their way are verified smartly', () => {
  const url = 'https://host.example/film'
  const modes = [
    { isLocal: false, url, isWhole: true },
    { isLocal: true, url: '', isWhole: true },
    { isLocal: false, url, isWhole: false },
    { isLocal: true, url: '', isWhole: false },
    { isLocal: false, url: 'http://host.example/film', isWhole: true },
    { isLocal: false, url: '', isWhole: true },
  ].map(defaultMode)
  assert.deepEqual(modes, ['smart', 'smart', 'full', 'full', 'full', 'full'])
})

it('a result may be far larger and longer than its model allows, and not more', () => {
  const small = { size: { values: ['640x360'], default: '640x360' }, seconds: { values: [5, 10], default: 5 } }
  assert.deepEqual(resultLimits(small), { pixels: 3840 * 2160, seconds: 600, frames: 72_000 })
  const large = {
    size: { minSide: 256, maxSide: 4096, multipleOf: 2, default: '1280x720' },
    seconds: { min: 1, max: 120, default: 4 },
  }
  assert.deepEqual(resultLimits(large), { pixels: 4 * 4096 ** 2, seconds: 1_200, frames: 144_000 })
  assert.equal(resultLimits(undefined), undefined)
})
