import { rgb } from '../palette.ts'
import { blob, box, oval, type Point, shape, stroke, within } from '../shapes.ts'
import type { Pen } from '../stage.ts'
import { breath, type Paint, type Pose, type Subject } from './subject.ts'

const pane = (paint: Paint, pose: Pose) =>
  paint.glow(pose.dark > 0.35 ? '#ffd27a' : '#4a6580', pose.dark > 0.35 ? 0.95 : 0.8)

function smoke(pen: Pen, paint: Paint, pose: Pose, [x, y]: Point): void {
  for (let puff = 0; puff < 6; puff++) {
    const age = (pose.seconds * 0.16 + puff / 6 + pose.phase) % 1
    oval(
      pen,
      paint.glow('#e9e6e2', 0.34 * (1 - age)),
      [x + age * 0.16 + 0.03 * breath(pose, 0.3, puff * 0.2), y - age * 0.42],
      [0.03 + age * 0.09, 0.03 + age * 0.07],
    )
  }
}

export const house: Subject = {
  words: 'house cabin cottage hut barn home villa farmhouse chalet casa maison haus',
  habitat: 'rooted',
  kilograms: 100_000,
  home: 'hills',
  colour: rgb('#d9b48a'),
  height: 0.4,
  reach: { left: 0.75, right: 0.75, up: 1.5, down: 0.04 },
  draw: (pen, paint, pose) => {
    const roof = paint.lit('#9b4436')
    box(pen, paint.lit('#8a5a48'), [0.24, -1.02, 0.13, 0.3])
    smoke(pen, paint, pose, [0.3, -1.04])
    box(pen, paint.main, [-0.5, -0.56, 1, 0.57])
    box(pen, paint.dark, [0.22, -0.56, 0.28, 0.57])
    shape(pen, roof, [
      [-0.62, -0.54],
      [-0.16, -1],
      [0.34, -1],
      [0.62, -0.54],
    ])
    shape(pen, paint.lit('#7f342a'), [
      [0.2, -0.54],
      [0.34, -1],
      [0.62, -0.54],
    ])
    shape(pen, paint.pale, [
      [-0.5, -0.54],
      [-0.16, -0.9],
      [0.19, -0.54],
    ])
    oval(pen, pane(paint, pose), [-0.16, -0.66], [0.06, 0.06])
    box(pen, paint.lit('#5d3a26'), [-0.24, -0.32, 0.17, 0.33], 0.02)
    for (const x of [-0.42, 0, 0.3]) {
      box(pen, pane(paint, pose), [x, -0.42, 0.13, 0.16], 0.01)
      stroke(pen, paint.pale, 0.014, [
        [x + 0.065, -0.42],
        [x + 0.065, -0.34],
        [x + 0.065, -0.26],
      ])
    }
  },
}

export const castle: Subject = {
  words:
    'castle palace fortress temple pagoda citadel tower kingdom church cathedral mosque castillo château schloss castello',
  habitat: 'rooted',
  kilograms: 50_000_000,
  home: 'mountains',
  colour: rgb('#b7a998'),
  height: 0.5,
  reach: { left: 0.85, right: 0.85, up: 1.32, down: 0.04 },
  draw: (pen, paint, pose) => {
    const roof = paint.lit('#4a5a86')
    const tower = ([x, width, height]: readonly [number, number, number], colour: string, peak: number) => {
      box(pen, colour, [x - width / 2, -height, width, height + 0.02])
      shape(pen, roof, [
        [x - width * 0.68, -height],
        [x, -height - peak],
        [x + width * 0.68, -height],
      ])
      shape(pen, paint.lit('#36446a'), [
        [x, -height],
        [x, -height - peak],
        [x + width * 0.68, -height],
      ])
      box(pen, pane(paint, pose), [x - 0.022, -height * 0.8, 0.044, 0.09], 0.022)
      const wind = 0.02 * breath(pose, 0.9, x)
      shape(pen, paint.lit('#d2453c'), [
        [x, -height - peak - 0.1],
        [x + 0.13, -height - peak - 0.07 + wind],
        [x, -height - peak - 0.03],
      ])
      stroke(pen, paint.ink, 0.008, [
        [x, -height - peak],
        [x, -height - peak - 0.1],
      ])
    }
    tower([-0.26, 0.2, 0.74], paint.dark, 0.26)
    tower([0.3, 0.18, 0.68], paint.dark, 0.24)
    tower([0.03, 0.26, 0.92], paint.main, 0.3)
    box(pen, paint.main, [-0.66, -0.4, 1.32, 0.42])
    for (let tooth = 0; tooth < 11; tooth++) box(pen, paint.main, [-0.66 + tooth * 0.126, -0.46, 0.066, 0.08])
    tower([-0.66, 0.22, 0.56], paint.main, 0.24)
    tower([0.66, 0.22, 0.56], paint.main, 0.24)
    blob(pen, paint.lit('#4a3020'), [
      [-0.1, 0.01],
      [-0.1, -0.2],
      [0, -0.28],
      [0.1, -0.2],
      [0.1, 0.01],
    ])
    for (const x of [-0.42, -0.26, 0.26, 0.42]) box(pen, pane(paint, pose), [x - 0.02, -0.26, 0.04, 0.09], 0.02)
  },
}

