import { between, rollingRidge } from '../chance.ts'
import { fillGround, layGround } from '../ground.ts'
import { css, mix } from '../palette.ts'
import { type Moment, type Pen, parallax, type Stage, wrap } from '../stage.ts'
import type { Landscape } from './landscape.ts'

const horizon = 0.58

export const sea: Landscape = (stage) => {
  const { size, unit, chance } = stage
  const coast = layGround(stage, {
    depth: 0.06,
    base: size.height * horizon + unit * 0.012,
    rise: unit * 0.045,
    ridge: rollingRidge(chance),
    wavelength: unit * 1.1,
  })
  const glints = layGlints(stage)
  const swells = [0.15, 0.32, 0.5, 0.72, 1].map((depth) => ({
    depth,
    phase: chance() * 7,
    pitch: between(chance, 0.8, 1.2),
  }))
  return (pen, moment) => {
    fillGround(pen, moment, stage, coast)
    drawWater(pen, stage)
    for (const swell of swells) drawSwell(pen, moment, stage, swell)
    drawGlints(pen, moment, stage, glints)
  }
}

function drawWater(pen: Pen, stage: Stage): void {
  const { size, scene } = stage
  const { sky, near } = scene.palette
  const top = size.height * horizon
  const water = pen.createLinearGradient(0, top, 0, size.height)
  water.addColorStop(0, css(mix(sky[2], sky[1], 0.35)))
  water.addColorStop(0.25, css(mix(sky[1], near, 0.2)))
  water.addColorStop(1, css(mix(sky[0], near, 0.6)))
  pen.fillStyle = water
  pen.fillRect(-size.width * 0.1, top, size.width * 1.2, size.height)
}

interface Glint {
  x: number
  y: number
  width: number
  phase: number
}

/** The path of light on the water: wider and coarser towards the viewer. */
function layGlints(stage: Stage): Glint[] {
  const { size, unit, chance, scene } = stage
  return Array.from({ length: 150 }, () => {
    const near = chance() ** 1.5
    const spread = unit * (0.05 + 0.3 * near)
    return {
      x: size.width * scene.light.x + spread * (chance() + chance() - 1),
      y: size.height * (horizon + 0.004 + (0.96 - horizon) * near),
      width: unit * (0.01 + 0.05 * near) * between(chance, 0.5, 1.4),
      phase: chance() * Math.PI * 2,
    }
  })
}

function drawGlints(pen: Pen, moment: Moment, stage: Stage, glints: Glint[]): void {
  const strength = stage.scene.hour === 'day' ? 0.4 : 0.6
  for (const glint of glints) {
    const shimmer = 0.5 + 0.5 * Math.sin(moment.seconds * 2.4 + glint.phase)
    pen.fillStyle = css(stage.scene.palette.light, strength * shimmer ** 2)
    const x = glint.x + parallax(moment, 0.04) + Math.sin(moment.seconds * 0.9 + glint.phase) * glint.width * 0.3
    pen.beginPath()
    pen.ellipse(x, glint.y, glint.width, Math.max(0.7, glint.width * 0.07), 0, 0, Math.PI * 2)
    pen.fill()
  }
}

/** A long wave that rolls by itself; its crest catches the light. */
function drawSwell(
  pen: Pen,
  moment: Moment,
  stage: Stage,
  swell: { depth: number; phase: number; pitch: number },
): void {
  const { size, unit, scene } = stage
  const { depth } = swell
  const { sky, near, light } = scene.palette
  const base = size.height * (horizon + 0.03 + (0.9 - horizon) * depth)
  const height = unit * (0.006 + 0.028 * depth)
  const length = unit * (0.16 + 0.42 * depth) * swell.pitch
  const drift = parallax(moment, depth) - moment.seconds * unit * 0.03 * (0.4 + depth)
  const top = (x: number) => {
    const at = (x - drift) / length + swell.phase
    return base - height * (Math.sin(at) + 0.45 * Math.sin(at * 2.3 + moment.seconds * 0.8)) - bob
  }
  const bob = height * 0.5 * Math.sin(moment.seconds * 0.9 + wrap(swell.phase) * 6)
  const colour = mix(mix(sky[1], near, 0.25), mix(sky[0], near, 0.75), depth)
  const edge = size.width * 0.1
  pen.beginPath()
  pen.moveTo(-edge, size.height * 1.2)
  for (let x = -edge; x <= size.width + edge; x += Math.max(3, unit / 140)) pen.lineTo(x, top(x))
  pen.lineTo(size.width + edge, size.height * 1.2)
  const shade = pen.createLinearGradient(0, base - height * 1.5, 0, base + unit * 0.16)
  shade.addColorStop(0, css(mix(colour, light, 0.5), 0.75))
  shade.addColorStop(0.16, css(mix(colour, light, 0.1), 0.7))
  shade.addColorStop(1, css(colour, 0.85))
  pen.fillStyle = shade
  pen.fill()
}
