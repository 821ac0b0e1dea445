import { type Build, drawAnimal } from '../animal.ts'
import { rgb } from '../palette.ts'
import { blob, oval, type Point, shape, stroke, taper } from '../shapes.ts'
import { breath, type Subject, wave } from './subject.ts'

const torso: Build['torso'] = [
  ...([
    [-0.44, -0.62],
    [-0.34, -0.7],
    [-0.08, -0.66],
    [0.16, -0.68],
    [0.32, -0.66],
    [0.36, -0.52],
  ] as const),
  ...([
    [0.2, -0.43],
    [-0.06, -0.43],
    [-0.28, -0.46],
    [-0.44, -0.5],
  ] as const),
]

export const horse: Subject = {
  words: 'horse pony stallion mare foal unicorn zebra donkey mustang camel caballo cheval pferd cavallo',
  habitat: 'ground',
  kilograms: 500,
  home: 'hills',
  colour: rgb('#7a4a2c'),
  height: 0.46,
  reach: { left: 0.85, right: 0.9, up: 1.12, down: 0.04 },
  draw: (pen, paint, pose) => {
    const hair = paint.lit('#2a1c18')
    const flow = pose.gait === 'run' ? 0.07 : 0.02
    drawAnimal(pen, paint, pose, {
      legs: {
        hind: [-0.32, -0.52],
        fore: [0.24, -0.52],
        widths: [0.17, 0.07, 0.055],
        stride: 0.36,
        apart: 0.05,
        hoof: paint.ink,
      },
      torso,
      neck: { from: [0.22, -0.58], to: [0.5, -0.88], widths: [0.28, 0.14] },
      head: {
        at: [0.52, -0.9],
        size: 0.088,
        tilt: 0.42,
        snout: 1.9,
        snoutWidth: 0.95,
        drop: 0.1,
        ear: 'pointed',
        earSize: 0.95,
      },
      tail: {
        points: [
          [-0.42, -0.64],
          [-0.54, -0.6],
          [-0.62, -0.48],
          [-0.66, -0.34],
          [-0.7, -0.22],
        ],
        widths: [0.09, 0.05],
      },
      coat: () => {
        taper(
          pen,
          hair,
          [
            [-0.42, -0.65],
            [-0.54, -0.62 - flow],
            [-0.64, -0.5 - flow],
            [-0.7, -0.34 - flow * 2],
          ],
          [0.06, 0.13],
        )
        for (let lock = 0; lock < 7; lock++) {
          const at: Point = [0.47 - lock * 0.045, -0.95 + lock * 0.048]
          const blow = flow * (1 + 0.6 * wave(pose, 1, lock * 0.12)) + 0.01 * breath(pose, 0.5, lock * 0.1)
          oval(pen, hair, [at[0] - 0.03 - blow, at[1] + 0.03], [0.055 + blow * 0.5, 0.04], 0.5)
        }
      },
    })
  },
}

export const deer: Subject = {
  words: 'deer stag doe fawn elk moose reindeer antelope gazelle caribou ciervo cerf hirsch',
  habitat: 'ground',
  kilograms: 150,
  home: 'forest',
  colour: rgb('#a5703f'),
  height: 0.46,
  reach: { left: 0.7, right: 0.85, up: 1.42, down: 0.04 },
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: {
        hind: [-0.3, -0.52],
        fore: [0.22, -0.52],
        widths: [0.15, 0.055, 0.042],
        stride: 0.34,
        apart: 0.05,
        hoof: paint.ink,
      },
      torso,
      belly: [
        [0.34, -0.54],
        [0.2, -0.43],
        [-0.06, -0.43],
        [-0.28, -0.46],
        [0.02, -0.49],
      ],
      neck: { from: [0.24, -0.58], to: [0.44, -0.92], widths: [0.2, 0.11] },
      head: {
        at: [0.47, -0.96],
        size: 0.08,
        tilt: 0.2,
        snout: 1.35,
        snoutWidth: 0.7,
        drop: 0.25,
        ear: 'long',
        earSize: 1,
        pale: true,
      },
      tail: {
        points: [
          [-0.42, -0.63],
          [-0.48, -0.64],
          [-0.52, -0.57],
        ],
        widths: [0.07, 0.05],
      },
      coat: () => {
        oval(pen, paint.pale, [-0.44, -0.56], [0.05, 0.07])
        for (let spot = 0; spot < 8; spot++)
          oval(pen, paint.pale, [-0.3 + spot * 0.07, -0.62 + (spot % 3) * 0.035], [0.014, 0.012])
      },
      crown: () => {
        const horn = paint.lit('#d8c3a0')
        for (const shift of [0.35, 0]) {
          const beam: Point[] = [
            [-0.2 + shift, -0.8],
            [-1 + shift, -2.2],
            [-0.7 + shift, -3.6],
            [-0.1 + shift, -4.5],
          ]
          stroke(pen, horn, 0.26, beam)
          stroke(pen, horn, 0.2, [
            [-0.85 + shift, -1.8],
            [0.1 + shift, -2.3],
            [0.3 + shift, -2.9],
          ])
          stroke(pen, horn, 0.2, [
            [-0.86 + shift, -2.8],
            [0.2 + shift, -3.2],
            [0.6 + shift, -3.9],
          ])
          stroke(pen, horn, 0.18, [
            [-0.95 + shift, -2.4],
            [-1.5 + shift, -3.1],
          ])
        }
      },
    }),
}

