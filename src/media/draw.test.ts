import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import { sceneShot } from './draw.ts'
import { landscapes } from './landscapes/index.ts'
import { type LandscapeName, type Scene, sceneOf } from './scene.ts'

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
  const scene: Scene = { ...sceneOf('anything at dawn'), landscape }

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

test('every weather and every sort of life can be seen', () => {
  const base: Scene = { ...sceneOf('a hill by day'), weather: 'clear', life: 'motes' }
  const variants: Scene[] = [
    base,
    { ...base, weather: 'snow' },
    { ...base, weather: 'rain' },
    { ...base, weather: 'fog' },
    { ...base, life: 'birds' },
    { ...base, life: 'fireflies' },
  ]
  const pictures = variants.map((scene) => drawn(scene, { width: 480, height: 270 }, 0.3).toString('base64'))
  assert.equal(new Set(pictures).size, variants.length)
})
