import { between, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, layGround } from '../ground.ts'
import { drawBlades, layBlades, plant } from '../growth.ts'
import { css, type Rgb, rgb } from '../palette.ts'
import { enter, marginOf, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const hills: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const swell = between(chance, 0.8, 1.25)
  const back = [0, 0.22, 0.45, 0.66].map((depth, index) => {
    const ground = layGround(stage, {
      depth,
      base: size.height * (0.585 + 0.22 * depth),
      rise: unit * (0.075 - 0.03 * depth) * swell,
      ridge: rollingRidge(chance),
      wavelength: unit * (0.9 + 0.9 * depth),
    })
    return index === 2 ? plant(stage, ground, { height: unit * 0.07, gap: 1.6, kind: 'leaf' }) : ground
  })
  const meadow = layGround(stage, {
    ...{ depth: 0.86, base: size.height * 0.79, rise: unit * 0.022 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.5 },
  })
  const lawn = { blades: layBlades(stage, meadow, { from: 0, size: 1, density: 200 }), depth: 0.86 }
  const tufts = { blades: layBlades(stage, meadow, { from: size.height * 0.13, size: 2.1, density: 90 }), depth: 1 }
  const flowers = layFlowers(stage, meadow.top)
  const glow = scene.hour === 'night' ? 0.1 : 0.28
  return {
    back(pen, moment) {
      for (const layer of back) fillGround(pen, moment, stage, layer)
      fillGround(pen, moment, stage, meadow)
      edgeGround(pen, moment, stage, meadow, glow)
      drawBlades(pen, moment, stage, lawn)
      enter(pen, stage, moment, 0.86, () => {
        for (const flower of flowers) {
          pen.fillStyle = flower.colour
          pen.fillRect(
            flower.x + Math.sin(moment.seconds * 1.4 + flower.x) * flower.size * 0.3,
            flower.y,
            flower.size,
            flower.size,
          )
        }
      })
    },
    front: (pen, moment) => drawBlades(pen, moment, stage, tufts),
    floor: { depth: 0.86, at: (x) => meadow.top(x) + unit * 0.05 },
    medium: 'air',
  }
}

const blooms: readonly Rgb[] = [rgb('#f4d35e'), rgb('#f28ba8'), rgb('#f7f4ef'), rgb('#b48ae0')]

function layFlowers(
  stage: Stage,
  top: (x: number) => number,
): { x: number; y: number; size: number; colour: string }[] {
  const { size, unit, chance, scene } = stage
  if (scene.snow || scene.season === 'winter' || scene.season === 'autumn') return []
  const margin = marginOf(stage, 0.86)
  const count = scene.season === 'spring' ? 160 : 70
  return Array.from({ length: count }, () => {
    const x = between(chance, -margin, size.width + margin)
    const near = chance()
    return {
      x,
      y: top(x) + near * unit * 0.24,
      size: unit * (0.003 + 0.004 * near),
      colour: css(
        blooms[Math.floor(chance() * blooms.length)] ?? [255, 255, 255],
        scene.hour === 'night' ? 0.35 : 0.85,
      ),
    }
  })
}
