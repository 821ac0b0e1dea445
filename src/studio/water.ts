import { between } from './chance.ts'
import { css, mix } from './palette.ts'
import { enter, type Moment, type Pen, parallax, type Stage, wrap } from './stage.ts'

/* Open water: its colour, the path of light on it, and its swell. */

export function fillWater(pen: Pen, stage: Stage, moment: Moment, reach: { top: number; bottom: number }): void {
  const { size, scene } = stage
  const { sky, near } = scene.palette
  const water = pen.createLinearGradient(0, reach.top, 0, reach.bottom)
  water.addColorStop(0, css(mix(sky[2], sky[1], 0.35)))
  water.addColorStop(0.25, css(mix(sky[1], near, 0.2)))
  water.addColorStop(1, css(mix(sky[0], near, 0.55)))
  enter(pen, stage, { ...moment, travel: 0 }, 0.1, () => {
    pen.fillStyle = water
    pen.fillRect(-size.width * 0.2, reach.top, size.width * 1.4, size.height * 1.4)
  })
}

interface Glint {
  x: number
  y: number
  width: number
  phase: number
}

/** The path of light on the water: wider and coarser towards the viewer. */
export function layGlints(stage: Stage, reach: { top: number; bottom: number }): Glint[] {
  const { size, unit, chance, scene } = stage
  return Array.from({ length: 130 }, () => {
    const near = chance() ** 1.5
    const spread = unit * (0.05 + 0.3 * near)
    return {
      x: size.width * scene.light.x + spread * (chance() + chance() - 1),
      y: reach.top + (reach.bottom - reach.top) * (0.01 + 0.96 * near),
      width: unit * (0.01 + 0.05 * near) * between(chance, 0.5, 1.4),
      phase: chance() * Math.PI * 2,
    }
  })
}

/** Sixteen strengths, one path each: far fewer fills than one for each glint. */
export function drawGlints(pen: Pen, stage: Stage, moment: Moment, glints: readonly Glint[]): void {
  const strength = stage.scene.hour === 'day' ? 0.4 : 0.6
  const tiers: Glint[][] = Array.from({ length: 8 }, () => [])
  for (const glint of glints) {
    const shimmer = 0.5 + 0.5 * Math.sin(moment.seconds * 2.4 + glint.phase)
    tiers[Math.min(7, Math.floor(shimmer ** 2 * 8))]?.push(glint)
  }
  for (const [tier, members] of tiers.entries()) {
    pen.fillStyle = css(stage.scene.palette.light, strength * ((tier + 0.5) / 8))
    pen.beginPath()
    for (const glint of members) {
      const x = glint.x + parallax(moment, 0.04) + Math.sin(moment.seconds * 0.9 + glint.phase) * glint.width * 0.3
      pen.moveTo(x + glint.width, glint.y + moment.lift * 0.4)
      pen.ellipse(x, glint.y + moment.lift * 0.4, glint.width, Math.max(0.7, glint.width * 0.07), 0, 0, Math.PI * 2)
    }
    pen.fill()
  }
}

export interface Swell {
  depth: number
  base: number
  phase: number
  pitch: number
  /** 1 is a calm sea. */
  height: number
}

/** The surface of a swell at a place of its layer: what floats follows it. */
export function swellTop(stage: Stage, swell: Swell, x: number, seconds: number): number {
  const { unit } = stage
  const height = unit * (0.006 + 0.028 * swell.depth) * swell.height
  const length = unit * (0.16 + 0.42 * swell.depth) * swell.pitch
  const drift = -seconds * unit * 0.03 * (0.4 + swell.depth) * swell.height
  const at = (x - drift) / length + swell.phase
  const bob = height * 0.5 * Math.sin(seconds * 0.9 + wrap(swell.phase) * 6)
  return swell.base - height * (Math.sin(at) + 0.45 * Math.sin(at * 2.3 + seconds * 0.8)) - bob
}

/** A long wave that rolls by itself; its crest catches the light. */
export function drawSwell(pen: Pen, stage: Stage, moment: Moment, swell: Swell): void {
  const { size, unit, scene } = stage
  const { sky, near, light } = scene.palette
  const { depth } = swell
  const colour = mix(mix(sky[1], near, 0.25), mix(sky[0], near, 0.75), depth)
  const height = unit * (0.006 + 0.028 * depth) * swell.height
  const shade = pen.createLinearGradient(0, swell.base - height * 1.5, 0, swell.base + unit * 0.16)
  shade.addColorStop(0, css(mix(colour, light, 0.5), 0.75))
  shade.addColorStop(0.16, css(mix(colour, light, 0.1), 0.7))
  shade.addColorStop(0.8, css(colour, 0.85))
  shade.addColorStop(1, css(colour, depth > 0.7 ? 0.85 : 0))
  // The next swell covers what lies below: filling down to the bottom edge would cost as much again for each.
  const bottom = depth > 0.7 ? size.height * 1.4 : swell.base + unit * 0.16
  const shift = parallax(moment, depth)
  enter(pen, stage, moment, depth, () => {
    const edge = size.width * 0.12
    pen.beginPath()
    pen.moveTo(-edge - shift, bottom)
    for (let x = -edge; x <= size.width + edge; x += Math.max(4, unit / 110)) {
      pen.lineTo(x - shift, swellTop(stage, swell, x - shift, moment.seconds))
    }
    pen.lineTo(size.width + edge - shift, bottom)
    pen.fillStyle = shade
    pen.fill()
  })
}
