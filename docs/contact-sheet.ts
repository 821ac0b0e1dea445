import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createCanvas } from '@napi-rs/canvas'
import { overlayOf } from '../src/studio/caption.ts'
import { sceneShot } from '../src/studio/draw.ts'
import { sceneOf } from '../src/studio/scene.ts'

/*
 * Draws the pictures of docs/studio.md: the first, the middle and the last frame of films of 24 prompts.
 * Run it after a change to the renderer: node docs/contact-sheet.ts
 */

const prompts = `
a red fox running through a snowy forest
a sailboat on a calm sea at sunset
three birds over the mountains at dawn
an astronaut floating in space
a robot and a cat in a cozy room
a whale underwater, sun rays
a blue car in a neon city, rain at night
hot air balloons above the clouds at sunrise
a lighthouse in a thunderstorm
a dog running on the beach by day
cherry blossom trees in spring, morning
an elephant in the desert at noon, orbit shot
a green dragon over a castle at dusk
an old steam train in autumn, afternoon
a ballerina dancing in a room at night
a white horse galloping at sunset, tracking shot
an owl in an enchanted forest
windmills on a windy afternoon
a deer by a misty lake at dawn, zoom in
five penguins on the ice, pan right
the sound of silence
melancholy in blue
memory of a melody
slow thoughts in green, fast forward
`
  .trim()
  .split('\n')

const seconds = 4
const shares = [0, 0.5, 1]
const cell = { width: 316, height: 178 }
const gap = 6
const perRow = 2

function sheet(members: readonly string[]): Buffer {
  const rows = Math.ceil(members.length / perRow)
  const width = perRow * (shares.length * (cell.width + 1) + gap) + gap
  const canvas = createCanvas(width, rows * (cell.height + gap) + gap)
  const pen = canvas.getContext('2d')
  pen.fillStyle = '#14161c'
  pen.fillRect(0, 0, canvas.width, canvas.height)
  for (const [index, prompt] of members.entries()) {
    const left = gap + (index % perRow) * (shares.length * (cell.width + 1) + gap)
    const top = gap + Math.floor(index / perRow) * (cell.height + gap)
    for (const [column, share] of shares.entries()) {
      pen.imageSmoothingQuality = 'high'
      pen.drawImage(frame(prompt, share), left + column * (cell.width + 1), top, cell.width, cell.height)
    }
  }
  return canvas.toBuffer('image/webp', 80)
}

/** Drawn at twice its size: what is scaled down more than that gets rough edges. */
function frame(prompt: string, share: number) {
  const size = { width: 632, height: 356 }
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  sceneShot(sceneOf(prompt), size, seconds)(pen, { seconds: share * seconds, share })
  pen.drawImage(overlayOf(prompt, size), 0, 0)
  return canvas
}

const folder = join(import.meta.dirname, 'images')
await mkdir(folder, { recursive: true })
const half = Math.ceil(prompts.length / 2)
await writeFile(join(folder, 'studio-1.webp'), sheet(prompts.slice(0, half)))
await writeFile(join(folder, 'studio-2.webp'), sheet(prompts.slice(half)))
