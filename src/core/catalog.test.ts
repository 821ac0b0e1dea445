import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fitSize, type ModelCard, sizesOf } from './catalog.ts'

const shapes = {
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
}
const card = { id: 'm', size: sizesOf(shapes, '1280x720') } as unknown as ModelCard
const plain = { id: 'p', size: { values: ['1280x720'], default: '1280x720' } } as unknown as ModelCard

it('a size may be asked for in the words of its provider; what they leave out is as usual', () => {
  assert.deepEqual(fitSize(card, {}), { width: 1280, height: 720 })
  assert.deepEqual(fitSize(card, { aspect_ratio: '9:16' }), { width: 720, height: 1280 })
  assert.deepEqual(fitSize(card, { resolution: '1080p' }), { width: 1920, height: 1080 })
  assert.deepEqual(fitSize(card, { size: '720x1280', aspect_ratio: '9:16' }), { width: 720, height: 1280 })
})

it('words that mean no size, or another than is given, are refused by name', () => {
  const code = 'invalid_value'
  assert.throws(() => fitSize(card, { resolution: '1080p', aspect_ratio: '9:16' }), {
    ...{ code, param: 'aspect_ratio', message: /makes: 720p 16:9, 720p 9:16, 1080p 16:9/ },
  })
  assert.throws(() => fitSize(card, { size: '1280x720', aspect_ratio: '9:16' }), { code, message: /Leave out one/ })
  assert.throws(() => fitSize(plain, { aspect_ratio: '9:16' }), { code, message: /makes: 720p 16:9\./ })
})

it('a model without words for its sizes has them by the shorter side and the exact ratio', () => {
  const any = { id: 'a', size: { minSide: 256, maxSide: 1920, multipleOf: 2, default: '1280x720' } }
  const studio = any as unknown as ModelCard
  assert.deepEqual(fitSize(plain, { resolution: '720P', aspect_ratio: '16:9' }), { width: 1280, height: 720 })
  assert.deepEqual(fitSize(studio, { resolution: '1080p', aspect_ratio: '9:16' }), { width: 1080, height: 1920 })
  assert.deepEqual(fitSize(studio, { aspect_ratio: '1:1' }), { width: 720, height: 720 })
  assert.deepEqual(fitSize(studio, { aspect_ratio: '21:9' }), { width: 1680, height: 720 })
  // 853.3 pixels are no size, and neither 852 nor 854 is 16:9.
  assert.throws(() => fitSize(studio, { resolution: '480p' }), { message: /makes: 360p 16:9, .*1080p 3:2/ })
})
