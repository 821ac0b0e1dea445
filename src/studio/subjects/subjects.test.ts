import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCanvas } from '@napi-rs/canvas'
import { paintOf } from '../paint.ts'
import { subjects } from './index.ts'
import type { Gait, Pose, Subject } from './subject.ts'

const paint = paintOf([200, 90, 60], { light: [255, 250, 240], haze: [200, 210, 220], distance: 0 })
const gaits: Gait[] = ['idle', 'walk', 'run', 'fly', 'swim', 'dance', 'float', 'fall', 'jump']
/** Pixels to a height, and the part of a height around its reach. */
const [scale, around] = [60, 0.5]

function drawn(subject: Subject, pose: Partial<Pose>): { pixels: Buffer; width: number } {
  const { left, right, up, down } = subject.reach
  const canvas = createCanvas(
    Math.ceil((left + right + around * 2) * scale),
    Math.ceil((up + down + around * 2) * scale),
  )
  const pen = canvas.getContext('2d')
  pen.translate((left + around) * scale, (up + around) * scale)
  pen.scale(scale, scale)
  subject.draw(pen, paint, { seconds: 0, turns: 0, gait: 'walk', phase: 0, dark: 0.5, ...pose })
  return { pixels: canvas.data(), width: canvas.width }
}

/** How much of it is drawn, and how much of that is beyond its reach. */
function measure({ pixels, width }: { pixels: Buffer; width: number }): { ink: number; lost: number } {
  const height = pixels.length / 4 / width
  const edge = around * scale - 1
  let [ink, lost] = [0, 0]
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const alpha = pixels[(y * width + x) * 4 + 3] ?? 0
      ink += alpha / 255
      if (x < edge || y < edge || x > width - edge || y > height - edge) lost += alpha / 255
    }
  }
  return { ink, lost }
}

for (const [name, subject] of Object.entries(subjects)) {
  test(`a ${name} can be seen in every gait, moves, and stays within its reach`, () => {
    for (const gait of gaits) {
      const poses = [0, 0.37, 0.71].map((at) => drawn(subject, { seconds: at * 5, turns: at, gait, phase: at }))
      for (const pose of poses) {
        const { ink, lost } = measure(pose)
        assert.ok(ink > scale * scale * 0.1, `${gait}: only ${ink} pixels`)
        assert.ok(lost < ink * 0.02, `${gait}: ${lost} of ${ink} pixels are beyond its reach`)
      }
      const [first, second] = poses
      assert.ok(first && second && !first.pixels.equals(second.pixels), `${gait}: it stands still`)
    }
  })
}