export const cow: Subject = {
  words: 'cow bull calf cattle ox buffalo bison vaca vache kuh',
  habitat: 'ground',
  kilograms: 700,
  home: 'hills',
  colour: rgb('#efe7db'),
  height: 0.42,
  reach: { left: 0.85, right: 0.95, up: 1.02, down: 0.04 },
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { hind: [-0.42, -0.44], fore: [0.34, -0.44], widths: [0.2, 0.1, 0.085], stride: 0.26, hoof: paint.ink },
      torso: [
        [-0.6, -0.62],
        [-0.5, -0.76],
        [-0.1, -0.73],
        [0.3, -0.76],
        [0.48, -0.66],
        [0.46, -0.46],
        [0.2, -0.34],
        [-0.2, -0.33],
        [-0.52, -0.4],
      ],
      neck: { from: [0.38, -0.62], to: [0.6, -0.76], widths: [0.34, 0.2] },
      head: {
        at: [0.66, -0.78],
        size: 0.125,
        tilt: 0.35,
        snout: 1,
        snoutWidth: 1.15,
        drop: 0.15,
        ear: 'floppy',
        earSize: 0.7,
      },
      tail: {
        points: [
          [-0.58, -0.66],
          [-0.68, -0.56],
          [-0.7, -0.4],
          [-0.68, -0.24],
        ],
        widths: [0.05, 0.05],
      },
      coat: () => {
        const patch = paint.lit('#3b2c28')
        blob(pen, patch, [
          [-0.4, -0.74],
          [-0.1, -0.73],
          [-0.14, -0.56],
          [-0.3, -0.5],
          [-0.46, -0.6],
        ])
        blob(pen, patch, [
          [0.12, -0.6],
          [0.34, -0.66],
          [0.4, -0.5],
          [0.22, -0.42],
        ])
        oval(pen, paint.lit('#e8b0a8'), [-0.26, -0.33], [0.09, 0.05])
      },
      crown: () => {
        shape(pen, paint.lit('#e9dcc0'), [
          [-0.3, -0.75],
          [-0.1, -1.5],
          [0.15, -0.85],
        ])
        oval(pen, paint.lit('#e8b0a8'), [1.5, 0.32], [0.5, 0.42])
      },
    }),
}

export const sheep: Subject = {
  words: 'sheep lamb goat ram ewe oveja mouton schaf',
  habitat: 'ground',
  kilograms: 70,
  home: 'hills',
  colour: rgb('#f3ece0'),
  height: 0.28,
  reach: { left: 0.75, right: 0.85, up: 1.05, down: 0.04 },
  many: 4,
  draw: (pen, paint, pose) => {
    const face = paint.lit('#40383a')
    drawAnimal(pen, { ...paint, main: face, dark: face }, pose, {
      legs: { hind: [-0.3, -0.36], fore: [0.24, -0.36], widths: [0.1, 0.08, 0.08], stride: 0.24 },
      torso: [
        [-0.4, -0.6],
        [0, -0.7],
        [0.36, -0.6],
        [0.3, -0.4],
        [-0.3, -0.4],
      ],
      neck: { from: [0.3, -0.62], to: [0.5, -0.76], widths: [0.24, 0.18] },
      head: {
        at: [0.54, -0.78],
        size: 0.13,
        tilt: 0.3,
        snout: 0.75,
        snoutWidth: 0.8,
        drop: 0.15,
        ear: 'floppy',
        earSize: 0.7,
      },
      tail: {
        points: [
          [-0.4, -0.6],
          [-0.5, -0.56],
        ],
        widths: [0.1, 0.08],
      },
      coat: () => {
        for (let curl = 0; curl < 13; curl++) {
          const turn = (curl / 13) * Math.PI * 2
          oval(
            pen,
            curl > 1 && curl < 6 ? paint.dark : paint.main,
            [-0.04 + Math.cos(turn) * 0.4, -0.6 + Math.sin(turn) * 0.22],
            [0.15, 0.14],
          )
        }
        oval(pen, paint.main, [-0.04, -0.61], [0.44, 0.25])
        oval(pen, paint.pale, [-0.08, -0.7], [0.3, 0.13])
        oval(pen, paint.main, [0.42, -0.84], [0.12, 0.09])
      },
    })
  },
}
