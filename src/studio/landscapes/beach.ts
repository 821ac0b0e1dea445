import { between, rollingRidge } from '../chance.ts'
import { fillGround, layGround } from '../ground.ts'
import { css, mix, rgb } from '../palette.ts'
import { snowedOn } from '../snow.ts'
import { enter, marginOf, parallax } from '../stage.ts'
import { drawGlints, drawSwell, fillWater, layGlints, type Swell, swellTop } from '../water.ts'
import type { Landscape } from './landscape.ts'

const sand = rgb('#e6c891')

/** The sea in front of a shore: waves run up the sand and back. */
export const beach: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const horizon = between(chance, 0.48, 0.53)
  const shore = size.height * 0.735
  const reach = { top: size.height * horizon, bottom: size.height * 0.78 }
  const coast = layGround(stage, {
    ...{ depth: 0.06, base: reach.top + unit * 0.01, rise: unit * 0.05 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.2 },
  })
  const swells = [0.16, 0.34, 0.52].map(
    (depth): Swell => ({
      ...{ depth, base: size.height * (horizon + 0.025 + 0.3 * depth), phase: chance() * 7 },
      ...{ pitch: between(chance, 0.8, 1.2), height: scene.weather === 'storm' ? 1.8 : 0.8 },
    }),
  )
  const carrier = swells[1]
  const glints = layGlints(stage, reach)
  const bend = rollingRidge(chance)
  const dim = scene.hour === 'night' ? 0.62 : scene.hour === 'sunset' ? 0.35 : 0.1
  const dry = snowedOn(scene, mix(mix(sand, scene.palette.light, 0.15), scene.palette.near, dim), 0.88)
  const wet = mix(mix(dry, scene.palette.sky[1], 0.35), scene.palette.near, 0.25)
  const margin = marginOf(stage, 0.86)
  const edge = (x: number, seconds: number, late: number) =>
    shore +
    unit *
      (0.022 * bend(x / (unit * 0.9)) +
        0.018 * Math.sin(seconds * 0.75 - late) +
        0.005 * Math.sin(x / (unit * 0.05) + seconds))
  const pebbles = Array.from({ length: 60 }, () => ({
    x: between(chance, -margin, size.width + margin),
    y: size.height * between(chance, 0.82, 1.02),
    width: unit * between(chance, 0.003, 0.012),
  }))
  return {
    back(pen, moment) {
      fillGround(pen, moment, stage, coast)
      fillWater(pen, stage, moment, reach)
      for (const swell of swells) drawSwell(pen, stage, moment, swell)
      drawGlints(pen, stage, moment, glints)
      enter(pen, stage, moment, 0.86, () => {
        const from = -size.width * 0.15 - parallax(moment, 0.86)
        // Foam, then wet sand, then dry: each lies over the one before.
        for (const [colour, late, down] of [
          ['rgba(255,255,255,0.75)', 0, 0],
          [css(wet), 0, 0.009],
          [css(dry), 0.9, 0.045],
        ] as const) {
          pen.fillStyle = colour
          pen.beginPath()
          pen.moveTo(from, size.height * 1.4)
          for (let x = from; x <= from + size.width * 1.35; x += Math.max(4, unit / 90))
            pen.lineTo(x, edge(x, moment.seconds, late) + unit * down)
          pen.lineTo(from + size.width * 1.35, size.height * 1.4)
          pen.fill()
        }
        pen.fillStyle = css(mix(dry, [0, 0, 0], 0.35), 0.4)
        pen.beginPath()
        for (const { x, y, width } of pebbles) {
          pen.moveTo(x + width, y)
          pen.ellipse(x, y, width, width * 0.4, 0, 0, Math.PI * 2)
        }
        pen.fill()
      })
    },
    floor: { depth: 0.86, at: () => size.height * 0.84 },
    ...(carrier && {
      water: { depth: 0.34, at: (x: number, seconds: number) => swellTop(stage, carrier, x, seconds) + unit * 0.01 },
    }),
    medium: 'air',
  }
}
