import { limb, type Point } from './shapes.ts'
import type { Pen } from './stage.ts'
import { type Gait, type Paint, type Pose, wave } from './subjects/subject.ts'

/** The legs of an animal, in its own heights. */
export interface Legs {
  hind: Point
  fore: Point
  /** Of hip, knee and foot. */
  widths: readonly [number, number, number]
  stride: number
  /** Distance between the near and the far pair. */
  apart?: number
  /** The colour of all of it, and of the lower leg, if they differ from the body's. */
  colour?: string
  sock?: string
  hoof?: string
}

/** When in a step each leg lands: hind near, hind far, fore near, fore far. */
const timing: Partial<Record<Gait, readonly [number, number, number, number]>> = {
  walk: [0, 0.5, 0.25, 0.75],
  run: [0, 0.12, 0.55, 0.68],
  jump: [0, 0.05, 0.5, 0.55],
  dance: [0, 0.5, 0.5, 0],
}

/** Two legs on the far side, then whatever is drawn between, then the near two. */
export function onLegs(pen: Pen, paint: Paint, pose: Pose, legs: Legs, body: () => void): void {
  const apart = legs.apart ?? 0.06
  const beats = timing[pose.gait] ?? timing.walk ?? [0, 0, 0, 0]
  const [near, far] = [legs.colour ?? paint.main, legs.colour ?? paint.dark]
  drawLeg(pen, far, pose, { ...legs, hip: shifted(legs.hind, apart), beat: beats[1], bend: -1 })
  drawLeg(pen, far, pose, { ...legs, hip: shifted(legs.fore, apart), beat: beats[3], bend: 0.55 })
  pen.save()
  pen.translate(0, bounce(pose))
  body()
  pen.restore()
  drawLeg(pen, near, pose, { ...legs, hip: legs.hind, beat: beats[0], bend: -1 })
  drawLeg(pen, near, pose, { ...legs, hip: legs.fore, beat: beats[2], bend: 0.55 })
}

/** How far the body is lifted now. */
function bounce(pose: Pose): number {
  if (pose.gait === 'run' || pose.gait === 'jump') return -0.035 - 0.04 * wave(pose, 1, 0.1)
  if (pose.gait === 'idle') return 0.006 * Math.sin(pose.seconds * 2.2 + pose.phase * 6)
  if (pose.gait === 'dance') return -0.05 * Math.abs(wave(pose, 1))
  return -0.012 * wave(pose, 2)
}

function shifted([x, y]: Point, by: number): Point {
  return [x + by, y + 0.01]
}

interface Leg extends Legs {
  hip: Point
  beat: number
  /** -1: the joint bends backwards, as hocks do. */
  bend: number
}

function drawLeg(pen: Pen, colour: string, pose: Pose, leg: Leg): void {
  const hip: Point = [leg.hip[0], leg.hip[1] + bounce(pose)]
  const foot = footOf(pose, leg)
  const knee = kneeOf(hip, foot, -leg.hip[1] * 1.04, leg.bend)
  limb(pen, colour, [hip, knee, foot], leg.widths)
  const [, mid, end] = leg.widths
  if (leg.sock) limb(pen, leg.sock, [mixed(knee, foot, 0.25), foot], [mid * 0.9, end])
  // Paws point forward.
  limb(
    pen,
    leg.hoof ?? leg.sock ?? colour,
    [foot, [foot[0] + end * 0.55, foot[1] + end * 0.05]],
    [end * 0.95, end * 0.8],
  )
}

/** Half of a step the foot is on the ground and goes back, half it swings forward in the air. */
function footOf(pose: Pose, leg: Leg): Point {
  const floor = -(leg.widths[2] / 2)
  const still: Point = [leg.hip[0] + (leg.bend < 0 ? -0.03 : 0.01), floor]
  const reach =
    { run: 1.55, jump: 1.5, walk: 0.8, dance: 0.35, float: 0.5, swim: 0.8, fly: 0.8 }[pose.gait as string] ?? 0
  if (reach === 0) return still
  const at = pose.turns + pose.phase + leg.beat
  const part = at - Math.floor(at)
  const stance = pose.gait === 'run' || pose.gait === 'jump' ? 0.38 : 0.58
  const lift = pose.gait === 'run' || pose.gait === 'jump' ? 0.3 : 0.14
  const along = part < stance ? 0.5 - part / stance : -0.5 + eased((part - stance) / (1 - stance))
  const up = part < stance ? 0 : Math.sin(((part - stance) / (1 - stance)) * Math.PI) * lift * -leg.hip[1]
  const hangs = pose.gait === 'float' || pose.gait === 'swim' || pose.gait === 'fly' ? 0.12 : 0
  return [still[0] + along * leg.stride * reach, floor - up - hangs]
}

function eased(share: number): number {
  return share * share * (3 - 2 * share)
}

function mixed(from: Point, to: Point, share: number): Point {
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share]
}

/** The joint of two bones of equal length between two points. */
export function kneeOf(from: Point, to: Point, length: number, bend: number): Point {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]]
  const distance = Math.hypot(dx, dy) || 1
  const out = Math.sqrt(Math.max(0, (length / 2) ** 2 - (distance / 2) ** 2)) * bend
  return [(from[0] + to[0]) / 2 + (dy / distance) * out, (from[1] + to[1]) / 2 - (dx / distance) * out]
}
