import { Path2D } from '@napi-rs/canvas'
import { between } from '../chance.ts'
import { css, mix } from '../palette.ts'
import { enter, type Moment, marginOf, type Pen, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

/** Above the clouds: banks of them lie below, and the nearest pass in front. */
export const sky: Landscape = (stage) => {
  const { size, unit, scene } = stage
  const banks = [0.05, 0.22, 0.45, 0.7].map((depth) => layBank(stage, depth, size.height * (0.62 + 0.3 * depth)))
  const nearest = layBank(stage, 1.1, size.height * 1.03)
  const light = mix(scene.palette.sky[2], scene.palette.light, scene.hour === 'night' ? 0.2 : 0.62)
  const draw = (pen: Pen, moment: Moment, bank: Bank) => {
    const body = mix(
      light,
      mix(scene.palette.sky[1], scene.palette.near, 0.3),
      0.12 + 0.5 * bank.depth * (scene.hour === 'day' ? 0.5 : 1),
    )
    const shade = pen.createLinearGradient(0, bank.crest, 0, bank.crest + unit * (0.2 + 0.2 * bank.depth))
    shade.addColorStop(0, css(mix(body, light, 0.7)))
    shade.addColorStop(1, css(mix(body, scene.palette.sky[1], 0.45)))
    enter(pen, stage, moment, bank.depth, () => {
      pen.translate(
        -moment.seconds * unit * 0.012 * (0.3 + bank.depth),
        Math.sin(moment.seconds * 0.4 + bank.depth * 5) * unit * 0.004,
      )
      pen.fillStyle = shade
      pen.fill(bank.path)
    })
  }
  return {
    back(pen, moment) {
      for (const bank of banks) draw(pen, moment, bank)
    },
    front: (pen, moment) => draw(pen, moment, nearest),
    floor: { depth: 0.7, at: () => size.height * 0.8 },
    medium: 'air',
  }
}

interface Bank {
  depth: number
  crest: number
  path: Path2D
}

function layBank(stage: Stage, depth: number, base: number): Bank {
  const { size, unit, chance } = stage
  const margin = marginOf(stage, Math.min(1, depth)) + unit * 0.5
  const path = new Path2D()
  path.rect(-margin, base, size.width + margin * 2, size.height)
  let crest = base
  for (let x = -margin; x < size.width + margin; ) {
    const radius = unit * between(chance, 0.05, 0.13) * (0.5 + 0.9 * depth)
    const y = base + radius * between(chance, -0.25, 0.5)
    path.moveTo(x + radius, y)
    path.ellipse(x, y, radius, radius * 0.8, 0, 0, Math.PI * 2)
    crest = Math.min(crest, y - radius * 0.8)
    x += radius * between(chance, 0.75, 1.25)
  }
  return { depth, crest, path }
}
