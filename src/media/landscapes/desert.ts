import { between, type Chance, type Ridge } from '../chance.ts'
import { fillGround, layGround } from '../ground.ts'
import { css, mix, rgb } from '../palette.ts'
import { parallax } from '../stage.ts'
import type { Landscape } from './landscape.ts'

const sand = rgb('#d9a05b')

/** Dunes: long slopes on the windward side, a sharp crest, and a shadow on the lee side. */
export const desert: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const warm = scene.hour === 'night' ? 0.16 : 0.7
  const dunes = [0.05, 0.3, 0.55, 0.8, 1].map((depth) => {
    const ground = layGround(stage, {
      depth,
      base: size.height * (0.6 + 0.28 * depth),
      rise: unit * (0.05 + 0.03 * depth),
      ridge: duneRidge(chance),
      wavelength: unit * (0.75 + 0.75 * depth),
    })
    return { ...ground, colour: mix(ground.colour, sand, warm * (1 - 0.35 * depth)) }
  })
  return (pen, moment) => {
    for (const dune of dunes) {
      fillGround(pen, moment, stage, dune)
      const glint = pen.createLinearGradient(0, dune.crest, 0, dune.crest + unit * 0.1)
      glint.addColorStop(0, css(scene.palette.light, 0.35))
      glint.addColorStop(1, css(scene.palette.light, 0))
      pen.save()
      pen.translate(parallax(moment, dune.depth), 0)
      pen.fillStyle = glint
      pen.fill(dune.path)
      pen.restore()
    }
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
