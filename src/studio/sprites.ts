import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { css, type Rgb } from './palette.ts'

/*
 * Soft things are drawn once and copied after: a gradient that is made for every speck of every frame costs more than
 * all the land.
 */

/** A round light that fades to nothing at its edge. */
export function glowSprite(colour: Rgb, radius: number): Canvas {
  return roundSprite(radius, [
    [0, css(colour, 1)],
    [0.25, css(colour, 0.42)],
    [0.55, css(colour, 0.12)],
    [1, css(colour, 0)],
  ])
}

/** A soft disc: fog, shadows, petals out of focus. */
export function softSprite(colour: Rgb, radius: number, core = 0.2): Canvas {
  return roundSprite(radius, [
    [0, css(colour, 1)],
    [core, css(colour, 0.9)],
    [(1 + core) / 2, css(colour, 0.35)],
    [1, css(colour, 0)],
  ])
}

function roundSprite(radius: number, stops: readonly (readonly [number, string])[]): Canvas {
  const canvas = createCanvas(radius * 2, radius * 2)
  const pen = canvas.getContext('2d')
  const shine = pen.createRadialGradient(radius, radius, 0, radius, radius, radius)
  for (const [at, colour] of stops) shine.addColorStop(at, colour)
  pen.fillStyle = shine
  pen.fillRect(0, 0, radius * 2, radius * 2)
  return canvas
}
