import { rgb } from '../palette.ts'
import { blob, box, oval, type Point, shape, stroke } from '../shapes.ts'
import { breath, type Subject } from './subject.ts'

export const boat: Subject = {
  words: 'boat sailboat yacht sailing canoe kayak rowboat dinghy gondola raft barco bateau vela',
  habitat: 'surface',
  kilograms: 1_500,
  home: 'sea',
  colour: rgb('#b5482f'),
  height: 0.44,
  reach: { left: 0.65, right: 0.7, up: 1.12, down: 0.14 },
  draw: (pen, paint, pose) => {
    const fill = 0.05 + 0.025 * breath(pose, 0.35)
    const cloth = paint.lit('#fbf3e4', 0.1)
    stroke(pen, paint.lit('#5b4030'), 0.022, [
      [0.02, -0.1],
      [0.01, -1.06],
    ])
    blob(pen, cloth, [
      [-0.03, -1.0],
      [-0.06, -0.86],
      [-0.3 - fill, -0.46],
      [-0.48 - fill * 0.4, -0.2],
      [-0.2, -0.16],
      [-0.03, -0.17],
      [-0.02, -0.6],
    ])
    pen.fillStyle = paint.lit('#e7d6bd')
    pen.beginPath()
    pen.moveTo(0.05, -0.98)
    pen.quadraticCurveTo(0.42 + fill * 2, -0.44, 0.56, -0.18)
    pen.quadraticCurveTo(0.3 + fill, -0.14, 0.06, -0.2)
    pen.closePath()
    pen.fill()
    shape(pen, paint.main, [
      [0.02, -1.12],
      [-0.16, -1.08 + 0.01 * breath(pose, 1.6)],
      [0.02, -1.03],
    ])
    pen.fillStyle = paint.main
    pen.beginPath()
    pen.moveTo(-0.58, -0.13)
    pen.quadraticCurveTo(0, -0.06, 0.66, -0.17)
    pen.quadraticCurveTo(0.52, 0.05, 0.34, 0.09)
    pen.lineTo(-0.38, 0.09)
    pen.quadraticCurveTo(-0.52, 0.04, -0.58, -0.13)
    pen.fill()
    stroke(pen, paint.pale, 0.022, [
      [-0.57, -0.11],
      [0, -0.045],
      [0.63, -0.14],
    ])
  },
}

export const ship: Subject = {
  words: 'ship steamer ferry liner freighter tanker galleon pirate vessel cruise barge navire schiff',
  habitat: 'surface',
  kilograms: 100_000_000,
  home: 'sea',
  colour: rgb('#36475e'),
  height: 0.4,
  reach: { left: 1.35, right: 1.4, up: 1.1, down: 0.16 },
  draw: (pen, paint, pose) => {
    for (let puff = 0; puff < 6; puff++) {
      const age = (pose.seconds * 0.22 + puff / 6 + pose.phase) % 1
      oval(
        pen,
        paint.glow('#dfe3ea', 0.32 * (1 - age)),
        [-0.12 - age * 0.95, -0.9 - age * 0.16],
        [0.05 + age * 0.15, 0.045 + age * 0.1],
      )
    }
    const white = paint.lit('#f1ede4')
    box(pen, white, [-0.62, -0.42, 1.1, 0.24], 0.03)
    box(pen, paint.lit('#dcd6ca'), [-0.42, -0.58, 0.72, 0.18], 0.03)
    box(pen, white, [0.06, -0.7, 0.22, 0.14], 0.02)
    for (const x of [-0.3, -0.04]) {
      box(pen, paint.lit('#c8413a'), [x, -0.86, 0.15, 0.3], 0.02)
      box(pen, paint.ink, [x, -0.88, 0.15, 0.07], 0.02)
    }
    stroke(pen, paint.lit('#8a8f98'), 0.014, [
      [0.7, -0.2],
      [0.68, -0.8],
    ])
    for (let port = 0; port < 10; port++)
      box(pen, paint.glow('#ffe3a0', 0.35 + 0.6 * pose.dark), [-0.54 + port * 0.1, -0.34, 0.045, 0.06], 0.015)
    for (let port = 0; port < 6; port++)
      box(pen, paint.glow('#ffe3a0', 0.35 + 0.6 * pose.dark), [-0.34 + port * 0.1, -0.53, 0.045, 0.055], 0.015)
    const hull: Point[] = [
      [-1.2, -0.24],
      [1.34, -0.3],
      [1.12, 0.1],
      [-1.02, 0.1],
    ]
    shape(pen, paint.main, hull)
    shape(pen, paint.lit('#a8322c'), [
      [-1.08, 0],
      [1.18, 0],
      [1.12, 0.1],
      [-1.02, 0.1],
    ])
    stroke(pen, paint.pale, 0.02, [
      [-1.18, -0.2],
      [0, -0.2],
      [1.28, -0.25],
    ])
    blob(pen, paint.glow('#ffffff', 0.4), [
      [1.0, 0.1],
      [1.22, 0.02],
      [1.36, 0.1],
      [1.18, 0.13],
    ])
  },
}
