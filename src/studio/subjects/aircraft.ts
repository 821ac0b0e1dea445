import { rgb } from '../palette.ts'
import { blob, box, oval, type Point, shape, stroke, within } from '../shapes.ts'
import { breath, type Subject } from './subject.ts'

export const plane: Subject = {
  words: 'plane airplane aeroplane jet aircraft biplane airliner helicopter glider drone avión avion flugzeug aereo',
  habitat: 'air',
  kilograms: 60_000,
  home: 'sky',
  colour: rgb('#e8ebf0'),
  height: 0.26,
  reach: { left: 1.75, right: 1.4, up: 0.8, down: 0.75 },
  draw: (pen, paint, pose) => {
    within(pen, { at: [0, 0.03 * breath(pose, 0.3)], turn: -0.05 + 0.02 * breath(pose, 0.2) }, () => {
      const stripe = paint.lit('#d2453c')
      shape(pen, paint.dark, [
        [0.16, -0.1],
        [-0.34, -0.44],
        [-0.5, -0.44],
        [-0.22, -0.08],
      ])
      blob(pen, paint.main, [
        [-1.26, -0.14],
        [-0.9, -0.18],
        [0, -0.22],
        [0.8, -0.2],
        [1.16, -0.08],
        [1.26, 0.03],
        [1.05, 0.12],
        [0.5, 0.18],
        [-0.6, 0.14],
        [-1.1, 0],
      ])
      blob(pen, paint.dark, [
        [-1.1, 0],
        [-0.3, 0.06],
        [0.7, 0.08],
        [1.24, 0.05],
        [1.05, 0.12],
        [0.5, 0.18],
        [-0.6, 0.14],
      ])
      shape(pen, stripe, [
        [-0.86, -0.16],
        [-1.16, -0.6],
        [-1.38, -0.6],
        [-1.24, -0.12],
      ])
      shape(pen, paint.main, [
        [-0.9, -0.02],
        [-1.3, 0.1],
        [-1.48, 0.1],
        [-1.2, -0.06],
      ])
      stroke(pen, stripe, 0.035, [
        [-1.18, -0.06],
        [0, -0.02],
        [1.2, 0.0],
      ])
      for (let window = 0; window < 11; window++)
        oval(
          pen,
          paint.glow(pose.dark > 0.4 ? '#ffdf9a' : '#5c7690', 0.85),
          [-0.68 + window * 0.13, -0.09],
          [0.024, 0.03],
        )
      shape(pen, paint.lit('#33475e'), [
        [0.92, -0.13],
        [1.06, -0.09],
        [1.04, -0.05],
        [0.9, -0.06],
      ])
      shape(pen, paint.pale, [
        [0.3, 0.06],
        [-0.36, 0.56],
        [-0.58, 0.58],
        [-0.22, 0.06],
      ])
      box(pen, paint.dark, [-0.12, 0.2, 0.34, 0.13], 0.06)
      const lamp = Math.max(0, breath(pose, 0.9)) ** 4
      oval(pen, paint.glow('#ff5a4a', lamp), [-0.56, 0.57], [0.035, 0.035])
    })
  },
}

export const rocket: Subject = {
  words: 'rocket spaceship spacecraft shuttle starship missile cohete fusée rakete razzo',
  habitat: 'air',
  kilograms: 500_000,
  home: 'space',
  altitude: 0.44,
  colour: rgb('#eceef2'),
  height: 0.4,
  reach: { left: 0.55, right: 0.55, up: 0.62, down: 1.2 },
  draw: (pen, paint, pose) => {
    const lean = 0.3
    within(pen, { at: [0, 0], turn: lean }, () => {
      for (const [length, width, colour, alpha] of [
        [0.74, 0.2, '#ff6a1f', 0.45],
        [0.54, 0.15, '#ffa42e', 0.75],
        [0.32, 0.09, '#fff0b8', 1],
      ] as const) {
        const flicker = length * (1 + 0.14 * breath(pose, 7) + 0.08 * breath(pose, 11.3))
        blob(pen, paint.glow(colour, alpha), [
          [-width * 0.6, 0.42],
          [-width, 0.52],
          [0, 0.44 + flicker],
          [width, 0.52],
          [width * 0.6, 0.42],
        ])
      }
      const fin = paint.lit('#d2453c')
      for (const side of [-1, 1])
        blob(pen, fin, [
          [0.13 * side, 0.1],
          [0.3 * side, 0.3],
          [0.3 * side, 0.52],
          [0.14 * side, 0.4],
        ])
      blob(pen, paint.main, [
        [0, -0.6],
        [0.13, -0.36],
        [0.18, 0],
        [0.15, 0.34],
        [0.1, 0.44],
        [-0.1, 0.44],
        [-0.15, 0.34],
        [-0.18, 0],
        [-0.13, -0.36],
      ])
      blob(pen, paint.dark, [
        [0.02, -0.56],
        [0.13, -0.36],
        [0.18, 0],
        [0.15, 0.34],
        [0.1, 0.44],
        [0.04, 0.44],
        [0.09, 0],
      ])
      blob(pen, fin, [
        [0, -0.62],
        [0.09, -0.46],
        [0.12, -0.35],
        [-0.12, -0.35],
        [-0.09, -0.46],
      ])
      oval(pen, paint.lit('#8b95a3'), [0, -0.12], [0.095, 0.095])
      oval(pen, paint.glow('#8fd3ff', 0.95), [0, -0.12], [0.068, 0.068])
      oval(pen, 'rgba(255,255,255,0.8)', [-0.025, -0.145], [0.018, 0.018])
      blob(pen, fin, [
        [0, 0.12],
        [0.035, 0.3],
        [0, 0.54],
        [-0.035, 0.3],
      ])
    })
  },
}

