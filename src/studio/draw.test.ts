import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import { type AbstractName, abstracts } from './abstracts/index.ts'
import { sceneShot } from './draw.ts'
import { landscapes } from './landscapes/index.ts'
import { type LandscapeName, type Scene, sceneOf } from './scene.ts'
import { type SubjectName, subjects } from './subjects/index.ts'

const names = Object.keys(landscapes) as LandscapeName[]
const sizes: Size[] = [
  { width: 256, height: 1920 },
  { width: 1920, height: 256 },
  { width: 480, height: 480 },
]

function drawn(scene: Scene, size: Size, share: number): Buffer {
  const canvas = createCanvas(size.width, size.height)
  sceneShot(scene, size, 4)(canvas.getContext('2d'), { seconds: share * 4, share })
  return canvas.data()
}

for (const landscape of names) {
  const scene: Scene = { ...sceneOf('a fox and a bird, anything at dawn'), landscape }

  test(`${landscape} covers every pixel of the frame from the first moment to the last`, () => {
    for (const size of sizes) {
      for (const share of [0, 1]) {
        const pixels = drawn(scene, size, share)
        let holes = 0
        for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) holes += 1
        assert.equal(holes, 0, `${size.width}x${size.height} at ${share}`)
      }
    }
  })

  test(`${landscape} moves, and any frame can be drawn again`, () => {
    const size = { width: 480, height: 270 }
    assert.ok(drawn(scene, size, 0.5).equals(drawn(scene, size, 0.5)))
    assert.ok(!drawn(scene, size, 0.5).equals(drawn(scene, size, 0.52)))
  })
}

const still = { width: 240, height: 136 }
const distinct = (scenes: readonly Scene[], share = 0.6) =>
  new Set(scenes.map((scene) => drawn(scene, still, share).toString('base64'))).size

test('every weather, season and sort of life can be seen', () => {
  const base: Scene = { ...sceneOf('a hill by day'), weather: 'clear', season: null, life: 'motes' }
  const variants: Scene[] = [
    ...(['clear', 'snow', 'rain', 'fog', 'storm', 'wind'] as const).map((weather) => ({ ...base, weather })),
    ...(['birds', 'fireflies', 'bubbles', 'sparks'] as const).map((life) => ({ ...base, life })),
    ...(['autumn', 'spring'] as const).map((season) => ({ ...base, season })),
  ]
  assert.equal(distinct(variants), variants.length)
})

test('snow lies on the ground of every place that has one', () => {
  /** Of the lowest tenth of the frame, from 0 to 255. */
  const brightness = (scene: Scene) => {
    const pixels = drawn(scene, still, 0.5)
    const ground = pixels.subarray(Math.floor(pixels.length * 0.9)).filter((_, at) => at % 4 === 1)
    return ground.reduce((sum, green) => sum + green, 0) / ground.length
  }
  for (const place of ['hill', 'mountain', 'forest', 'desert', 'city', 'beach', 'lake']) {
    const [snowy, bare] = [sceneOf(`a ${place} in the snow at noon`), sceneOf(`a ${place} at noon`)]
    assert.ok(brightness(snowy) > 195, `${place}: ${brightness(snowy)}`)
    assert.ok(brightness(snowy) > brightness(bare) + 20, `${place}: ${brightness(bare)} without snow`)
  }
  const { weather, snow } = sceneOf('fog over a hill in the snow')
  assert.deepEqual([weather, snow], ['fog', true], 'it lies where none falls')
  assert.equal(sceneOf('a hill in winter without snow').snow, false)
})

test('every subject can be seen, and so can its colour and its number', () => {
  const base: Scene = sceneOf('a fox on a hill by day')
  const casts = Object.keys(subjects).map((name) => [
    { name: name as SubjectName, count: 1, colour: null, colourAt: [] },
  ])
  const [fox] = base.cast
  assert.ok(fox)
  const variants: Scene[] = [
    { ...base, cast: [] },
    ...casts.map((cast) => ({ ...base, cast })),
    { ...base, cast: [{ ...fox, colour: [40, 90, 220] }] },
    { ...base, cast: [{ ...fox, count: 3 }] },
  ]
  assert.equal(distinct(variants), variants.length)
})

test('every camera and every motion can be seen', () => {
  const base: Scene = sceneOf('a fox on a hill by day')
  const moves = ['drift', 'up', 'down', 'in', 'out', 'orbit', 'track', 'aerial', 'close', 'shake', 'still'] as const
  const gaits = ['idle', 'walk', 'run', 'fly', 'dance', 'fall', 'jump'] as const
  const panned = (['left', 'right'] as const).map((move) => ({ ...base, camera: { ...base.camera, move } }))
  assert.equal(distinct(panned), 2)
  assert.equal(distinct(moves.map((move) => ({ ...base, camera: { ...base.camera, move } }))), moves.length)
  assert.equal(distinct(gaits.map((motion) => ({ ...base, motion }))), gaits.length)
})

for (const name of Object.keys(abstracts) as AbstractName[]) {
  test(`${name} cover every pixel, move, and differ with the prompt`, () => {
    const scene: Scene = { ...sceneOf('something'), abstract: name }
    for (const size of sizes) {
      const pixels = drawn(scene, size, 0.7)
      for (let at = 3; at < pixels.length; at += 4) assert.equal(pixels[at], 255)
    }
    assert.ok(!drawn(scene, still, 0.5).equals(drawn(scene, still, 0.52)))
    assert.equal(distinct([scene, { ...sceneOf('something else'), abstract: name }]), 2)
  })
}
