import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { cameraOf } from '../camera.ts'
import { chanceOf } from '../chance.ts'
import { unitOf } from '../draw.ts'
import { sceneOf } from '../scene.ts'
import { forest } from './forest.ts'

const size = { width: 320, height: 180 }

/** Whether each pixel of what stands before the forest is empty. */
function emptyPixels(prompt: string, share: number): boolean[] {
  const scene = sceneOf(prompt)
  const unit = unitOf(size)
  const camera = cameraOf(scene, { size, unit, seconds: 4 })
  const canvas = createCanvas(size.width, size.height)
  const place = forest({ scene, size, unit, reach: camera.reach, chance: chanceOf(`stage:${scene.seed}`) })
  place.front?.(canvas.getContext('2d'), camera.at({ seconds: share * 4, share }))
  const pixels = canvas.data()
  return Array.from({ length: size.width * size.height }, (_, at) => (pixels[at * 4 + 3] ?? 0) < 128)
}

/** How many empty pixels can't be reached from the edge of the frame. */
function enclosed(empty: boolean[]): number {
  const open = [...empty.keys()].filter((at) => {
    const [x, y] = [at % size.width, Math.floor(at / size.width)]
    return empty[at] && (x === 0 || y === 0 || x === size.width - 1 || y === size.height - 1)
  })
  const reached = new Set(open)
  for (const at of reached)
    for (const next of [at - size.width, at + size.width, at - 1, at + 1]) if (empty[next]) reached.add(next)
  return empty.filter(Boolean).length - reached.size
}

test('the trunks that frame a forest have no holes, whichever way their branches grow', () => {
  for (let seed = 0; seed < 8; seed++)
    for (const share of [0, 0.3, 0.6, 0.97])
      assert.equal(enclosed(emptyPixels(`a fox in a forest, ${seed}`, share)), 0, `seed ${seed} at ${share}`)
})