export const balloon: Subject = {
  words: 'balloon blimp zeppelin airship montgolfier globo ballon',
  habitat: 'air',
  kilograms: 400,
  home: 'sky',
  altitude: 0.38,
  colour: rgb('#d8503c'),
  height: 0.44,
  reach: { left: 0.5, right: 0.5, up: 0.6, down: 0.62 },
  many: 5,
  draw: (pen, paint, pose) => {
    within(pen, { at: [0, 0], turn: 0.03 * breath(pose, 0.2) }, () => {
      const outline = (share: number): Point[] => [
        [0, -0.56],
        [0.3 * share, -0.48],
        [0.42 * share, -0.22],
        [0.3 * share, 0.06],
        [0.1 * share, 0.27],
        [-0.1 * share, 0.27],
        [-0.3 * share, 0.06],
        [-0.42 * share, -0.22],
        [-0.3 * share, -0.48],
      ]
      const cream = paint.lit('#f6e3b8', 0.05)
      for (const [index, share] of [1, 0.72, 0.42, 0.14].entries())
        blob(pen, index % 2 ? cream : paint.main, outline(share))
      const flame = 0.5 + 0.5 * breath(pose, 0.5)
      oval(pen, paint.glow('#ffc14a', 0.3 * flame + 0.25 * pose.dark), [0, 0.12], [0.22, 0.2])
      for (const x of [-0.09, 0.09])
        stroke(pen, paint.lit('#5b4030'), 0.008, [
          [x, 0.26],
          [x * 0.75, 0.42],
        ])
      blob(pen, paint.glow('#ffb02e', 0.8 * flame), [
        [-0.02, 0.34],
        [0, 0.24],
        [0.02, 0.34],
        [0, 0.36],
      ])
      box(pen, paint.lit('#8a5a33'), [-0.08, 0.42, 0.16, 0.13], 0.025)
      box(pen, paint.lit('#6b4325'), [-0.088, 0.41, 0.176, 0.03], 0.012)
    })
  },
}

export const saucer: Subject = {
  words: 'ufo saucer alien satellite ovni',
  habitat: 'air',
  kilograms: 20_000,
  home: 'space',
  altitude: 0.32,
  colour: rgb('#9aa7b8'),
  height: 0.2,
  reach: { left: 1.25, right: 1.25, up: 0.75, down: 1.7 },
  draw: (pen, paint, pose) => {
    within(pen, { at: [0, 0.04 * breath(pose, 0.5)], turn: 0.06 * breath(pose, 0.3) }, () => {
      const beam = pen.createLinearGradient(0, 0.2, 0, 1.6)
      beam.addColorStop(0, paint.glow('#a8ffd8', 0.5))
      beam.addColorStop(1, paint.glow('#a8ffd8', 0))
      pen.fillStyle = beam
      pen.beginPath()
      pen.moveTo(-0.3, 0.16)
      pen.lineTo(0.3, 0.16)
      pen.lineTo(0.8, 1.6)
      pen.lineTo(-0.8, 1.6)
      pen.fill()
      blob(pen, paint.glow('#bfe9ff', 0.75), [
        [-0.46, -0.1],
        [-0.3, -0.5],
        [0, -0.62],
        [0.3, -0.5],
        [0.46, -0.1],
      ])
      oval(pen, paint.lit('#6fcf7a'), [0, -0.26], [0.13, 0.17])
      oval(pen, paint.main, [0, 0], [1.15, 0.26])
      oval(pen, paint.pale, [0, -0.06], [0.9, 0.14])
      oval(pen, paint.dark, [0, 0.12], [0.6, 0.12])
      for (let lamp = 0; lamp < 7; lamp++)
        oval(
          pen,
          paint.glow(
            ['#ffd84a', '#7cf0c8', '#ff7ab0'][lamp % 3] ?? '#ffffff',
            0.35 + 0.65 * Math.max(0, breath(pose, 0.8, lamp / 7)),
          ),
          [-0.9 + lamp * 0.3, 0.06 + 0.09 * Math.sin((lamp / 6) * Math.PI)],
          [0.06, 0.05],
        )
    })
  },
}
