import { between, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, layGround } from '../ground.ts'
import { drawBlades, layBlades, plant } from '../growth.ts'
import { css, mix } from '../palette.ts'
import { enter, parallax } from '../stage.ts'
import { drawGlints, fillWater, layGlints } from '../water.ts'
import type { Landscape } from './landscape.ts'

/** Still water between two banks: the far one stands in it upside down. */
export const lake: Landscape = (stage) => {
  const { size, unit, chance, scene } = stage
  const line = size.height * 0.6
  const reach = { top: line, bottom: size.height * 0.9 }
  const far = [0.05, 0.22].map((depth) =>
    layGround(stage, {
      ...{ depth, base: line - unit * (0.12 - 0.36 * depth), rise: unit * (0.1 - 0.25 * depth) },
      ...{ ridge: rollingRidge(chance), wavelength: unit * (0.8 + depth) },
    }),
  )
  const bank = plant(
    stage,
    layGround(stage, {
      ...{ depth: 0.34, base: line, rise: unit * 0.008 },
      ...{ ridge: rollingRidge(chance), wavelength: unit * 1.2 },
    }),
    { height: unit * 0.1, gap: 0.5, kind: chance() < 0.5 ? 'pine' : 'leaf' },
  )
  const shore = layGround(stage, {
    ...{ depth: 0.86, base: size.height * 0.81, rise: unit * 0.02 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.6 },
  })
  const lawn = { blades: layBlades(stage, shore, { from: 0, size: 1.1, density: 200 }), depth: 0.86 }
  const reeds = { blades: layBlades(stage, shore, { from: size.height * 0.12, size: 2.6, density: 60 }), depth: 1 }
  const glints = layGlints(stage, reach)
  const ripples = Array.from({ length: 46 }, () => ({
    x: chance(),
    y: between(chance, 0.05, 1) ** 1.4,
    width: between(chance, 0.05, 0.22),
    phase: chance() * 7,
  }))
  return {
    back(pen, moment) {
      for (const layer of [...far, bank]) fillGround(pen, moment, stage, layer)
      fillWater(pen, stage, moment, reach)
      for (const layer of [...far, bank]) {
        enter(pen, stage, moment, layer.depth, () => {
          pen.beginPath()
          pen.rect(-size.width * 2, line, size.width * 5, size.height)
          pen.clip()
          pen.translate(0, line * 2 + Math.sin(moment.seconds * 1.1) * unit * 0.002)
          pen.scale(1, -1)
          pen.fillStyle = css(mix(layer.colour, scene.palette.sky[1], 0.25), 0.42)
          pen.fill(layer.path)
          if (layer.growth) pen.fill(layer.growth)
        })
      }
      enter(pen, stage, moment, 0.5, () => {
        pen.strokeStyle = css(mix(scene.palette.sky[2], scene.palette.light, 0.5), 0.3)
        pen.lineWidth = Math.max(1, unit * 0.0022)
        pen.beginPath()
        for (const { x, y, width, phase } of ripples) {
          const at = x * size.width * 1.4 - size.width * 0.2 - parallax(moment, 0.5) * (1 - y)
          const breadth = unit * width * (0.4 + y) * (0.8 + 0.2 * Math.sin(moment.seconds * 1.3 + phase))
          pen.moveTo(at - breadth / 2, line + (reach.bottom - line) * y)
          pen.lineTo(at + breadth / 2, line + (reach.bottom - line) * y)
        }
        pen.stroke()
      })
      drawGlints(pen, stage, moment, glints)
      fillGround(pen, moment, stage, shore)
      edgeGround(pen, moment, stage, shore, 0.22)
      drawBlades(pen, moment, stage, lawn)
    },
    front: (pen, moment) => drawBlades(pen, moment, stage, reeds),
    floor: { depth: 0.86, at: (x) => shore.top(x) + unit * 0.05 },
    water: { depth: 0.56, at: (_x, seconds) => size.height * 0.715 + unit * 0.004 * Math.sin(seconds * 1.2) },
    medium: 'air',
  }
}
