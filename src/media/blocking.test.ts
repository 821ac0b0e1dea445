import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockingOf } from './blocking.ts'
import { unitOf } from './draw.ts'
import { prompts } from './prompts.fixture.ts'
import { sceneOf } from './scene.ts'
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
