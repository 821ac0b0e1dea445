import { Path2D } from '@napi-rs/canvas'
import { between, type Chance, rollingRidge } from '../chance.ts'
import { fillGround, type Ground, layGround } from '../ground.ts'
import type { Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const forest: Landscape = (stage) => {
  const { size, unit, chance } = stage
  const layers = [0, 0.22, 0.45, 0.7, 1].map((depth) => {
    const ground = layGround(stage, {
      depth,
      base: size.height * (0.58 + 0.34 * depth),
      rise: unit * 0.045,
      ridge: rollingRidge(chance),
      wavelength: unit * (0.9 + 0.8 * depth),
    })
    return plant(stage, ground)
  })
  return (pen, moment) => {
    for (const layer of layers) fillGround(pen, moment, stage, layer)
  }
}

/** Trees grow out of the ridge in its own shade, so that mist lies in them as it does on the ground. */
function plant(stage: Stage, ground: Ground): Ground {
  const { size, unit, margin, chance } = stage
  const tall = unit * (0.07 + 0.24 * ground.depth ** 1.4)
  const growth = new Path2D()
  let crest = ground.crest
  for (let x = -margin; x < size.width + margin; x += tall * between(chance, 0.22, 0.46)) {
    const height = tall * between(chance, 0.55, 1.1)
    const foot = ground.top(x) + tall * 0.08
    growPine(growth, { x, foot, height }, chance)
    crest = Math.min(crest, foot - height)
  }
  return { ...ground, growth, crest: Math.max(0, crest) }
}

function growPine(path: Path2D, tree: { x: number; foot: number; height: number }, chance: Chance): void {
  const { x, foot, height } = tree
  const tiers = 5
  const half = height * between(chance, 0.15, 0.2)
  path.moveTo(x, foot - height)
  const outline: [number, number][] = []
  for (let tier = 1; tier <= tiers; tier++) {
    const reach = half * (tier / tiers) ** 0.85 * between(chance, 0.88, 1.08)
    const y = foot - height * (1 - (tier / tiers) * 0.9)
    outline.push([reach, y], [reach * 0.55, y - height * 0.025])
  }
  for (const [reach, y] of outline) path.lineTo(x + reach, y)
  path.lineTo(x + half * 0.12, foot - height * 0.1)
  path.lineTo(x + half * 0.12, foot)
  path.lineTo(x - half * 0.12, foot)
  path.lineTo(x - half * 0.12, foot - height * 0.1)
  for (const [reach, y] of outline.reverse()) path.lineTo(x - reach, y)
  path.closePath()
}
