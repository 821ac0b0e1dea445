import { css } from './palette.ts'
import { type Drawing, type Moment, parallax, type Stage, wrap } from './stage.ts'

/** Something small in the air. */
export interface Speck {
  x: number
  y: number
  /** 0 far, 1 near: nearer is larger, faster and stronger. */
  depth: number
  phase: number
}

export function specks(stage: Stage, count: number): Speck[] {
  const { chance } = stage
  return Array.from({ length: count }, () => ({ x: chance(), y: chance(), depth: chance(), phase: chance() * 7 }))
}

/** Where a speck is, when it drifts by shares of the frame per second and comes back at the other side. */
export function drift(stage: Stage, moment: Moment, speck: Speck, by: { x: number; y: number }): [number, number] {
  const { width, height } = stage.size
  // In a frame that is very long or very high a share of a side is no measure of speed.
  const even = { x: Math.min(1.6, stage.unit / width), y: Math.min(1.6, stage.unit / height) }
  const pan = parallax(moment, 0.2 + 0.8 * speck.depth) / width
  return [
    (wrap(speck.x + by.x * even.x * moment.seconds + pan) * 1.1 - 0.05) * width,
    (wrap(speck.y + by.y * even.y * moment.seconds) * 1.1 - 0.05) * height,
  ]
}

/** Streaks that a strong wind draws. */
export function layWisps(stage: Stage, count: number): Drawing {
  const { unit, scene } = stage
  const wisps = specks(stage, count)
  return (pen, moment) => {
    pen.strokeStyle = css(scene.palette.light, 0.22)
    pen.lineWidth = Math.max(1, unit * 0.0025)
    pen.lineCap = 'round'
    pen.beginPath()
    for (const wisp of wisps) {
      const [x, y] = drift(stage, moment, wisp, { x: 0.5 + 0.4 * wisp.depth, y: 0 })
      const length = unit * (0.12 + 0.16 * wisp.depth)
      const bend = Math.sin(moment.seconds * 1.3 + wisp.phase) * unit * 0.014
      pen.moveTo(x - length, y)
      pen.bezierCurveTo(x - length * 0.6, y - bend, x - length * 0.3, y + bend, x, y)
    }
    pen.stroke()
  }
}
