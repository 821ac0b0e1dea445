import { type Build, drawAnimal } from '../animal.ts'
import { rgb } from '../palette.ts'
import { blob } from '../shapes.ts'
import type { Subject } from './subject.ts'

const legs = { hind: [-0.36, -0.45], fore: [0.29, -0.45], widths: [0.17, 0.085, 0.07], stride: 0.34 } as const

const reach = { left: 1.15, right: 1.05, up: 1.15, down: 0.05 }

const lean: Build['torso'] = [
  ...([
    [-0.5, -0.56],
    [-0.32, -0.65],
    [-0.02, -0.62],
    [0.24, -0.66],
    [0.41, -0.6],
    [0.42, -0.46],
  ] as const),
  ...([
    [0.24, -0.35],
    [-0.02, -0.39],
    [-0.24, -0.42],
    [-0.46, -0.42],
  ] as const),
]

export const fox: Subject = {
  words: 'fox vixen fennec coyote jackal zorro renard fuchs volpe',
  habitat: 'ground',
  kilograms: 6,
  home: 'forest',
  colour: rgb('#d9652b'),
  height: 0.3,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { ...legs, widths: [0.16, 0.07, 0.06], sock: paint.lit('#33231f') },
      torso: lean,
      belly: [
        [0.43, -0.58],
        [0.42, -0.43],
        [0.24, -0.35],
        [-0.05, -0.39],
        [0.2, -0.45],
        [0.34, -0.54],
      ],
      neck: { from: [0.26, -0.55], to: [0.5, -0.8], widths: [0.3, 0.22] },
      head: {
        at: [0.54, -0.83],
        size: 0.145,
        snout: 1.05,
        snoutWidth: 0.42,
        drop: 0.32,
        ear: 'pointed',
        earSize: 1.15,
        pale: true,
      },
      tail: {
        points: [
          [-0.46, -0.54],
          [-0.62, -0.55],
          [-0.8, -0.47],
          [-0.96, -0.38],
          [-1.12, -0.4],
        ],
        widths: [0.1, 0.26],
        bushy: true,
        tip: true,
      },
    }),
}

export const wolf: Subject = {
  words: 'wolf husky werewolf lobo loup',
  habitat: 'ground',
  kilograms: 40,
  home: 'forest',
  colour: rgb('#7d828c'),
  height: 0.34,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs: { ...legs, widths: [0.19, 0.09, 0.08] },
      torso: lean.map(([x, y]) => [x, y - 0.02] as const),
      belly: [
        [0.43, -0.58],
        [0.42, -0.43],
        [0.2, -0.36],
        [-0.2, -0.42],
        [0.2, -0.46],
        [0.34, -0.52],
      ],
      neck: { from: [0.24, -0.58], to: [0.5, -0.78], widths: [0.38, 0.26] },
      head: {
        at: [0.54, -0.8],
        size: 0.15,
        snout: 1.1,
        snoutWidth: 0.55,
        drop: 0.28,
        ear: 'pointed',
        earSize: 0.9,
        pale: true,
      },
      tail: {
        points: [
          [-0.46, -0.54],
          [-0.6, -0.48],
          [-0.7, -0.36],
          [-0.74, -0.22],
          [-0.72, -0.12],
        ],
        widths: [0.11, 0.18],
        bushy: true,
      },
    }),
}

export const dog: Subject = {
  words: 'dog puppy pup hound terrier corgi labrador retriever poodle perro chien hund',
  habitat: 'ground',
  kilograms: 25,
  home: 'hills',
  colour: rgb('#b5814c'),
  height: 0.3,
  reach,
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      legs,
      torso: lean,
      belly: [
        [0.43, -0.56],
        [0.42, -0.44],
        [0.24, -0.36],
        [0.02, -0.4],
        [0.24, -0.45],
      ],
      neck: { from: [0.28, -0.56], to: [0.46, -0.82], widths: [0.28, 0.2] },
      head: { at: [0.5, -0.85], size: 0.155, snout: 0.75, snoutWidth: 0.7, drop: 0.22, ear: 'floppy', earSize: 1.15 },
      tail: {
        points: [
          [-0.46, -0.56],
          [-0.6, -0.64],
          [-0.68, -0.78],
          [-0.66, -0.92],
        ],
        widths: [0.1, 0.05],
      },
      coat: () =>
        blob(pen, paint.lit('#c8373c'), [
          [0.36, -0.64],
          [0.52, -0.7],
          [0.54, -0.66],
          [0.4, -0.58],
        ]),
    }),
}
