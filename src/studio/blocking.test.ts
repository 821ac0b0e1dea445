import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor } from './actor.ts'
import { blockingOf } from './blocking.ts'
import { cameraOf } from './camera.ts'
import { unitOf } from './draw.ts'
import type { Place } from './landscapes/landscape.ts'
import { prompts } from './prompts.fixture.ts'
import { sceneOf } from './scene.ts'
import { spotOf } from './spots.ts'
import { subjects } from './subjects/index.ts'

const sizes = [
  { width: 256, height: 1920 },
  { width: 1920, height: 256 },
  { width: 720, height: 1280 },
  { width: 1280, height: 720 },
  { width: 512, height: 512 },
]

const blocked = (prompt: string, size = { width: 1280, height: 720 }) =>
  blockingOf(sceneOf(prompt), { size, unit: unitOf(size), medium: 'air', water: true })

test('every subject of every prompt stands inside the frame, large enough to be seen, at any shape of frame', () => {
  for (const prompt of prompts) {
    for (const size of sizes) {
      for (const mark of blocked(prompt, size)) {
        if (subjects[mark.name].spans) continue
        const where = `${prompt}: ${mark.name} at ${size.width}x${size.height}`
        assert.ok(mark.x > 0.02 && mark.x < 0.98, `${where} is at ${mark.x}`)
        assert.ok(
          mark.lane === 'floor' || mark.lane === 'water' || (mark.y > 0.02 && mark.y < 0.8),
          `${where} is at ${mark.y}`,
        )
        assert.ok(mark.height >= Math.min(size.width, size.height) * 0.03, `${where} is ${mark.height} high`)
        assert.ok(mark.height * subjects[mark.name].reach.up <= size.height * 0.6, `${where} is ${mark.height} high`)
      }
    }
  }
})

test('as many come as were asked for', () => {
  assert.equal(blocked('three birds').length, 3)
  assert.equal(blocked('a fox and a robot').length, 2)
  assert.equal(blocked('two cats and five dogs').length, 7)
})

test('a bridge goes from side to side without a gap, whatever the water does and however the camera travels', () => {
  const prompt = 'a bridge over a stormy sea, pan right'
  for (const size of sizes) {
    const [scene, unit] = [sceneOf(prompt), unitOf(size)]
    const camera = cameraOf(scene, { size, unit, seconds: 20 })
    const stage = { scene, size, unit, reach: camera.reach, chance: () => 0.5 }
    const rough = { depth: 0.56, at: (x: number, seconds: number) => 90 + 30 * Math.sin(x / 70 + seconds) }
    const place: Place = { back: () => {}, floor: rough, water: rough, medium: 'air' }
    for (const share of [0, 0.5, 1]) {
      const spots = blocked(prompt, size).map((mark) => {
        const actor = { mark, subject: subjects.bridge, depth: 0.56 } as Actor
        return { ...spotOf(camera.at({ seconds: share * 20, share }), stage, place, actor), mark }
      })
      assert.equal(new Set(spots.map(({ y, turn }) => `${y} ${turn}`)).size, 1, 'all parts are on one line')
      const half = subjects.bridge.reach.left * (spots[0]?.mark.height ?? 0)
      for (const [index, { x }] of spots.entries())
        assert.ok(Math.abs(x - (spots[index + 1]?.x ?? x + half * 2)) <= half * 2 + 1)
      const [first, last] = [spots[0]?.x ?? 0, spots.at(-1)?.x ?? 0]
      assert.ok(first - half <= 0 && last + half >= size.width, `${size.width}x${size.height} at ${share}`)
    }
  }
})

test('one subject stands on a third and looks towards the free part', () => {
  const [mark] = blocked('a house on a hill')
  assert.ok(mark && Math.abs(mark.x - (mark.face > 0 ? 1 / 3 : 2 / 3)) < 0.06)
})

test('what is on the water does not stand behind what is on the shore', () => {
  const [ship, cat] = blocked('a cat and a ship')
  assert.ok(ship?.name === 'ship' && cat?.name === 'cat' && Math.abs(ship.x - cat.x) > 0.2)
})

test('what walks is on the ground, what flies in the air, what floats on the water, unless the prompt lifts it', () => {
  const lane = (prompt: string) => blocked(prompt)[0]?.lane
  assert.deepEqual(['a fox', 'a bird', 'a ship', 'a flying fox', 'a whale', 'a flying whale'].map(lane), [
    'floor',
    'air',
    'water',
    'air',
    'water',
    'air',
  ])
})
