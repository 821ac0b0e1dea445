import { between, type Chance, type Ridge } from '../chance.ts'
import { edgeGround, fillGround, layGround } from '../ground.ts'
import { css, mix, rgb } from '../palette.ts'
import { enter, marginOf } from '../stage.ts'
import type { Landscape } from './landscape.ts'

const sand = rgb('#d9a05b')

/** Dunes: long slopes on the windward side, a sharp crest, and a shadow on the lee side. */
export const desert: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const warm = scene.snow ? 0.3 : scene.hour === 'night' ? 0.16 : 0.7
  const dunes = [0.05, 0.26, 0.48, 0.68, 0.86].map((depth) => {
    const ground = layGround(stage, {
      ...{ depth, base: size.height * (0.6 + 0.23 * depth), rise: unit * (depth > 0.8 ? 0.025 : 0.05 + 0.03 * depth) },
      ...{ ridge: duneRidge(chance), wavelength: unit * (0.75 + 0.9 * depth) },
    })
    return { ...ground, colour: mix(ground.colour, sand, warm * (1 - 0.35 * depth)) }
  })
  const floor = dunes.at(-1)
  const ripples = layRipples(stage)
  return {
    back(pen, moment) {
      for (const dune of dunes) {
        fillGround(pen, moment, stage, dune)
        edgeGround(pen, moment, stage, dune, 0.35)
      }
      enter(pen, stage, moment, 0.86, () => {
        pen.strokeStyle = css(mix(scene.palette.near, [0, 0, 0], 0.2), 0.16)
        pen.lineWidth = Math.max(1, unit * 0.0022)
        pen.beginPath()
        for (const { x, y, width } of ripples) {
          pen.moveTo(x, y)
          pen.quadraticCurveTo(x + width * 0.5, y + width * 0.07, x + width, y)
        }
        pen.stroke()
      })
    },
    floor: { depth: 0.86, at: (x) => (floor?.top(x) ?? size.height * 0.8) + unit * 0.055 },
    medium: 'air',
  }

  function layRipples(here: typeof stage) {
    const margin = marginOf(here, 0.86)
    return Array.from({ length: 70 }, () => ({
      x: between(chance, -margin, size.width + margin),
      y: size.height * between(chance, 0.86, 1.02),
      width: unit * between(chance, 0.05, 0.16),
    }))
  }
}

/** Rises slowly, falls fast: a skewed wave with a soft trough. */
function duneRidge(chance: Chance): Ridge {
  const skew = between(chance, 0.66, 0.8)
  const waves = [1, 2.3].map((pitch) => ({ pitch: pitch * between(chance, 0.8, 1.1), phase: chance() * 7 }))
  const slope = (at: number) => {
    const part = at - Math.floor(at)
    const up = part < skew ? part / skew : (1 - part) / (1 - skew)
    return up ** 1.6 * 2 - 1
  }
  return (x) => waves.reduce((sum, wave) => sum + slope(x * wave.pitch + wave.phase) * (0.7 / wave.pitch), 0)
}
