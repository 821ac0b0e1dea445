import { between, rollingRidge } from '../chance.ts'
import { fillGround, layGround } from '../ground.ts'
import { drawGlints, drawSwell, fillWater, layGlints, type Swell, swellTop } from '../water.ts'
import type { Landscape } from './landscape.ts'

export const sea: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const horizon = between(chance, 0.54, 0.6)
  const rough = scene.weather === 'storm' ? 2.6 : scene.weather === 'wind' ? 1.7 : between(chance, 0.8, 1.3)
  const coast = layGround(stage, {
    ...{ depth: 0.06, base: size.height * horizon + unit * 0.012, rise: unit * 0.045 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.1 },
  })
  const reach = { top: size.height * horizon, bottom: size.height }
  const glints = layGlints(stage, reach)
  const make = (depth: number): Swell => ({
    ...{ depth, base: size.height * (horizon + 0.03 + (0.9 - horizon) * depth) },
    ...{ phase: chance() * 7, pitch: between(chance, 0.8, 1.2), height: rough },
  })
  const far = [0.12, 0.26, 0.42].map(make)
  const carrier = make(0.56)
  const near = [0.74, 1].map(make)
  const level = { depth: 0.56, at: (x: number, seconds: number) => swellTop(stage, carrier, x, seconds) + unit * 0.012 }
  return {
    back(pen, moment) {
      fillGround(pen, moment, stage, coast)
      fillWater(pen, stage, moment, reach)
      for (const swell of [...far, carrier]) drawSwell(pen, stage, moment, swell)
      drawGlints(pen, stage, moment, glints)
    },
    front(pen, moment) {
      for (const swell of near) drawSwell(pen, stage, moment, swell)
    },
    floor: level,
    water: level,
    medium: 'air',
  }
}
