import { type Build, drawAnimal } from '../animal.ts'
import { rgb } from '../palette.ts'
import { oval, stroke } from '../shapes.ts'
import { breath, type Subject } from './subject.ts'

const legs = { hind: [-0.4, -0.42], fore: [0.3, -0.42], widths: [0.18, 0.1, 0.085], stride: 0.32 } as const
const reach = { left: 1.15, right: 0.95, up: 1.15, down: 0.05 }

const sleek: Build['torso'] = [
  ...([
    [-0.54, -0.52],
    [-0.4, -0.62],
    [-0.1, -0.6],
    [0.2, -0.63],
    [0.4, -0.57],
    [0.43, -0.43],
  ] as const),
  ...([
    [0.24, -0.34],
    [-0.1, -0.35],
    [-0.4, -0.35],
    [-0.55, -0.4],
  ] as const),
]
const curled = [
  [-0.5, -0.5],
  [-0.68, -0.44],
  [-0.84, -0.5],
  [-0.9, -0.68],
  [-0.84, -0.86],
  [-0.93, -0.98],
] as const

export const cat: Subject = {
  words: 'cat kitten kitty tabby feline gato chatte katze gatto',
  habitat: 'ground',
  kilograms: 4,
  home: 'room',
  colour: rgb('#8b8792'),
  height: 0.26,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { ...legs, sock: paint.pale },
      torso: sleek,
      belly: [
        [0.43, -0.52],
        [0.43, -0.42],
        [0.24, -0.34],
        [0, -0.36],
        [0.26, -0.42],
      ],
      neck: { from: [0.3, -0.54], to: [0.46, -0.74], widths: [0.27, 0.22] },
      head: {
        at: [0.5, -0.8],
        size: 0.165,
        snout: 0.25,
        snoutWidth: 0.7,
        drop: 0.22,
        ear: 'pointed',
        earSize: 0.72,
        pale: true,
      },
      tail: { points: curled, widths: [0.1, 0.07] },
      coat: () => {
        for (const x of [-0.34, -0.2, -0.06, 0.08])
          stroke(pen, paint.dark, 0.035, [
            [x, -0.6],
            [x - 0.02, -0.53],
            [x + 0.01, -0.46],
          ])
      },
    }),
}

export const tiger: Subject = {
  words: 'tiger tigress leopard jaguar cheetah panther puma lynx tigre',
  habitat: 'ground',
  kilograms: 180,
  home: 'forest',
  colour: rgb('#e08a34'),
  height: 0.36,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { ...legs, widths: [0.22, 0.12, 0.1] },
      torso: sleek,
      belly: [
        [0.42, -0.5],
        [0.42, -0.42],
        [0.24, -0.34],
        [-0.3, -0.35],
        [0, -0.4],
        [0.28, -0.44],
      ],
      neck: { from: [0.28, -0.52], to: [0.48, -0.68], widths: [0.32, 0.28] },
      head: {
        at: [0.54, -0.72],
        size: 0.17,
        snout: 0.4,
        snoutWidth: 0.8,
        drop: 0.24,
        ear: 'round',
        earSize: 0.6,
        pale: true,
      },
      tail: { points: curled.map(([x, y]) => [x, y * 0.8 - 0.05] as const), widths: [0.09, 0.07] },
      coat: () => {
        for (const [index, x] of [-0.46, -0.34, -0.22, -0.1, 0.02, 0.14, 0.26].entries())
          stroke(pen, paint.ink, 0.028, [
            [x, -0.61],
            [x - 0.03, -0.53],
            [x + (index % 2 ? 0.02 : -0.01), -0.43],
          ])
      },
    }),
}

export const lion: Subject = {
  words: 'lion lioness leon löwe leone',
  habitat: 'ground',
  kilograms: 190,
  home: 'desert',
  colour: rgb('#d3a052'),
  height: 0.38,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { ...legs, widths: [0.22, 0.12, 0.1] },
      torso: sleek,
      neck: { from: [0.26, -0.52], to: [0.46, -0.72], widths: [0.36, 0.3] },
      head: {
        at: [0.56, -0.78],
        size: 0.165,
        snout: 0.5,
        snoutWidth: 0.8,
        drop: 0.24,
        ear: 'round',
        earSize: 0.55,
        pale: true,
      },
      tail: {
        points: [
          [-0.52, -0.52],
          [-0.68, -0.4],
          [-0.78, -0.28],
          [-0.94, -0.3],
        ],
        widths: [0.07, 0.05],
      },
      coat: () => {
        const mane = paint.lit('#7b4420')
        for (let lock = 0; lock < 11; lock++) {
          const turn = 0.5 + lock * 0.5
          const [x, y] = [0.43 + Math.cos(turn) * 0.2, -0.7 + Math.sin(turn) * 0.22]
          oval(pen, mane, [x, y + 0.008 * breath(pose, 0.6, lock * 0.1)], [0.12, 0.085], turn)
        }
        oval(pen, mane, [0.43, -0.7], [0.24, 0.26])
        oval(pen, mane, [-0.96, -0.3], [0.06, 0.045])
      },
    }),
}
