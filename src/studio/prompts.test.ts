import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { sceneShot } from './draw.ts'
import { prompts } from './prompts.fixture.ts'
import { type Scene, sceneOf } from './scene.ts'

const size = { width: 160, height: 90 }

function frame(scene: Scene, share = 0): Buffer {
  const canvas = createCanvas(size.width, size.height)
  sceneShot(scene, size, 2)(canvas.getContext('2d'), { seconds: share * 2, share })
  return canvas.data()
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Colours in steps of eight, and the distance from dark to light without the outermost hundredths. */
function looks(pixels: Buffer): { colours: number; contrast: number } {
  const colours = new Set<number>()
  const lights: number[] = []
  for (let at = 0; at < pixels.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = pixels.subarray(at, at + 3)
    colours.add(((red >> 3) << 10) | ((green >> 3) << 5) | (blue >> 3))
    lights.push(0.3 * red + 0.59 * green + 0.11 * blue)
  }
  lights.sort((a, b) => a - b)
  const part = (share: number) => lights[Math.floor(lights.length * share)] ?? 0
  return { colours: colours.size, contrast: part(0.99) - part(0.01) }
}

test('two hundred prompts are two hundred films, and none is blank', () => {
  assert.equal(new Set(prompts).size, 200)
  const seen = new Map<string, string>()
  for (const prompt of prompts) {
    const pixels = frame(sceneOf(prompt))
    const hash = hashOf(pixels)
    assert.equal(seen.get(hash), undefined, `${prompt} looks like ${seen.get(hash)}`)
    seen.set(hash, prompt)
    const { colours, contrast } = looks(pixels)
    assert.ok(colours >= 30, `${prompt} has only ${colours} colours`)
    assert.ok(contrast >= 30, `${prompt} has a contrast of only ${contrast}`)
  }
})

test('prompts that say the same with other words still differ to the eye', () => {
  const pairs = [
    ['a red fox in the snow', 'red fox, snow'],
    ['a sailboat at sunset', 'the sailboat at sunset'],
    ['hello', 'hello!'],
  ] as const
  for (const [one, other] of pairs) {
    const [a, b] = [frame(sceneOf(one), 0.5), frame(sceneOf(other), 0.5)]
    let changed = 0
    for (let at = 0; at < a.length; at += 4) if (Math.abs((a[at + 1] ?? 0) - (b[at + 1] ?? 0)) > 8) changed += 1
    assert.ok(changed > (a.length / 4) * 0.1, `${one} and ${other} differ in ${changed} pixels`)
  }
})

test('a seed changes the film, and repeats it', () => {
  for (const prompt of ['a fox in the forest', 'nothing in particular']) {
    const hashes = [null, 0, 1, 2, 4_294_967_295].map((seed) => hashOf(frame(sceneOf(prompt, seed), 0.5)))
    assert.equal(new Set(hashes).size, hashes.length)
    assert.equal(hashOf(frame(sceneOf(prompt, 1), 0.5)), hashes[2])
  }
  assert.notEqual(
    hashOf(frame(sceneOf('one', 7))),
    hashOf(frame(sceneOf('two', 7))),
    'a seed does not replace the prompt',
  )
})
