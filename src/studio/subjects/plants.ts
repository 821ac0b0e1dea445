import { rgb } from '../palette.ts'
import { blob, limb, oval, stroke, taper, within } from '../shapes.ts'
import type { Pen } from '../stage.ts'
import { breath, type Paint, type Pose, type Subject } from './subject.ts'

/** Leaves in clumps, from the shaded ones below to those in the light. The same for every tree, but each sways alone. */
const clumps: readonly (readonly [x: number, y: number, radius: number, tone: 'dark' | 'main' | 'pale'])[] = [
  ...([
    [-0.3, -0.5, 0.15, 'dark'],
    [0.3, -0.5, 0.15, 'dark'],
    [-0.1, -0.46, 0.16, 'dark'],
    [0.12, -0.45, 0.16, 'dark'],
  ] as const),
  ...([
    [-0.36, -0.6, 0.14, 'dark'],
    [0.36, -0.6, 0.14, 'dark'],
    [0, -0.6, 0.24, 'main'],
    [-0.26, -0.62, 0.16, 'main'],
  ] as const),
  ...([
    [0.26, -0.63, 0.16, 'main'],
    [-0.16, -0.78, 0.17, 'main'],
    [0.16, -0.78, 0.17, 'main'],
    [0, -0.88, 0.14, 'main'],
  ] as const),
  ...([
    [-0.3, -0.7, 0.1, 'main'],
    [0.31, -0.72, 0.1, 'main'],
    [-0.06, -0.68, 0.13, 'main'],
    [0.1, -0.62, 0.12, 'main'],
  ] as const),
  ...([
    [-0.2, -0.83, 0.08, 'pale'],
    [0.02, -0.92, 0.07, 'pale'],
    [-0.08, -0.78, 0.06, 'pale'],
    [0.2, -0.84, 0.06, 'pale'],
  ] as const),
  ...([
    [-0.3, -0.68, 0.055, 'pale'],
    [0.1, -0.7, 0.05, 'pale'],
    [0.3, -0.7, 0.05, 'pale'],
  ] as const),
]

export const tree: Subject = {
  words: 'tree oak maple willow sakura bonsai palm baobab birch árbol arbre baum albero',
  habitat: 'rooted',
  kilograms: 5_000,
  home: 'hills',
  colour: rgb('#4f8f3f'),
  height: 0.56,
  reach: { left: 0.6, right: 0.6, up: 1.1, down: 0.05 },
  many: 4,
  draw: (pen, paint, pose) => {
    const bark = paint.lit('#5f4230')
    taper(
      pen,
      bark,
      [
        [0, 0.02],
        [-0.02, -0.16],
        [0.01, -0.34],
        [0, -0.58],
      ],
      [0.15, 0.06],
    )
    taper(
      pen,
      bark,
      [
        [0, -0.3],
        [-0.1, -0.42],
        [-0.22, -0.56],
      ],
      [0.06, 0.025],
    )
    taper(
      pen,
      bark,
      [
        [0, -0.26],
        [0.12, -0.4],
        [0.24, -0.52],
      ],
      [0.055, 0.025],
    )
    for (const [index, [x, y, radius, tone]] of clumps.entries()) {
      const sway = 0.012 * breath(pose, 0.28, index * 0.07) * -y
      oval(pen, paint[tone], [x + sway, y], [radius, radius * 0.88])
    }
  },
}

export const flower: Subject = {
  words: 'flower rose tulip daisy sunflower lily lotus poppy orchid bouquet blossom flor fleur blume fiore',
  habitat: 'rooted',
  kilograms: 0.05,
  home: 'hills',
  colour: rgb('#e0568a'),
  height: 0.34,
  reach: { left: 0.42, right: 0.42, up: 1.12, down: 0.04 },
  many: 6,
  draw: (pen, paint, pose) => {
    const sway = 0.05 * breath(pose, 0.3)
    const stem = paint.lit('#4c8a44')
    taper(
      pen,
      stem,
      [
        [0, 0.02],
        [-0.02, -0.26],
        [sway * 0.5, -0.52],
        [sway, -0.78],
      ],
      [0.045, 0.03],
    )
    for (const [side, y] of [
      [-1, -0.26],
      [1, -0.4],
    ] as const) {
      const flap = 0.03 * breath(pose, 0.4, side * 0.2)
      blob(pen, paint.lit(side > 0 ? '#5da352' : '#3f7a3a'), [
        [0, y],
        [0.14 * side, y - 0.12 + flap],
        [0.32 * side, y - 0.12 + flap],
        [0.18 * side, y - 0.01],
      ])
    }
    within(pen, { at: [sway, -0.8], turn: sway * 2 }, () => petals(pen, paint, pose))
  },
}

