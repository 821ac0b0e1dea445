import { rgb } from '../palette.ts'
import { blob, oval, type Point, shape, stroke, taper, within } from '../shapes.ts'
import type { Pen } from '../stage.ts'
import { breath, type Paint, type Pose, type Subject, wave } from './subject.ts'

/** Its spine is a travelling wave, and everything else grows on it. */
function spine(pose: Pose): Point[] {
  return Array.from({ length: 15 }, (_, index): Point => {
    const share = index / 14
    const x = 1.0 - share * 2.5
    const sway = 0.14 * Math.sin((share * 1.4 - pose.turns * 0.4 - pose.phase) * Math.PI * 2) * (0.15 + share)
    const arch = share < 0.3 ? -0.34 * (1 - share / 0.3) ** 2 : 0
    return [x, sway + arch]
  })
}

function drawWing(pen: Pen, colours: readonly [string, string], beat: number, late: number): void {
  const [skin, bone] = colours
  const wrist: Point = [-0.02, -0.62 * beat]
  const tips: Point[] = [
    [-0.62, -(0.55 * beat + 0.55 * late)],
    [-0.9, -(0.3 * beat + 0.4 * late)],
    [-0.86, -(0.14 * beat + 0.12 * late) + 0.04],
  ]
  pen.fillStyle = skin
  pen.beginPath()
  pen.moveTo(0.16, 0)
  pen.quadraticCurveTo(0.24, wrist[1] * 0.5, ...wrist)
  let previous = wrist
  for (const tip of tips) {
    pen.quadraticCurveTo((previous[0] + tip[0]) / 2 + 0.14, (previous[1] + tip[1]) / 2 + 0.12, ...tip)
    previous = tip
  }
  pen.quadraticCurveTo(-0.4, 0.02, -0.22, 0.06)
  pen.closePath()
  pen.fill()
  stroke(pen, bone, 0.045, [[0.14, 0], [0.18, wrist[1] * 0.55], wrist])
  for (const tip of tips)
    stroke(pen, bone, 0.022, [wrist, [(wrist[0] + tip[0]) / 2, (wrist[1] + tip[1]) / 2 - 0.02], tip])
}

function drawHead(pen: Pen, paint: Paint, pose: Pose, at: Point): void {
  within(pen, { at, turn: 0.12 + 0.06 * breath(pose, 0.3) }, () => {
    for (const shift of [0.05, 0])
      taper(
        pen,
        paint.lit('#e6d3a8'),
        [
          [0.02 + shift, -0.1],
          [-0.16 + shift, -0.22],
          [-0.34 + shift, -0.24],
        ],
        [0.07, 0.01],
      )
    blob(pen, paint.main, [
      [-0.12, -0.06],
      [0.06, -0.16],
      [0.24, -0.1],
      [0.46, -0.06],
      [0.48, 0.02],
      [0.26, 0.04],
      [0.04, 0.12],
      [-0.12, 0.1],
    ])
    blob(pen, paint.dark, [
      [0.02, 0.08],
      [0.26, 0.06],
      [0.42, 0.07],
      [0.24, 0.13],
      [0.06, 0.14],
    ])
    oval(pen, paint.glow('#ffd84a'), [0.17, -0.06], [0.034, 0.026])
    oval(pen, paint.ink, [0.18, -0.06], [0.01, 0.024])
    oval(pen, paint.ink, [0.43, -0.03], [0.014, 0.01])
    const fire = Math.max(0, breath(pose, 0.28, 0.1))
    for (const [reach, colour, alpha] of [
      [0.62, '#ff7a1f', 0.5],
      [0.46, '#ffb02e', 0.75],
      [0.28, '#fff3b0', 0.95],
    ] as const) {
      const length = reach * fire * (1 + 0.12 * breath(pose, 6))
      if (length > 0.02)
        blob(pen, paint.glow(colour, alpha), [
          [0.44, 0.05],
          [0.44 + length * 0.6, -0.07 * fire],
          [0.44 + length, 0.06],
          [0.44 + length * 0.6, 0.17 * fire],
        ])
    }
  })
}

export const dragon: Subject = {
  words: 'dragon wyvern dinosaur drake dragón drache drago',
  habitat: 'air',
  kilograms: 4_000,
  home: 'mountains',
  colour: rgb('#3f8f58'),
  height: 0.34,
  reach: { left: 1.75, right: 2.15, up: 1.35, down: 1.2 },
  draw: (pen, paint, pose) => {
    const line = spine(pose)
    const at = (index: number): Point => line[index] ?? [0, 0]
    const [beat, late] = [0.25 + 0.75 * wave(pose, 0.5), 0.25 + 0.75 * wave(pose, 0.5, -0.12)]
    within(pen, { at: [at(5)[0] + 0.12, at(5)[1] - 0.1] }, () =>
      drawWing(pen, [paint.dark, paint.dark], beat * 0.95, late * 0.95),
    )
    const end = at(14)
    shape(pen, paint.dark, [
      [end[0] + 0.1, end[1]],
      [end[0] - 0.16, end[1] - 0.14],
      [end[0] - 0.1, end[1]],
      [end[0] - 0.16, end[1] + 0.14],
    ])
    for (const foot of [4, 8])
      taper(
        pen,
        paint.dark,
        [
          at(foot),
          [at(foot)[0] - 0.02, at(foot)[1] + 0.2],
          [at(foot)[0] - 0.16, at(foot)[1] + 0.3 + 0.02 * breath(pose)],
        ],
        [0.14, 0.05],
      )
    for (let index = 1; index < 13; index++) {
      const [x, y] = at(index)
      const size = 0.1 * Math.sin((index / 14) * Math.PI) + 0.03
      shape(pen, paint.pale, [
        [x + 0.07, y - size],
        [x - 0.06, y - size * 2.1],
        [x - 0.07, y - size * 0.8],
      ])
    }
    taper(pen, paint.main, line.slice(0, 6), [0.17, 0.36])
    taper(pen, paint.main, line.slice(5), [0.36, 0.03])
    taper(
      pen,
      paint.pale,
      line.slice(2, 10).map(([x, y], index): Point => [x, y + 0.08 + 0.035 * Math.sin((index / 7) * Math.PI)]),
      [0.06, 0.06],
    )
    drawHead(pen, paint, pose, at(0))
    within(pen, { at: [at(5)[0], at(5)[1] - 0.08] }, () => drawWing(pen, [paint.pale, paint.main], beat, late))
  },
}
