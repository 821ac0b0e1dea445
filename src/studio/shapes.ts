import type { Path2D } from '@napi-rs/canvas'
import type { Pen } from './stage.ts'

export type Point = readonly [x: number, y: number]
type Line = Pen | Path2D

/** A smooth closed line through the points (Catmull-Rom, as Béziers). */
function trace(line: Line, points: readonly Point[]): void {
  const count = points.length
  const at = (index: number): Point => points[(index + count) % count] ?? [0, 0]
  line.moveTo(...at(0))
  for (let index = 0; index < count; index++) bend(line, [at(index - 1), at(index), at(index + 1), at(index + 2)])
  line.closePath()
}

/** A smooth open line through the points, from the first to the last. */
function traceOpen(line: Line, points: readonly Point[]): void {
  const last = points.length - 1
  const at = (index: number): Point => points[Math.max(0, Math.min(last, index))] ?? [0, 0]
  line.moveTo(...at(0))
  for (let index = 0; index < last; index++) bend(line, [at(index - 1), at(index), at(index + 1), at(index + 2)])
}

function bend(line: Line, [before, from, to, after]: [Point, Point, Point, Point]): void {
  line.bezierCurveTo(
    from[0] + (to[0] - before[0]) / 6,
    from[1] + (to[1] - before[1]) / 6,
    to[0] - (after[0] - from[0]) / 6,
    to[1] - (after[1] - from[1]) / 6,
    to[0],
    to[1],
  )
}

/** Fills a smooth shape. */
export function blob(pen: Pen, colour: string, points: readonly Point[]): void {
  pen.fillStyle = colour
  pen.beginPath()
  trace(pen, points)
  pen.fill()
}

/** Fills a shape with straight sides. */
export function shape(pen: Pen, colour: string, points: readonly Point[]): void {
  pen.fillStyle = colour
  pen.beginPath()
  for (const [index, point] of points.entries()) index === 0 ? pen.moveTo(...point) : pen.lineTo(...point)
  pen.closePath()
  pen.fill()
}

export function oval(pen: Pen, colour: string, at: Point, radii: Point, turn = 0): void {
  pen.fillStyle = colour
  pen.beginPath()
  pen.ellipse(at[0], at[1], Math.abs(radii[0]), Math.abs(radii[1]), turn, 0, Math.PI * 2)
  pen.fill()
}

export function box(pen: Pen, colour: string, [x, y, width, height]: readonly number[], corner = 0): void {
  pen.fillStyle = colour
  pen.beginPath()
  pen.roundRect(x ?? 0, y ?? 0, width ?? 0, height ?? 0, corner)
  pen.fill()
}

/** A smooth stroke with round ends. */
export function stroke(pen: Pen, colour: string, width: number, points: readonly Point[]): void {
  pen.strokeStyle = colour
  pen.lineWidth = width
  pen.lineCap = 'round'
  pen.lineJoin = 'round'
  pen.beginPath()
  traceOpen(pen, points)
  pen.stroke()
}

/** A limb: round at every joint and tapered between them, whatever its bend. One fill, so that it may be translucent. */
export function limb(pen: Pen, colour: string, joints: readonly Point[], widths: readonly number[]): void {
  pen.fillStyle = colour
  for (let index = 0; index < joints.length - 1; index++) {
    const [from, to] = [joints[index] ?? [0, 0], joints[index + 1] ?? [0, 0]]
    const [wide, narrow] = [(widths[index] ?? 0) / 2, (widths[index + 1] ?? 0) / 2]
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0])
    pen.beginPath()
    pen.arc(from[0], from[1], wide, angle + Math.PI / 2, angle - Math.PI / 2)
    pen.arc(to[0], to[1], narrow, angle - Math.PI / 2, angle + Math.PI / 2)
    pen.closePath()
    pen.fill()
  }
}

/** A tapered stroke along a smooth line: tails, necks, trunks, horns. */
export function taper(pen: Pen, colour: string, points: readonly Point[], widths: readonly [number, number]): void {
  const left: Point[] = []
  const right: Point[] = []
  for (const [index, [x, y]] of points.entries()) {
    const before = points[Math.max(0, index - 1)] ?? [x, y]
    const after = points[Math.min(points.length - 1, index + 1)] ?? [x, y]
    const length = Math.hypot(after[0] - before[0], after[1] - before[1]) || 1
    const half = (widths[0] + ((widths[1] - widths[0]) * index) / (points.length - 1)) / 2
    const [nx, ny] = [(-(after[1] - before[1]) / length) * half, ((after[0] - before[0]) / length) * half]
    left.push([x + nx, y + ny])
    right.unshift([x - nx, y - ny])
  }
  pen.fillStyle = colour
  pen.beginPath()
  traceOpen(pen, left)
  const [first, ...rest] = right
  if (first) pen.lineTo(...first)
  let previous = first ?? [0, 0]
  for (const point of rest) {
    pen.quadraticCurveTo(previous[0], previous[1], (previous[0] + point[0]) / 2, (previous[1] + point[1]) / 2)
    previous = point
  }
  pen.lineTo(...previous)
  pen.closePath()
  pen.fill()
  const end = points.at(-1)
  if (end) oval(pen, colour, end, [widths[1] / 2, widths[1] / 2])
}

/** Draws in a frame of its own: moved, turned, and scaled. */
export function within(pen: Pen, frame: { at: Point; turn?: number; scale?: Point }, draw: () => void): void {
  pen.save()
  pen.translate(...frame.at)
  if (frame.turn) pen.rotate(frame.turn)
  if (frame.scale) pen.scale(...frame.scale)
  draw()
  pen.restore()
}