export const lighthouse: Subject = {
  words: 'lighthouse beacon faro phare leuchtturm',
  habitat: 'rooted',
  kilograms: 2_000_000,
  home: 'sea',
  colour: rgb('#d2453c'),
  height: 0.6,
  reach: { left: 1.15, right: 1.15, up: 1.12, down: 0.06 },
  half: 0.45,
  draw: (pen, paint, pose) => {
    sweep(pen, paint, pose)
    blob(pen, paint.lit('#5d5a60'), [
      [-0.42, 0.04],
      [-0.34, -0.08],
      [-0.16, -0.15],
      [0.14, -0.15],
      [0.32, -0.07],
      [0.42, 0.04],
    ])
    shape(pen, paint.lit('#f3eee4'), [
      [-0.13, -0.12],
      [-0.085, -0.84],
      [0.085, -0.84],
      [0.13, -0.12],
    ])
    for (const [low, high] of [
      [-0.24, -0.38],
      [-0.52, -0.66],
    ] as const) {
      const half = (y: number) => 0.13 - ((-y - 0.12) / 0.72) * 0.045
      shape(pen, paint.main, [
        [-half(low), low],
        [-half(high), high],
        [half(high), high],
        [half(low), low],
      ])
    }
    shape(pen, 'rgba(0,0,20,0.16)', [
      [0.03, -0.12],
      [0.02, -0.84],
      [0.085, -0.84],
      [0.13, -0.12],
    ])
    box(pen, paint.ink, [-0.12, -0.87, 0.24, 0.035], 0.01)
    box(pen, paint.glow('#ffeeb0', 0.95), [-0.06, -0.98, 0.12, 0.11], 0.01)
    blob(pen, paint.main, [
      [-0.1, -0.97],
      [-0.05, -1.04],
      [0, -1.08],
      [0.05, -1.04],
      [0.1, -0.97],
    ])
    for (const y of [-0.32, -0.58]) box(pen, paint.ink, [-0.016, y, 0.032, 0.06], 0.016)
  },
}

/** Two beams that turn: seen from the side they grow, shrink and change sides. */
function sweep(pen: Pen, paint: Paint, pose: Pose): void {
  const strength = 0.12 + 0.4 * pose.dark
  for (const half of [0, 0.5]) {
    const turn = Math.cos((pose.seconds * 0.16 + pose.phase + half) * Math.PI * 2)
    const length = 1.15 * turn
    const light = pen.createLinearGradient(0, 0, length || 0.01, 0)
    light.addColorStop(0, paint.glow('#fff1bd', strength))
    light.addColorStop(1, paint.glow('#fff1bd', 0))
    shape(pen, 'rgba(0,0,0,0)', [
      [0, -0.93],
      [length, -1.08],
      [length, -0.76],
    ])
    pen.fillStyle = light
    pen.fill()
  }
}

