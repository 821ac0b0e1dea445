import { rgb } from '../palette.ts'
import { blob, oval, type Point, stroke } from '../shapes.ts'
import { breath, type Pose, type Subject, wave } from './subject.ts'

/** A body swings from the head, where it is steady, to the tail. */
function swing(pose: Pose, x: number, strength: number): number {
  const back = Math.max(0, 0.5 - x)
  return wave(pose, 1, x * 0.35) * strength * back * back
}

export const fish: Subject = {
  words: 'fish goldfish koi salmon tuna trout clownfish pez poisson fisch pesce',
  habitat: 'deep',
  kilograms: 1,
  home: 'underwater',
  colour: rgb('#f08a2c'),
  height: 0.22,
  reach: { left: 1.05, right: 0.9, up: 0.75, down: 0.7 },
  many: 5,
  draw: (pen, paint, pose) => {
    const bent = (points: readonly Point[]) => points.map(([x, y]): Point => [x, y + swing(pose, x, 0.14)])
    blob(
      pen,
      paint.dark,
      bent([
        [-0.5, 0],
        [-0.8, -0.34],
        [-0.98, -0.38],
        [-0.84, 0],
        [-0.98, 0.36],
        [-0.8, 0.3],
      ]),
    )
    blob(
      pen,
      paint.dark,
      bent([
        [-0.3, -0.3],
        [-0.05, -0.62],
        [0.2, -0.58],
        [0.34, -0.3],
      ]),
    )
    blob(
      pen,
      paint.dark,
      bent([
        [-0.2, 0.3],
        [-0.12, 0.52],
        [0.08, 0.5],
        [0.1, 0.3],
      ]),
    )
    blob(
      pen,
      paint.main,
      bent([
        [-0.6, 0],
        [-0.3, -0.26],
        [0.1, -0.4],
        [0.5, -0.3],
        [0.78, -0.02],
        [0.5, 0.26],
        [0.1, 0.38],
        [-0.3, 0.24],
      ]),
    )
    blob(
      pen,
      paint.pale,
      bent([
        [-0.45, 0.08],
        [0.1, 0.16],
        [0.6, 0.12],
        [0.5, 0.25],
        [0.1, 0.37],
        [-0.28, 0.23],
      ]),
    )
    for (const x of [-0.2, 0.05])
      stroke(
        pen,
        paint.pale,
        0.06,
        bent([
          [x, -0.32],
          [x + 0.07, 0],
          [x, 0.3],
        ]),
      )
    const fin = 0.1 * breath(pose, 1.4)
    blob(pen, paint.dark, [
      [0.22, 0.04],
      [-0.06, 0.1 + fin],
      [-0.12, 0.26 + fin],
      [0.1, 0.22],
    ])
    oval(pen, 'rgba(255,255,255,0.9)', [0.52, -0.1], [0.085, 0.085])
    oval(pen, paint.ink, [0.54, -0.1], [0.048, 0.05])
  },
}

export const whale: Subject = {
  words: 'whale orca shark dolphin porpoise narwhal ballena baleine wal delfín',
  habitat: 'deep',
  kilograms: 30_000,
  home: 'underwater',
  colour: rgb('#3f5f86'),
  height: 0.34,
  reach: { left: 1.65, right: 1.3, up: 0.75, down: 0.75 },
  draw: (pen, paint, pose) => {
    const slow = { ...pose, turns: pose.turns * 0.5 }
    const bent = (points: readonly Point[]) => points.map(([x, y]): Point => [x, y + swing(slow, x * 0.6, 0.16)])
    blob(
      pen,
      paint.dark,
      bent([
        [-1.05, -0.02],
        [-1.35, -0.3],
        [-1.6, -0.36],
        [-1.42, -0.06],
        [-1.56, 0.16],
        [-1.3, 0.14],
      ]),
    )
    blob(
      pen,
      paint.dark,
      bent([
        [-0.35, -0.34],
        [-0.5, -0.52],
        [-0.34, -0.5],
        [-0.1, -0.38],
      ]),
    )
    blob(
      pen,
      paint.main,
      bent([
        [-1.2, -0.03],
        [-0.8, -0.18],
        [-0.2, -0.38],
        [0.5, -0.44],
        [1.05, -0.28],
        [1.24, 0.02],
        [1.0, 0.26],
        [0.4, 0.36],
        [-0.3, 0.24],
        [-0.9, 0.07],
      ]),
    )
    blob(
      pen,
      paint.pale,
      bent([
        [1.2, 0.06],
        [0.7, 0.1],
        [0.1, 0.18],
        [-0.4, 0.16],
        [-0.2, 0.27],
        [0.4, 0.36],
        [1.0, 0.26],
      ]),
    )
    for (const y of [0.16, 0.21, 0.26])
      stroke(
        pen,
        paint.main,
        0.012,
        bent([
          [1.04, y - 0.02],
          [0.6, y + 0.02],
          [0.1, y + 0.02],
        ]),
      )
    const paddle = 0.1 * breath(pose, 0.5)
    blob(pen, paint.dark, [
      [0.42, 0.18],
      [0.2, 0.4 + paddle],
      [0.02, 0.62 + paddle],
      [0.06, 0.46 + paddle],
      [0.2, 0.2],
    ])
    oval(pen, paint.ink, [0.86, 0.0], [0.03, 0.03])
  },
}
