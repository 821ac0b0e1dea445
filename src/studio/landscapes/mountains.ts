import { Path2D } from '@napi-rs/canvas'
import { between, jaggedRidge, type Ridge, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, type Ground, layGround } from '../ground.ts'
import { drawBlades, layBlades, plant } from '../growth.ts'
import { css, mix } from '../palette.ts'
import { enter, type Moment, marginOf, type Pen, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const mountains: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const tall = between(chance, 0.85, 1.2)
  const ranges = [0.03, 0.26, 0.48].map((depth) => {
    const ground = layGround(stage, {
      ...{ depth, base: size.height * (0.5 + 0.32 * depth), rise: unit * (0.3 - 0.26 * depth) * tall },
      ...{ ridge: jaggedRidge(chance), wavelength: unit * (0.85 + 0.3 * depth) },
    })
    return { ground, snow: laySnow(stage, ground, jaggedRidge(chance)) }
  })
  const rolling = (depth: number, base: number) =>
    layGround(stage, {
      ...{ depth, base: size.height * base, rise: unit * 0.028 },
      ...{ ridge: rollingRidge(chance), wavelength: unit * 1.3 },
    })
  const wood = plant(stage, rolling(0.66, 0.74), { height: unit * 0.1, gap: 0.42, kind: 'pine' })
  const foot = rolling(0.86, 0.8)
  const lawn = { blades: layBlades(stage, foot, { from: 0, size: 0.9, density: 110 }), depth: 0.86 }
  return {
    back(pen, moment) {
      for (const range of ranges) {
        fillGround(pen, moment, stage, range.ground)
        drawSnow(pen, moment, stage, range)
      }
      fillGround(pen, moment, stage, wood)
      fillGround(pen, moment, stage, foot)
      edgeGround(pen, moment, stage, foot, scene.hour === 'night' ? 0.1 : 0.25)
      drawBlades(pen, moment, stage, lawn)
    },
    floor: { depth: 0.86, at: (x) => foot.top(x) + unit * 0.05 },
    medium: 'air',
  }
}

/** Snow lies between the ridge and a ragged line below it, where the ridge is high enough. */
function laySnow(stage: Stage, ground: Ground, rag: Ridge): Path2D {
  const { size, unit, scene } = stage
  const margin = marginOf(stage, ground.depth)
  const lie = (scene.weather === 'snow' ? 0.24 : 0.14) * (1 - ground.depth)
  const line = (x: number) => ground.crest + unit * (lie + 0.06 * rag((x / unit) * 3.2) * (1 - ground.depth))
  const step = Math.max(2, unit / 160)
  const path = new Path2D()
  path.moveTo(-margin, ground.top(-margin))
  for (let x = -margin; x <= size.width + margin; x += step) path.lineTo(x, ground.top(x))
  for (let x = size.width + margin; x >= -margin; x -= step) path.lineTo(x, Math.max(ground.top(x), line(x)))
  path.closePath()
  return path
}

function drawSnow(pen: Pen, moment: Moment, stage: Stage, range: { ground: Ground; snow: Path2D }): void {
  const { light, far } = stage.scene.palette
  const { ground, snow } = range
  const white = mix(mix(far, light, 0.72), ground.colour, 0.3 * ground.depth)
  const shade = pen.createLinearGradient(0, ground.crest, 0, ground.crest + stage.unit * 0.3)
  shade.addColorStop(0, css(white, 0.95))
  shade.addColorStop(1, css(mix(white, ground.colour, 0.55), 0.75))
  enter(pen, stage, moment, ground.depth, () => {
    pen.fillStyle = shade
    pen.fill(snow)
  })
}
