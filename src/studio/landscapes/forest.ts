import { Path2D } from '@napi-rs/canvas'
import { between, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, layGround } from '../ground.ts'
import { drawBlades, layBlades, plant } from '../growth.ts'
import { css, mix } from '../palette.ts'
import { enter, marginOf, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const forest: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const leafy = scene.season === 'autumn' || scene.season === 'spring' || chance() < 0.3
  const layers = [0, 0.22, 0.45, 0.66].map((depth) => {
    const ground = layGround(stage, {
      ...{ depth, base: size.height * (0.57 + 0.28 * depth), rise: unit * 0.04 },
      ...{ ridge: rollingRidge(chance), wavelength: unit * (0.9 + 0.8 * depth) },
    })
    const height = unit * (0.09 + 0.34 * depth ** 1.3)
    return plant(stage, ground, { height, gap: 0.38, kind: leafy && depth > 0.3 ? 'leaf' : 'pine' })
  })
  const clearing = layGround(stage, {
    ...{ depth: 0.86, base: size.height * 0.8, rise: unit * 0.02 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.4 },
  })
  const lawn = { blades: layBlades(stage, clearing, { from: 0, size: 1, density: 120 }), depth: 0.86 }
  const { trunks, branches } = layTrunks(stage)
  const bark = css(mix(scene.palette.near, [0, 0, 0], 0.45))
  return {
    back(pen, moment) {
      for (const layer of layers) fillGround(pen, moment, stage, layer)
      fillGround(pen, moment, stage, clearing)
      edgeGround(pen, moment, stage, clearing, scene.hour === 'night' ? 0.08 : 0.2)
      drawBlades(pen, moment, stage, lawn)
    },
    front(pen, moment) {
      enter(pen, stage, moment, 1.05, () => {
        pen.fillStyle = bark
        // Apart: in one fill a branch that is drawn the other way round would be a hole in its trunk.
        pen.fill(trunks)
        pen.fill(branches)
      })
    },
    floor: { depth: 0.86, at: (x) => clearing.top(x) + unit * 0.05 },
    medium: 'air',
  }
}

/** Dark trunks at both edges frame the view; more of them stand further along the way. */
function layTrunks(stage: Stage): { trunks: Path2D; branches: Path2D } {
  const { size, unit, chance } = stage
  const margin = marginOf(stage, 1.05)
  const [trunks, branches] = [new Path2D(), new Path2D()]
  const grow = (x: number, width: number) => {
    const lean = between(chance, -0.2, 0.2) * width
    trunks.moveTo(x - width * 1.6, size.height * 1.3)
    trunks.quadraticCurveTo(x - width * 0.6, size.height * 0.85, x - width * 0.42 + lean, -size.height * 0.2)
    trunks.lineTo(x + width * 0.42 + lean, -size.height * 0.2)
    trunks.quadraticCurveTo(x + width * 0.6, size.height * 0.85, x + width * 1.6, size.height * 1.3)
    trunks.closePath()
    const y = size.height * between(chance, 0.1, 0.3)
    const side = chance() < 0.5 ? -1 : 1
    branches.moveTo(x, y + width * 0.5)
    branches.quadraticCurveTo(x + side * width * 1.6, y, x + side * width * 3.4, y - width * 1.4)
    branches.quadraticCurveTo(x + side * width * 1.4, y - width * 0.5, x, y - width * 0.2)
    branches.closePath()
  }
  grow(-size.width * 0.01, unit * 0.055)
  grow(size.width * between(chance, 0.97, 1.02), unit * 0.075)
  const gap = Math.max(unit * 1.5, size.width * 0.9)
  for (let x = size.width + gap; x < size.width + margin; x += gap) grow(x, unit * 0.06)
  for (let x = -gap; x > -margin; x -= gap) grow(x, unit * 0.06)
  return { trunks, branches }
}