export const windmill: Subject = {
  words: 'windmill mill turbine molino moulin windmühle mulino',
  habitat: 'rooted',
  kilograms: 150_000,
  home: 'hills',
  colour: rgb('#e2d3bb'),
  height: 0.52,
  reach: { left: 0.62, right: 0.62, up: 1.3, down: 0.04 },
  draw: (pen, paint, pose) => {
    shape(pen, paint.main, [
      [-0.24, 0.01],
      [-0.15, -0.66],
      [0.15, -0.66],
      [0.24, 0.01],
    ])
    shape(pen, paint.dark, [
      [0.04, 0.01],
      [0.03, -0.66],
      [0.15, -0.66],
      [0.24, 0.01],
    ])
    blob(pen, paint.lit('#8f4a38'), [
      [-0.19, -0.65],
      [-0.12, -0.78],
      [0, -0.85],
      [0.12, -0.78],
      [0.19, -0.65],
    ])
    box(pen, paint.lit('#5d3a26'), [-0.055, -0.19, 0.11, 0.2], 0.05)
    for (const y of [-0.34, -0.52]) box(pen, pane(paint, pose), [-0.03, y, 0.06, 0.08], 0.02)
    within(pen, { at: [0, -0.7], turn: pose.seconds * 0.9 + pose.phase * 6 }, () => {
      for (let arm = 0; arm < 4; arm++) {
        pen.rotate(Math.PI / 2)
        stroke(pen, paint.lit('#6b4a32'), 0.022, [
          [0, 0],
          [0, -0.28],
          [0, -0.56],
        ])
        box(pen, paint.lit('#f6efdf', 0.05), [0.012, -0.55, 0.11, 0.42])
        for (const y of [-0.48, -0.38, -0.28, -0.2])
          stroke(pen, paint.lit('#b9a788'), 0.008, [
            [0.012, y],
            [0.06, y],
            [0.12, y],
          ])
      }
      oval(pen, paint.ink, [0, 0], [0.035, 0.035])
    })
  },
}

export const bridge: Subject = {
  words: 'bridge viaduct aqueduct puente pont brücke ponte',
  habitat: 'rooted',
  kilograms: 80_000_000,
  home: 'lake',
  spans: true,
  colour: rgb('#b8523a'),
  height: 0.34,
  reach: { left: 2.1, right: 2.1, up: 1.1, down: 0.35 },
  draw: (pen, paint, pose) => {
    const deck = -0.26
    for (const x of [-0.92, 0.92]) {
      box(pen, paint.dark, [x + 0.05, -1, 0.07, 1.3])
      box(pen, paint.main, [x - 0.06, -1, 0.08, 1.3])
      for (const y of [-0.94, -0.66]) box(pen, paint.main, [x - 0.06, y, 0.18, 0.05])
    }
    const sag = (x: number) => {
      const part = Math.abs(x) <= 0.92 ? x / 0.92 : (Math.abs(x) - 1.5) / 0.58
      return Math.abs(x) <= 0.92 ? -0.36 - 0.6 * part * part : -0.3 - 0.32 * (1 - part) ** 2 * 0.5
    }
    const cable = Array.from({ length: 43 }, (_, index): Point => [-2.1 + index * 0.1, sag(-2.1 + index * 0.1)])
    stroke(pen, paint.main, 0.03, cable)
    for (const [x, y] of cable)
      stroke(pen, paint.pale, 0.01, [
        [x, y],
        [x, (y + deck) / 2],
        [x, deck],
      ])
    box(pen, paint.main, [-2.1, deck, 4.2, 0.07])
    box(pen, paint.dark, [-2.1, deck + 0.06, 4.2, 0.035])
    for (let lamp = 0; lamp < 11; lamp++)
      oval(
        pen,
        paint.glow('#ffe3a0', 0.3 + 0.6 * pose.dark + 0.1 * breath(pose, 0.5, lamp * 0.3)),
        [-2 + lamp * 0.4, deck - 0.04],
        [0.025, 0.025],
      )
  },
}
