import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeDifferences, fitSize, type ModelCard, parseSize, type SizeRule, sizesOf } from './catalog.ts'
import type { TaskImage } from './task.ts'

const shapes = {
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
}
const card = { id: 'm', size: sizesOf(shapes, '1280x720') } as unknown as ModelCard
const plain = { id: 'p', size: { values: ['1280x720'], default: '1280x720' } } as unknown as ModelCard

it('a size may be given in the words of its provider; a word that is left out is taken from the default', () => {
  assert.deepEqual(fitSize(card, {}), { width: 1280, height: 720 })
  assert.deepEqual(fitSize(card, { aspect_ratio: '9:16' }), { width: 720, height: 1280 })
  assert.deepEqual(fitSize(card, { resolution: '1080p' }), { width: 1920, height: 1080 })
  assert.deepEqual(fitSize(card, { size: '720x1280', aspect_ratio: '9:16' }), { width: 720, height: 1280 })
})

it('words that mean no size, or another than `size`, are refused', () => {
  const code = 'invalid_value'
  assert.throws(() => fitSize(card, { resolution: '1080p', aspect_ratio: '9:16' }), {
    code,
    param: 'aspect_ratio',
    message: /supports: 720p 16:9, 720p 9:16, 1080p 16:9/,
  })
  assert.throws(() => fitSize(card, { size: '1280x720', aspect_ratio: '9:16' }), { code, message: /Leave out one/ })
  assert.throws(() => fitSize(plain, { aspect_ratio: '9:16' }), { code, message: /supports: 720p 16:9\./ })
})

it('the words of a model without its own are the shorter side and the exact ratio', () => {
  const any = { id: 'a', size: { minSide: 256, maxSide: 1920, multipleOf: 2, default: '1280x720' } }
  const studio = any as unknown as ModelCard
  assert.deepEqual(fitSize(plain, { resolution: '720P', aspect_ratio: '16:9' }), { width: 1280, height: 720 })
  assert.deepEqual(fitSize(studio, { resolution: '1080p', aspect_ratio: '9:16' }), { width: 1080, height: 1920 })
  assert.deepEqual(fitSize(studio, { aspect_ratio: '1:1' }), { width: 720, height: 720 })
  assert.deepEqual(fitSize(studio, { aspect_ratio: '21:9' }), { width: 1680, height: 720 })
  // The width would be 853.3 pixels, and neither 852 nor 854 is 16:9.
  assert.throws(() => fitSize(studio, { resolution: '480p' }), { message: /supports: 360p 16:9, .*1080p 3:2/ })
})

const pixels: SizeRule = { minSide: 16, maxSide: 4_096, multipleOf: 2, default: '1280x720' }
const words = sizesOf({ '1280x720': { resolution: '720p', ratio: '16:9' } }, '1280x720')

function cardOf(size: SizeRule, imageIs?: 'first frame' | 'reference'): ModelCard {
  const facts = { audio: 'never', price: null, keptMs: null, usuallyMs: null } as const
  return {
    id: 'm',
    ownedBy: 'p',
    routes: [],
    description: '',
    created: 0,
    seconds: { min: 1, max: 60, default: 4 },
    size,
    image: 'optional',
    parameters: {},
    pollAfterMs: 1,
    concurrency: null,
    failuresBilled: false,
    deadlines: { startMs: 1, totalMs: 1 },
    ...(imageIs && { facts: { ...facts, imageIs } }),
  }
}

function imageOf(size: string): TaskImage {
  const asset = { key: 'k', bytes: 1, sha256: '' }
  return { asset, type: 'image/png', size: parseSize(size) ?? assert.fail() }
}

const engine = cardOf(pixels)
const named = cardOf(words)
const firstFrame = cardOf(words, 'first frame')
const reference = cardOf(words, 'reference')

interface Case {
  card?: ModelCard
  seconds?: number
  image?: TaskImage
  got: [duration: number, size: string]
  differs: string[]
}

/** 4 s of 1280x720 were requested, unless the case says otherwise. */
const cases: Record<string, Case> = {
  'what was requested': { card: engine, got: [4, '1280x720'], differs: [] },
  'a group of frames more': { card: engine, seconds: 5, got: [5.0625, '1280x720'], differs: [] },
  'half a second less': { card: engine, got: [3.5, '1280x720'], differs: [] },
  'another length': {
    card: engine,
    seconds: 8,
    got: [5.041667, '1280x720'],
    differs: ['`seconds` was 8; the provider generated 5.04 s.'],
  },
  'a longer video': { card: named, got: [5, '1280x720'], differs: ['`seconds` was 4; the provider generated 5 s.'] },
  'less than a second': {
    card: engine,
    seconds: 1,
    got: [0.2, '1280x720'],
    differs: ['`seconds` was 1; the provider generated 0.2 s.'],
  },
  'sides rounded to 32 pixels': { card: engine, got: [4, '1280x736'], differs: [] },
  'sides rounded to more': {
    card: engine,
    got: [4, '1248x704'],
    differs: ['`size` was 1280x720; the provider generated 1248x704.'],
  },
  "a resolution in the provider's own pixels": { card: named, got: [4, '1248x704'], differs: [] },
  'another resolution': {
    card: named,
    got: [4, '864x496'],
    differs: ['`size` was 1280x720; the provider generated 864x496.'],
  },
  'a portrait in place of a landscape': {
    card: named,
    got: [4, '720x1280'],
    differs: ['`size` was 1280x720; the provider generated 720x1280.'],
  },
  'the shape of the first frame': { card: firstFrame, image: imageOf('1000x1500'), got: [4, '720x1080'], differs: [] },
  'the shape of an image whose role is not known': {
    card: engine,
    image: imageOf('512x512'),
    got: [4, '960x960'],
    differs: [],
  },
  'neither the requested shape nor that of the first frame': {
    card: firstFrame,
    image: imageOf('1000x1500'),
    got: [4, '960x960'],
    differs: ['`size` was 1280x720; the provider generated 960x960.'],
  },
  'the shape of a reference image': {
    card: reference,
    image: imageOf('512x512'),
    got: [4, '960x960'],
    differs: ['`size` was 1280x720; the provider generated 960x960.'],
  },
  'both, of a model that is no longer configured': {
    got: [1, '64x36'],
    differs: ['`seconds` was 4; the provider generated 1 s.', '`size` was 1280x720; the provider generated 64x36.'],
  },
}

for (const [name, { card, seconds = 4, image = null, got, differs }] of Object.entries(cases))
  it(`${differs.length === 0 ? 'no warning' : 'a warning'}: ${name}`, () => {
    const [duration, size] = got
    const facts = { ...(parseSize(size) ?? assert.fail()), duration, frameRate: 24, codec: 'h264', bytes: 1 }
    const task = { seconds, size: { width: 1280, height: 720 }, image }
    assert.deepEqual(describeDifferences(task, facts, card), differs)
  })
