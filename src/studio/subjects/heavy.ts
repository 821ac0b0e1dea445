import { type Build, drawAnimal } from '../animal.ts'
import { rgb } from '../palette.ts'
import { onLegs } from '../quadruped.ts'
import { blob, oval, stroke, taper } from '../shapes.ts'
import { breath, type Subject, wave } from './subject.ts'

const bearBuild: Build = {
  legs: { hind: [-0.4, -0.44], fore: [0.34, -0.44], widths: [0.3, 0.2, 0.16], stride: 0.28 },
  torso: [
    [-0.64, -0.5],
    [-0.5, -0.72],
    [-0.1, -0.76],
    [0.22, -0.84],
    [0.46, -0.72],
    [0.5, -0.46],
    [0.2, -0.3],
    [-0.3, -0.28],
    [-0.6, -0.36],
  ],
  neck: { from: [0.34, -0.62], to: [0.58, -0.68], widths: [0.42, 0.3] },
  head: {
    at: [0.62, -0.7],
    size: 0.18,
    tilt: 0.15,
    snout: 0.55,
    snoutWidth: 0.72,
    drop: 0.3,
    ear: 'round',
    earSize: 0.7,
    pale: true,
  },
  tail: {
    points: [
      [-0.6, -0.52],
      [-0.68, -0.48],
    ],
    widths: [0.12, 0.08],
  },
}

export const bear: Subject = {
  words: 'bear grizzly cub oso bär',
  habitat: 'ground',
  kilograms: 300,
  home: 'forest',
  colour: rgb('#6b4630'),
  height: 0.35,
  reach: { left: 0.8, right: 0.95, up: 1, down: 0.05 },
  draw: (pen, paint, pose) => drawAnimal(pen, paint, pose, bearBuild),
}

/** A bear with black legs, shoulders, ears and eyes. */
export const panda: Subject = {
  words: 'panda',
  habitat: 'ground',
  kilograms: 110,
  home: 'forest',
  colour: rgb('#efede6'),
  height: 0.35,
  reach: { left: 0.8, right: 0.95, up: 1, down: 0.05 },
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose, {
      ...bearBuild,
      legs: { ...bearBuild.legs, colour: paint.ink },
      coat: () =>
        blob(pen, paint.ink, [
          [0.08, -0.8],
          [0.26, -0.83],
          [0.44, -0.72],
          [0.5, -0.46],
          [0.3, -0.34],
          [0.14, -0.36],
          [0.16, -0.6],
        ]),
      crown: () => {
        for (const x of [-0.5, 0.12]) oval(pen, paint.ink, [x, -0.86], [0.36, 0.34])
        oval(pen, paint.ink, [0.4, -0.08], [0.26, 0.32])
        oval(pen, paint.glow('#ffffff', 0.9), [0.46, -0.16], [0.07, 0.07])
      },
    }),
}

export const rabbit: Subject = {
  words: 'rabbit bunny hare squirrel mouse hamster kangaroo conejo lapin hase',
  habitat: 'ground',
  kilograms: 2,
  home: 'hills',
  colour: rgb('#b59a80'),
  height: 0.24,
  reach: { left: 0.65, right: 0.75, up: 1.25, down: 0.05 },
  draw: (pen, paint, pose) =>
    drawAnimal(pen, paint, pose.gait === 'walk' ? { ...pose, gait: 'jump' } : pose, {
      legs: { hind: [-0.26, -0.28], fore: [0.22, -0.3], widths: [0.28, 0.13, 0.1], stride: 0.3 },
      torso: [
        [-0.46, -0.34],
        [-0.36, -0.58],
        [-0.1, -0.62],
        [0.18, -0.56],
        [0.34, -0.44],
        [0.28, -0.24],
        [0, -0.16],
        [-0.34, -0.16],
      ],
      belly: [
        [0.34, -0.46],
        [0.3, -0.26],
        [0.1, -0.18],
        [0.14, -0.32],
      ],
      neck: { from: [0.2, -0.46], to: [0.36, -0.62], widths: [0.3, 0.24] },
      head: {
        at: [0.4, -0.68],
        size: 0.17,
        snout: 0.3,
        snoutWidth: 0.7,
        drop: 0.25,
        ear: 'long',
        earSize: 2.3,
        pale: true,
      },
      tail: {
        points: [
          [-0.44, -0.38],
          [-0.52, -0.4],
        ],
        widths: [0.16, 0.16],
      },
      coat: () => oval(pen, paint.pale, [-0.5, -0.38], [0.1, 0.1]),
    }),
}

export const elephant: Subject = {
  words: 'elephant mammoth rhino rhinoceros hippo elefante éléphant elefant',
  habitat: 'ground',
  kilograms: 5_000,
  home: 'desert',
  colour: rgb('#8d8a92'),
  height: 0.52,
  reach: { left: 0.8, right: 0.95, up: 1.05, down: 0.04 },
  draw: (pen, paint, pose) => {
    const legs = {
      hind: [-0.36, -0.44],
      fore: [0.2, -0.44],
      widths: [0.26, 0.19, 0.17],
      stride: 0.22,
      apart: 0.1,
    } as const
    onLegs(pen, paint, pose, legs, () => {
      stroke(pen, paint.dark, 0.03, [
        [-0.56, -0.66],
        [-0.66, -0.54],
        [-0.66 + 0.03 * breath(pose), -0.38],
      ])
      blob(pen, paint.main, [
        [-0.58, -0.62],
        [-0.42, -0.84],
        [-0.1, -0.9],
        [0.2, -0.84],
        [0.36, -0.7],
        [0.34, -0.44],
        [0.1, -0.34],
        [-0.3, -0.34],
        [-0.56, -0.42],
      ])
      drawTrunk(pen, paint.main, pose)
      stroke(pen, paint.lit('#f4ead2'), 0.045, [
        [0.52, -0.56],
        [0.62, -0.46],
        [0.74, -0.46],
      ])
      oval(pen, paint.main, [0.42, -0.78], [0.22, 0.2])
      const flap = 0.04 * breath(pose, 0.4)
      blob(pen, paint.dark, [
        [0.34, -0.92],
        [0.16 - flap, -0.9],
        [0.08 - flap, -0.7],
        [0.18, -0.52],
        [0.34, -0.62],
      ])
      oval(pen, paint.ink, [0.5, -0.8], [0.016, 0.018])
    })
  },
}

function drawTrunk(pen: Parameters<Subject['draw']>[0], colour: string, pose: Parameters<Subject['draw']>[2]): void {
  const sway = 0.04 * breath(pose, 0.3) + 0.02 * wave(pose)
  taper(
    pen,
    colour,
    [
      [0.52, -0.78],
      [0.64, -0.68],
      [0.7 + sway * 0.4, -0.5],
      [0.7 + sway, -0.3],
      [0.78 + sway * 1.4, -0.16],
      [0.86 + sway, -0.18],
    ],
    [0.22, 0.06],
  )
}
