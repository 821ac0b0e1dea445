import { type Legs, onLegs } from './quadruped.ts'
import { blob, limb, oval, type Point, shape, taper, within } from './shapes.ts'
import type { Pen } from './stage.ts'
import { breath, type Paint, type Pose, wave } from './subjects/subject.ts'

/** What makes one four-legged animal differ from another. All in its own heights. */
export interface Build {
  legs: Legs
  torso: readonly Point[]
  /** A paler underside. */
  belly?: readonly Point[]
  neck: { from: Point; to: Point; widths: readonly [number, number] }
  head: Head
  tail: { points: readonly Point[]; widths: readonly [number, number]; tip?: boolean; bushy?: boolean }
  /** Under the head and over the body: manes, spots, humps. */
  coat?(pen: Pen, paint: Paint, pose: Pose): void
  /** In the frame of the head, in its sizes. */
  crown?(pen: Pen, paint: Paint, pose: Pose): void
}

interface Head {
  at: Point
  size: number
  tilt?: number
  snout: number
  snoutWidth: number
  drop: number
  ear: 'pointed' | 'round' | 'floppy' | 'long'
  earSize: number
  pale?: boolean
}

export function drawAnimal(pen: Pen, paint: Paint, pose: Pose, build: Build): void {
  onLegs(pen, paint, pose, build.legs, () => {
    drawTail(pen, paint, pose, build)
    blob(pen, paint.main, build.torso)
    if (build.belly) blob(pen, paint.pale, build.belly)
    build.coat?.(pen, paint, pose)
    const nod = headNod(pose)
    const { from, to, widths } = build.neck
    const end: Point = [to[0], to[1] + nod]
    limb(pen, paint.main, [from, end], widths)
    drawHead(pen, paint, pose, build, nod)
  })
}

function headNod(pose: Pose): number {
  if (pose.gait === 'run') return 0.025 * wave(pose, 1, 0.2)
  if (pose.gait === 'walk') return 0.014 * wave(pose, 2, 0.15)
  return 0.012 * breath(pose, 0.22)
}

/** The far it is from the body, the more a tail swings. */
function drawTail(pen: Pen, paint: Paint, pose: Pose, build: Build): void {
  const { points, widths, tip, bushy } = build.tail
  const swing = pose.gait === 'run' ? 0.05 * wave(pose, 1) : 0.06 * breath(pose, 0.55)
  const lift = pose.gait === 'run' ? -0.1 : 0
  const swung = points.map(([x, y], index): Point => {
    const share = index / (points.length - 1)
    return [x, y + (swing + lift) * share ** 1.5 + 0.02 * breath(pose, 0.8, -share * 0.3) * share]
  })
  if (!bushy) {
    taper(pen, paint.main, swung, widths)
    return
  }
  // Thick in the middle, as two tapers meet.
  const middle = Math.floor(swung.length * 0.6)
  taper(pen, paint.main, swung.slice(0, middle + 1), widths)
  taper(pen, tip ? paint.pale : paint.main, swung.slice(middle), [widths[1], widths[1] * 0.12])
}

function drawHead(pen: Pen, paint: Paint, pose: Pose, build: Build, nod: number): void {
  const { at, size, tilt = 0, snout, snoutWidth, drop } = build.head
  within(pen, { at: [at[0], at[1] + nod], turn: tilt + 0.05 * breath(pose, 0.17, 0.3), scale: [size, size] }, () => {
    drawEar(pen, paint.dark, pose, build.head, 0.55)
    oval(pen, paint.main, [0, 0], [1, 0.94])
    limb(
      pen,
      paint.main,
      [
        [0.25, 0.12],
        [0.55 + snout, 0.16 + drop],
      ],
      [1.5, snoutWidth],
    )
    if (build.head.pale) {
      limb(
        pen,
        paint.pale,
        [
          [0.2, 0.5],
          [0.5 + snout, 0.26 + drop],
        ],
        [0.75, snoutWidth * 0.6],
      )
    }
    oval(pen, paint.ink, [0.55 + snout + snoutWidth * 0.36, 0.06 + drop], [snoutWidth * 0.24, snoutWidth * 0.2])
    drawEar(pen, paint.main, pose, build.head, 0)
    oval(pen, paint.ink, [0.42, -0.12], [0.13, blink(pose) * 0.15])
    oval(pen, 'rgba(255,255,255,0.85)', [0.46, -0.16], [0.045, blink(pose) * 0.05])
    build.crown?.(pen, paint, pose)
  })
}

/** Eyes close for a moment every few seconds. */
export function blink(pose: Pose): number {
  const at = (pose.seconds + pose.phase * 4) % 3.4
  return at > 3.25 ? 0.15 : 1
}

function drawEar(pen: Pen, colour: string, pose: Pose, head: Head, shift: number): void {
  const { ear, earSize } = head
  const flick = 0.06 * Math.max(0, breath(pose, 0.4, shift)) ** 6
  const flap = pose.gait === 'run' ? -0.25 + 0.1 * wave(pose) : 0
  within(pen, { at: [-0.38 + shift, -0.6], turn: flick + (ear === 'pointed' || ear === 'round' ? 0 : flap) }, () => {
    if (ear === 'pointed')
      shape(pen, colour, [
        [-0.42, 0.25],
        [-0.28, -earSize],
        [0.42, 0.02],
      ])
    else if (ear === 'round') oval(pen, colour, [-0.1, -earSize * 0.35], [earSize * 0.5, earSize * 0.5])
    else if (ear === 'long')
      blob(pen, colour, [
        [-0.2, 0.2],
        [-0.42, -earSize * 0.6],
        [-0.3, -earSize],
        [0.02, -earSize * 0.6],
        [0.2, 0.1],
      ])
    else
      blob(pen, colour, [
        [-0.1, -0.05],
        [-0.42, earSize * 0.45],
        [-0.34, earSize],
        [-0.02, earSize * 0.75],
        [0.22, 0.15],
      ])
  })
}
