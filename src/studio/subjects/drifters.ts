import { rgb } from '../palette.ts'
import { blob, oval, type Point, taper } from '../shapes.ts'
import { breath, type Subject, wave } from './subject.ts'

export const turtle: Subject = {
  words: 'turtle tortoise tortuga tortue schildkröte',
  habitat: 'deep',
  kilograms: 120,
  home: 'underwater',
  colour: rgb('#5f8a4a'),
  height: 0.24,
  reach: { left: 1, right: 1.1, up: 0.8, down: 0.85 },
  draw: (pen, paint, pose) => {
    const row = wave(pose, 0.6)
    blob(pen, paint.dark, [
      [0.34, 0.1],
      [0.1, 0.2 - row * 0.3],
      [-0.16, 0.36 - row * 0.5],
      [0.06, 0.34 - row * 0.3],
      [0.46, 0.22],
    ])
    blob(pen, paint.dark, [
      [-0.5, 0.08],
      [-0.76, 0.24 + row * 0.12],
      [-0.86, 0.4 + row * 0.12],
      [-0.6, 0.24],
    ])
    blob(pen, paint.pale, [
      [0.5, -0.02],
      [0.74, -0.18],
      [0.94, -0.18],
      [1.02, -0.06],
      [0.88, 0.06],
      [0.6, 0.12],
    ])
    blob(pen, paint.pale, [
      [-0.7, 0.08],
      [0, 0.22],
      [0.66, 0.1],
      [0.4, 0.24],
      [-0.3, 0.26],
    ])
    blob(pen, paint.main, [
      [-0.74, 0.1],
      [-0.5, -0.26],
      [0, -0.46],
      [0.46, -0.3],
      [0.68, 0.08],
      [0, 0.17],
    ])
    for (const [x, y, size] of [
      [-0.34, -0.1, 0.13],
      [0, -0.2, 0.16],
      [0.34, -0.08, 0.13],
    ] as const)
      oval(pen, paint.dark, [x, y], [size, size * 0.8])
    blob(pen, paint.pale, [
      [0.42, 0.08],
      [0.3, 0.3 + row * 0.3],
      [0.02, 0.56 + row * 0.4],
      [0.12, 0.34 + row * 0.2],
      [0.22, 0.1],
    ])
    oval(pen, paint.ink, [0.88, -0.1], [0.028, 0.03])
  },
}

export const jellyfish: Subject = {
  words: 'jellyfish octopus squid medusa qualle',
  habitat: 'deep',
  kilograms: 5,
  home: 'underwater',
  colour: rgb('#c77fe0'),
  height: 0.3,
  reach: { left: 0.6, right: 0.6, up: 0.6, down: 0.85 },
  many: 4,
  draw: (pen, paint, pose) => {
    const squeeze = 1 + 0.1 * breath(pose, 0.6)
    for (let arm = 0; arm < 7; arm++) {
      const x = (arm - 3) * 0.11 * squeeze
      const line = Array.from(
        { length: 6 },
        (_, part): Point => [
          x * (1 - part * 0.06) + 0.06 * breath(pose, 0.5, arm * 0.13 - part * 0.16) * (part / 3),
          -0.02 + part * (arm % 2 ? 0.16 : 0.13),
        ],
      )
      taper(pen, arm % 2 ? paint.dark : paint.main, line, [0.07, 0.012])
    }
    blob(pen, paint.glow('#ffffff', 0.12), [
      [-0.52 * squeeze, 0.02],
      [0, -0.62],
      [0.52 * squeeze, 0.02],
      [0, 0.1],
    ])
    blob(pen, paint.main, [
      [-0.44 * squeeze, 0],
      [-0.4 * squeeze, -0.28],
      [0, -0.5],
      [0.4 * squeeze, -0.28],
      [0.44 * squeeze, 0],
      [0.22, 0.06],
      [0, 0.01],
      [-0.22, 0.06],
    ])
    blob(pen, paint.pale, [
      [-0.3 * squeeze, -0.16],
      [-0.18, -0.36],
      [0.06, -0.42],
      [-0.06, -0.24],
    ])
  },
}
