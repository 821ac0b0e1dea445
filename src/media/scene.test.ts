import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sceneOf } from './scene.ts'

test('words of the prompt choose the landscape, the hour and the weather', () => {
  const cases = [
    ['A calm sea at sunset', 'sea', 'sunset', 'clear'],
    ['Snowy mountains at dawn', 'mountains', 'dawn', 'snow'],
    ['A neon CITY in the rain', 'city', 'night', 'rain'],
    ['misty forest in the morning', 'forest', 'dawn', 'fog'],
    ['an astronaut above the clouds of Saturn', 'space', 'night', 'clear'],
    ['sunny dunes', 'desert', 'day', 'clear'],
    ['sheep in a meadow at noon', 'hills', 'day', 'clear'],
  ] as const
  for (const [prompt, ...expected] of cases) {
    const { landscape, hour, weather } = sceneOf(prompt)
    assert.deepEqual([landscape, hour, weather], expected, prompt)
  }
})

test('what is said first wins', () => {
  assert.equal(sceneOf('a ship above a city').landscape, 'sea')
  assert.equal(sceneOf('a city below a ship').landscape, 'city')
})

test('parts of words mean nothing', () => {
  const scenes = Array.from({ length: 20 }, (_, index) => sceneOf(`researcher ${index}`).landscape)
  assert.ok(new Set(scenes).size > 1, 'the landscape of a prompt without words we know is left to chance')
})

test('a colour leans the palette towards it', () => {
  const plain = sceneOf('a hill by day').palette.sky[1]
  const red = sceneOf('a red hill by day').palette.sky[1]
  assert.ok(red[0] - red[2] > plain[0] - plain[2])
})

test('the same prompt is the same scene, in any script and at any length', () => {
  for (const prompt of ['', '猫がピアノを弾く', '🎬', 'لقطة بطيئة', 'x'.repeat(32_000), '\u0000\ud800']) {
    assert.deepEqual(sceneOf(prompt), sceneOf(prompt))
  }
})
