import { Path2D } from '@napi-rs/canvas'
import { between, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, layGround } from '../ground.ts'
import { css, mix, rgb } from '../palette.ts'
import { taper } from '../shapes.ts'
import { enter, type Moment, marginOf, type Pen, parallax, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

const sand = rgb('#c9b98a')
const corals = ['#e0607a', '#f0984a', '#b06ad0', '#f2c14e', '#4fc0b0'].map(rgb)

/** Below the waves: light falls in from above, weed sways, and everything far is blue. The sky is drawn by `sky.ts`. */
export const underwater: Landscape = (stage) => {
  const { size, unit, chance } = stage
  const reefs = [0.1, 0.34, 0.6].map((depth) =>
    layGround(stage, {
      ...{ depth, base: size.height * (0.72 + 0.12 * depth), rise: unit * (0.1 - 0.09 * depth) },
      ...{ ridge: rollingRidge(chance), wavelength: unit * (0.5 + 0.5 * depth) },
    }),
  )
  const bed = layGround(stage, {
    ...{ depth: 0.86, base: size.height * 0.83, rise: unit * 0.018 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 0.9 },
  })
  const floor = { ...bed, colour: mix(mix(sand, stage.scene.palette.sky[1], 0.45), stage.scene.palette.near, 0.2) }
  const weed = layWeed(stage, 0.7, 26)
  const near = layWeed(stage, 1, 12).map((stem) => ({ ...stem, height: stem.height * 1.7 }))
  const coral = layCoral(stage, bed.top)
  const rays = Array.from({ length: 6 }, () => ({
    x: chance(),
    width: between(chance, 0.04, 0.13),
    phase: chance() * 7,
  }))
  return {
    back(pen, moment) {
      drawRays(pen, moment, stage, rays)
      for (const reef of reefs) fillGround(pen, moment, stage, reef)
      drawWeed(pen, moment, stage, { stems: weed, depth: 0.7, top: bed.top })
      fillGround(pen, moment, stage, floor)
      edgeGround(pen, moment, stage, floor, 0.22)
      enter(pen, stage, moment, 0.86, () => {
        for (const { colour, path } of coral) {
          pen.fillStyle = colour
          pen.fill(path)
        }
      })
    },
    front: (pen, moment) => drawWeed(pen, moment, stage, { stems: near, depth: 1, top: () => size.height * 1.04 }),
    floor: { depth: 0.86, at: (x) => bed.top(x) + unit * 0.04 },
    medium: 'water',
  }
}

function drawRays(
  pen: Pen,
  moment: Moment,
  stage: Stage,
  rays: readonly { x: number; width: number; phase: number }[],
): void {
  const { size, unit, scene } = stage
  const slant = (scene.light.x - 0.5) * -unit * 0.7
  for (const ray of rays) {
    const strength = 0.1 + 0.09 * Math.sin(moment.seconds * 0.8 + ray.phase)
    const x =
      size.width * (ray.x * 1.2 - 0.1) +
      parallax(moment, 0.1) +
      Math.sin(moment.seconds * 0.3 + ray.phase) * unit * 0.03
    const shine = pen.createLinearGradient(0, 0, 0, size.height * 0.8)
    shine.addColorStop(0, css(scene.palette.light, strength))
    shine.addColorStop(1, css(scene.palette.light, 0))
    pen.fillStyle = shine
    pen.beginPath()
    pen.moveTo(x - unit * ray.width * 0.4, 0)
    pen.lineTo(x + unit * ray.width * 0.4, 0)
    pen.lineTo(x + unit * ray.width * 1.5 + slant, size.height * 0.85)
    pen.lineTo(x - unit * ray.width * 1.5 + slant, size.height * 0.85)
    pen.fill()
  }
}

interface Stem {
  x: number
  height: number
  phase: number
  tone: number
}

function layWeed(stage: Stage, depth: number, count: number): Stem[] {
  const { size, unit, chance } = stage
  const margin = marginOf(stage, depth)
  const whole = Math.round(count * Math.max(1, (size.width + margin * 2) / (unit * 2.4)))
  return Array.from({ length: Math.min(90, whole) }, () => ({
    ...{ x: between(chance, -margin, size.width + margin), height: unit * between(chance, 0.08, 0.26) },
    ...{ phase: chance() * 7, tone: chance() },
  }))
}

function drawWeed(
  pen: Pen,
  moment: Moment,
  stage: Stage,
  bed: { stems: readonly Stem[]; depth: number; top(x: number): number },
): void {
  const { palette } = stage.scene
  const shift = parallax(moment, bed.depth)
  enter(pen, stage, moment, bed.depth, () => {
    for (const stem of bed.stems) {
      if (stem.x + shift < -stage.unit * 0.2 || stem.x + shift > stage.size.width + stage.unit * 0.2) continue
      const foot = bed.top(stem.x) + stage.unit * 0.02
      const sway = (part: number) => Math.sin(moment.seconds * 1.1 + stem.phase - part * 2.4) * stage.unit * 0.03 * part
      const line = [0, 0.25, 0.5, 0.75, 1].map((part) => [stem.x + sway(part), foot - stem.height * part] as const)
      const green = mix(rgb('#2f8a62'), palette.near, 0.3 + 0.5 * stem.tone)
      taper(pen, css(bed.depth > 0.9 ? mix(green, [0, 10, 25], 0.45) : mix(green, palette.sky[1], 0.3)), line, [
        stage.unit * 0.016,
        stage.unit * 0.003,
      ])
    }
  })
}

function layCoral(stage: Stage, top: (x: number) => number): { colour: string; path: Path2D }[] {
  const { size, unit, chance, scene } = stage
  const margin = marginOf(stage, 0.86)
  return corals.map((colour) => {
    const path = new Path2D()
    const clumps = Math.round(3 * Math.max(1, (size.width + margin * 2) / (unit * 2)))
    for (let clump = 0; clump < clumps; clump++) {
      const x = between(chance, -margin, size.width + margin)
      for (let arm = 0; arm < 6; arm++) {
        const at = {
          x: x + between(chance, -0.035, 0.035) * unit,
          y: top(x) + unit * 0.01 - between(chance, 0, 0.06) * unit,
        }
        const radius = unit * between(chance, 0.008, 0.02)
        path.moveTo(at.x + radius, at.y)
        path.ellipse(at.x, at.y, radius, radius * 1.5, 0, 0, Math.PI * 2)
        path.rect(at.x - radius * 0.35, at.y, radius * 0.7, unit * 0.05)
      }
    }
    return {
      colour: css(mix(mix(colour, scene.palette.sky[1], 0.3), scene.palette.near, scene.hour === 'night' ? 0.5 : 0.12)),
      path,
    }
  })
}
