import { Path2D } from '@napi-rs/canvas'
import { jaggedRidge, type Ridge, rollingRidge } from '../chance.ts'
import { fillGround, type Ground, layGround } from '../ground.ts'
import { css, mix } from '../palette.ts'
import { type Moment, type Pen, parallax, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const mountains: Landscape = (stage) => {
  const { size, unit, chance } = stage
  const ranges = [0.03, 0.3, 0.58].map((depth) => {
    const ground = layGround(stage, {
      depth,
      base: size.height * (0.5 + 0.34 * depth),
      rise: unit * (0.3 - 0.22 * depth),
      ridge: jaggedRidge(chance),
      wavelength: unit * (0.85 + 0.3 * depth),
    })
    return { ground, snow: laySnow(stage, ground, jaggedRidge(chance)) }
  })
  const feet = [0.8, 1].map((depth) =>
    layGround(stage, {
      depth,
      base: size.height * (0.58 + 0.3 * depth),
      rise: unit * 0.04,
      ridge: rollingRidge(chance),
      wavelength: unit * 1.3,
    }),
  )
  return (pen, moment) => {
    for (const { ground, snow } of ranges) {
      fillGround(pen, moment, stage, ground)
      drawSnow(pen, moment, stage, { ground, snow })
    }
    for (const foot of feet) fillGround(pen, moment, stage, foot)
  }
}

/** Snow lies between the ridge and a ragged line below it, where the ridge is high enough. */
function laySnow(stage: Stage, ground: Ground, rag: Ridge): Path2D {
  const { size, unit, margin, scene } = stage
  const lie = (scene.weather === 'snow' ? 0.24 : 0.14) * (1 - ground.depth)
  const line = (x: number) => ground.crest + unit * (lie + 0.06 * rag((x / unit) * 3.2) * (1 - ground.depth))
  const step = Math.max(2, unit / 200)
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
  pen.save()
  pen.translate(parallax(moment, ground.depth), 0)
  pen.fillStyle = shade
  pen.fill(snow)
  pen.restore()
}
