import { between, rollingRidge } from '../chance.ts'
import { fillGround, type Ground, layGround } from '../ground.ts'
import { css, mix } from '../palette.ts'
import { type Moment, type Pen, parallax, type Stage } from '../stage.ts'
import type { Landscape } from './landscape.ts'

export const hills: Landscape = (stage) => {
  const { size, unit, chance } = stage
  const layers = [0, 0.25, 0.5, 0.75, 1].map((depth) =>
    layGround(stage, {
      depth,
      base: size.height * (0.6 + 0.27 * depth),
      rise: unit * (0.075 - 0.02 * depth),
      ridge: rollingRidge(chance),
      wavelength: unit * (0.9 + 0.9 * depth),
    }),
  )
  const meadow = layers.at(-1)
  const blades = meadow ? layBlades(stage, meadow) : []
  return (pen, moment) => {
    for (const layer of layers) fillGround(pen, moment, stage, layer)
    drawBlades(pen, moment, stage, blades)
  }
}

interface Blade {
  x: number
  y: number
  height: number
  lean: number
  tone: 0 | 1 | 2
}

function layBlades(stage: Stage, meadow: Ground): Blade[] {
  const { size, unit, margin, chance } = stage
  const count = Math.min(900, Math.round(((size.width + 2 * margin) / unit) * 260))
  return Array.from({ length: count }, () => {
    const x = between(chance, -margin, size.width + margin)
    const top = meadow.top(x)
    const near = chance() ** 2
    return {
      x,
      y: top + near * (size.height * 1.02 - top) + unit * 0.004,
      height: unit * between(chance, 0.012, 0.024) * (1 + 1.4 * near),
      lean: between(chance, -0.4, 0.4),
      tone: chance() < 0.4 ? 0 : chance() < 0.7 ? 1 : 2,
    }
  })
}

/** One path for each tone: three fills, however many blades there are. */
function drawBlades(pen: Pen, moment: Moment, stage: Stage, blades: Blade[]): void {
  const { near, light, far } = stage.scene.palette
  const tones = [mix(near, [0, 0, 0], 0.25), mix(near, far, 0.25), mix(near, light, 0.28)]
  pen.save()
  pen.translate(parallax(moment, 1), 0)
  for (const [tone, colour] of tones.entries()) {
    pen.fillStyle = css(colour, 0.9)
    pen.beginPath()
    for (const blade of blades) {
      if (blade.tone !== tone) continue
      const wind = Math.sin(moment.seconds * 1.6 + (blade.x / stage.unit) * 5) * 0.28
      const tip = blade.x + blade.height * (blade.lean + wind)
      const width = blade.height * 0.09
      pen.moveTo(blade.x - width, blade.y)
      pen.quadraticCurveTo(blade.x, blade.y - blade.height * 0.6, tip, blade.y - blade.height)
      pen.quadraticCurveTo(blade.x + width, blade.y - blade.height * 0.5, blade.x + width, blade.y)
    }
    pen.fill()
  }
  pen.restore()
}