function petals(pen: Pen, paint: Paint, pose: Pose): void {
  for (const [ring, count, radius, size] of [
    [0, 9, 0.185, 0.12],
    [1, 7, 0.12, 0.095],
  ] as const) {
    for (let petal = 0; petal < count; petal++) {
      const turn = ((petal + ring * 0.5) / count) * Math.PI * 2 + 0.04 * breath(pose, 0.25)
      oval(
        pen,
        ring ? paint.pale : petal % 2 ? paint.main : paint.dark,
        [Math.cos(turn) * radius, Math.sin(turn) * radius],
        [size, size * 0.62],
        turn,
      )
    }
  }
  oval(pen, paint.lit('#f2bf3c'), [0, 0], [0.085, 0.085])
  oval(pen, paint.lit('#c98a22'), [0.012, 0.012], [0.05, 0.05])
}

export const mushroom: Subject = {
  words: 'mushroom toadstool fungus seta champignon pilz fungo',
  habitat: 'rooted',
  kilograms: 0.1,
  home: 'forest',
  colour: rgb('#cf3a33'),
  height: 0.28,
  reach: { left: 0.6, right: 0.6, up: 1.05, down: 0.04 },
  many: 4,
  draw: (pen, paint, pose) => {
    const rise = 0.012 * breath(pose, 0.35)
    blob(pen, paint.lit('#efe4cf'), [
      [-0.15, 0],
      [-0.12, -0.3],
      [-0.1, -0.55],
      [0.1, -0.55],
      [0.13, -0.3],
      [0.17, 0],
      [0, 0.03],
    ])
    blob(pen, paint.lit('#cdbfa6'), [
      [0.02, 0],
      [0.05, -0.3],
      [0.04, -0.52],
      [0.1, -0.52],
      [0.13, -0.3],
      [0.17, 0],
    ])
    blob(pen, paint.lit('#e6d6ba'), [
      [-0.42, -0.5],
      [0, -0.6],
      [0.42, -0.5],
      [0, -0.42],
    ])
    blob(pen, paint.main, [
      [-0.52, -0.5],
      [-0.44, -0.78 - rise],
      [-0.16, -0.97 - rise],
      [0.16, -0.97 - rise],
      [0.44, -0.78 - rise],
      [0.52, -0.5],
      [0, -0.58],
    ])
    blob(pen, paint.pale, [
      [-0.4, -0.72],
      [-0.2, -0.9],
      [0.02, -0.94],
      [-0.16, -0.8],
    ])
    for (const [x, y, size] of [
      [-0.22, -0.68, 0.07],
      [0.08, -0.8, 0.085],
      [0.32, -0.64, 0.06],
      [-0.02, -0.62, 0.04],
    ] as const)
      oval(pen, paint.lit('#fff6e6', 0.1), [x, y - rise], [size, size * 0.78])
    oval(pen, paint.glow('#ffe9a8', 0.22 * pose.dark), [0, -0.5], [0.55, 0.4])
  },
}

export const cactus: Subject = {
  words: 'cactus saguaro agave kaktus',
  habitat: 'rooted',
  kilograms: 400,
  home: 'desert',
  colour: rgb('#4a8a56'),
  height: 0.46,
  reach: { left: 0.42, right: 0.42, up: 1.05, down: 0.04 },
  many: 4,
  draw: (pen, paint, pose) => {
    const sway = 0.004 * breath(pose, 0.3)
    for (const [side, low, high, colour] of [
      [-1, -0.36, -0.74, paint.dark],
      [1, -0.46, -0.86, paint.main],
    ] as const) {
      limb(
        pen,
        colour,
        [
          [0, low],
          [0.24 * side, low - 0.04],
          [0.26 * side + sway, high],
        ],
        [0.13, 0.13, 0.12],
      )
    }
    limb(
      pen,
      paint.main,
      [
        [0, 0],
        [sway, -0.92],
      ],
      [0.19, 0.18],
    )
    for (const x of [-0.05, 0, 0.05])
      stroke(pen, x < 0 ? paint.pale : paint.dark, 0.012, [
        [x, -0.02],
        [x + sway, -0.5],
        [x + sway, -0.94],
      ])
    oval(pen, paint.lit('#f07aa8'), [0.02, -1.0], [0.06, 0.04])
  },
}
