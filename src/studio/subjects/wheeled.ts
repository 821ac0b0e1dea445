import { rgb } from '../palette.ts'
import { kneeOf } from '../quadruped.ts'
import { blob, box, oval, type Point, shape, stroke, within } from '../shapes.ts'
import type { Pen } from '../stage.ts'
import { breath, type Paint, type Pose, type Subject, wave } from './subject.ts'

function wheel(pen: Pen, paint: Paint, pose: Pose, at: Point, radius: number): void {
  oval(pen, paint.ink, at, [radius, radius])
  oval(pen, paint.lit('#b9bec6'), at, [radius * 0.58, radius * 0.58])
  within(pen, { at, turn: pose.turns * Math.PI * 2 }, () => {
    for (let spoke = 0; spoke < 5; spoke++) {
      pen.rotate((Math.PI * 2) / 5)
      box(pen, paint.lit('#6b717b'), [-radius * 0.06, 0, radius * 0.12, radius * 0.52])
    }
  })
  oval(pen, paint.lit('#e6e8ec'), at, [radius * 0.14, radius * 0.14])
}

/** A cone of light in front of a lamp; nothing by day. */
function beam(pen: Pen, paint: Paint, pose: Pose, at: Point): void {
  oval(pen, paint.glow('#fff2c4', 0.9), at, [0.04, 0.045])
  if (pose.dark < 0.3) return
  const light = pen.createLinearGradient(at[0], 0, at[0] + 1.1, 0)
  light.addColorStop(0, paint.glow('#ffeeb8', 0.5 * pose.dark))
  light.addColorStop(1, paint.glow('#ffeeb8', 0))
  pen.fillStyle = light
  pen.beginPath()
  pen.moveTo(at[0], at[1] - 0.03)
  pen.lineTo(at[0] + 1.1, at[1] - 0.12)
  pen.lineTo(at[0] + 1.1, 0)
  pen.lineTo(at[0], at[1] + 0.04)
  pen.fill()
}

const glass = (paint: Paint, pose: Pose) => (pose.dark > 0.5 ? paint.glow('#ffdf9a', 0.75) : paint.lit('#bcd9e8', 0.15))

export const car: Subject = {
  words: 'car taxi automobile convertible racecar sedan jeep coche voiture auto macchina',
  habitat: 'ground',
  kilograms: 1_400,
  rolls: true,
  home: 'city',
  colour: rgb('#cf3a33'),
  height: 0.22,
  reach: { left: 1.3, right: 2.3, up: 1.05, down: 0.04 },
  draw: (pen, paint, pose) => {
    within(pen, { at: [0, 0.008 * wave(pose, 3)] }, () => {
      blob(pen, paint.main, [
        [-1.2, -0.34],
        [-1.12, -0.56],
        [-0.74, -0.62],
        [-0.46, -0.92],
        [-0.1, -0.98],
        [0.28, -0.94],
        [0.62, -0.64],
        [1.06, -0.54],
        [1.2, -0.36],
        [1.16, -0.18],
        [-1.14, -0.18],
      ])
      shape(pen, glass(paint, pose), [
        [-0.58, -0.62],
        [-0.36, -0.86],
        [-0.02, -0.89],
        [-0.02, -0.62],
      ])
      shape(pen, glass(paint, pose), [
        [0.05, -0.62],
        [0.05, -0.89],
        [0.26, -0.86],
        [0.5, -0.62],
      ])
      stroke(pen, paint.pale, 0.03, [
        [-1.06, -0.52],
        [0, -0.56],
        [1.04, -0.48],
      ])
      stroke(pen, paint.dark, 0.018, [
        [0.02, -0.6],
        [0.04, -0.4],
        [0.02, -0.24],
      ])
      box(pen, paint.dark, [-1.14, -0.26, 2.3, 0.1], 0.04)
      box(pen, paint.glow('#ff4b3a', 0.9), [-1.2, -0.46, 0.07, 0.1], 0.02)
    })
    for (const x of [-0.68, 0.7]) wheel(pen, paint, pose, [x, -0.22], 0.22)
    beam(pen, paint, pose, [1.13, -0.42])
  },
}

export const bus: Subject = {
  words: 'bus truck van lorry tram trolley minibus camper autobús camion',
  habitat: 'ground',
  kilograms: 11_000,
  rolls: true,
  home: 'city',
  colour: rgb('#e0a028'),
  height: 0.34,
  reach: { left: 1.2, right: 2.2, up: 1.05, down: 0.04 },
  draw: (pen, paint, pose) => {
    within(pen, { at: [0, 0.006 * wave(pose, 2)] }, () => {
      box(pen, paint.main, [-1.12, -1, 2.24, 0.86], 0.1)
      box(pen, paint.dark, [-1.12, -0.3, 2.24, 0.16], 0.04)
      for (let window = 0; window < 5; window++)
        box(pen, glass(paint, pose), [-1.0 + window * 0.36, -0.86, 0.3, 0.34], 0.04)
      box(pen, glass(paint, pose), [0.82, -0.86, 0.26, 0.4], 0.05)
      box(pen, paint.pale, [-1.12, -0.46, 2.24, 0.05])
      for (let head = 0; head < 4; head++) oval(pen, paint.lit('#4a4350'), [-0.85 + head * 0.36, -0.58], [0.06, 0.08])
      box(pen, paint.glow('#ff4b3a', 0.9), [-1.13, -0.42, 0.04, 0.12], 0.02)
    })
    for (const x of [-0.66, 0.68]) wheel(pen, paint, pose, [x, -0.16], 0.16)
    beam(pen, paint, pose, [1.08, -0.28])
  },
}

export const train: Subject = {
  words: 'train locomotive railway railroad tren zug treno',
  habitat: 'ground',
  kilograms: 400_000,
  rolls: true,
  home: 'hills',
  colour: rgb('#2f5d50'),
  height: 0.3,
  reach: { left: 2.6, right: 2.0, up: 1.75, down: 0.1 },
  draw: (pen, paint, pose) => {
    for (let puff = 0; puff < 9; puff++) {
      const age = (pose.seconds * 0.4 + puff / 9 + pose.phase) % 1
      oval(
        pen,
        paint.glow('#f2f1ee', 0.5 * (1 - age) ** 1.3),
        [0.98 - age * 2.6, -1.16 - age * 0.34],
        [0.08 + age * 0.3, 0.08 + age * 0.2],
      )
    }
    box(pen, paint.lit('#4b443f'), [-2.55, -0.02, 4.1, 0.05], 0.01)
    const jolt = 0.008 * wave(pose, 2)
    for (const [index, x] of [-2.5, -1.28].entries()) {
      box(pen, index ? paint.main : paint.dark, [x, -0.86 + jolt, 1.12, 0.66], 0.06)
      box(pen, paint.pale, [x, -0.42 + jolt, 1.12, 0.05])
      for (let window = 0; window < 4; window++)
        box(pen, glass(paint, pose), [x + 0.1 + window * 0.25, -0.74 + jolt, 0.17, 0.24], 0.03)
      for (const part of [0.24, 0.88]) wheel(pen, paint, pose, [x + part, -0.1], 0.11)
    }
    drawEngine(pen, paint, pose, jolt)
    beam(pen, paint, pose, [1.5, -0.66])
  },
}

function drawEngine(pen: Pen, paint: Paint, pose: Pose, jolt: number): void {
  box(pen, paint.main, [-0.06, -1.02 + jolt, 0.52, 0.82], 0.05)
  box(pen, paint.dark, [-0.12, -1.08 + jolt, 0.64, 0.1], 0.04)
  box(pen, glass(paint, pose), [0.06, -0.9 + jolt, 0.28, 0.26], 0.03)
  box(pen, paint.main, [0.42, -0.78 + jolt, 1.06, 0.5], 0.16)
  box(pen, paint.pale, [0.5, -0.74 + jolt, 0.9, 0.07], 0.03)
  for (const x of [0.7, 1.08]) box(pen, paint.lit('#d8b25a'), [x, -0.78 + jolt, 0.05, 0.5])
  shape(pen, paint.dark, [
    [0.86, -0.76 + jolt],
    [0.82, -1.12 + jolt],
    [1.14, -1.12 + jolt],
    [1.08, -0.76 + jolt],
  ])
  shape(pen, paint.lit('#a8322c'), [
    [1.42, -0.3],
    [1.72, 0],
    [1.3, 0],
  ])
  box(pen, paint.lit('#a8322c'), [0, -0.3 + jolt, 1.46, 0.08], 0.02)
  for (const x of [0.22, 0.66, 1.1]) wheel(pen, paint, pose, [x, -0.17], 0.18)
  const crank = pose.turns * Math.PI * 2
  stroke(pen, paint.lit('#d9dde3'), 0.035, [
    [0.22 + 0.09 * Math.cos(crank), -0.17 + 0.09 * Math.sin(crank)],
    [1.1 + 0.09 * Math.cos(crank), -0.17 + 0.09 * Math.sin(crank)],
  ])
}

export const bicycle: Subject = {
  words: 'bicycle bike cyclist cycling motorcycle scooter bicicleta vélo fahrrad',
  habitat: 'ground',
  kilograms: 12,
  rolls: true,
  home: 'hills',
  colour: rgb('#2f7fb8'),
  height: 0.36,
  reach: { left: 0.65, right: 0.75, up: 1.08, down: 0.04 },
  draw: (pen, paint, pose) => {
    const tube = (points: readonly Point[]) => stroke(pen, paint.main, 0.032, points)
    const crank = pose.turns * Math.PI * 2
    const pedal = (half: number): Point => [
      -0.02 + 0.085 * Math.cos(crank + half),
      -0.2 + 0.085 * Math.sin(crank + half),
    ]
    const hip: Point = [-0.16, -0.62]
    const leg = (half: number, colour: string) =>
      stroke(pen, colour, 0.075, [hip, kneeOf(hip, pedal(half), 0.5, 0.9), pedal(half)])
    leg(Math.PI, paint.lit('#2b3348'))
    for (const x of [-0.38, 0.4]) hoop(pen, paint, crank, [x, -0.23])
    tube([
      [-0.38, -0.23],
      [-0.02, -0.2],
    ])
    tube([
      [-0.02, -0.2],
      [-0.14, -0.52],
    ])
    tube([
      [-0.38, -0.23],
      [-0.13, -0.48],
      [0.3, -0.5],
    ])
    tube([
      [-0.02, -0.2],
      [0.3, -0.48],
    ])
    tube([
      [0.4, -0.23],
      [0.3, -0.5],
      [0.28, -0.6],
    ])
    stroke(pen, paint.ink, 0.035, [
      [-0.22, -0.55],
      [-0.08, -0.55],
    ])
    stroke(pen, paint.ink, 0.03, [
      [0.22, -0.62],
      [0.3, -0.61],
      [0.36, -0.56],
    ])
    leg(0, paint.lit('#39435e'))
    blob(pen, paint.lit('#d9573f'), [
      [-0.22, -0.6],
      [-0.16, -0.76],
      [0.02, -0.9],
      [0.1, -0.84],
      [0, -0.7],
      [-0.08, -0.58],
    ])
    stroke(pen, paint.lit('#e0ac84'), 0.05, [
      [0.04, -0.84],
      [0.14, -0.7],
      [0.29, -0.63],
    ])
    oval(pen, paint.lit('#e0ac84'), [0.14, -0.96], [0.075, 0.085])
    blob(pen, paint.pale, [
      [0.04, -0.97],
      [0.1, -1.06],
      [0.22, -1.02],
      [0.22, -0.97],
    ])
    stroke(pen, paint.lit('#d9573f'), 0.02, [
      [-0.02, -0.86],
      [-0.2, -0.84 + 0.03 * breath(pose, 2)],
      [-0.32, -0.8 + 0.05 * breath(pose, 2, 0.2)],
    ])
  },
}

function hoop(pen: Pen, paint: Paint, turn: number, at: Point): void {
  pen.strokeStyle = paint.ink
  pen.lineWidth = 0.03
  pen.beginPath()
  pen.arc(at[0], at[1], 0.21, 0, Math.PI * 2)
  pen.stroke()
  within(pen, { at, turn }, () => {
    for (let spoke = 0; spoke < 6; spoke++) {
      pen.rotate(Math.PI / 6)
      stroke(pen, paint.lit('#c9ced6'), 0.006, [
        [-0.2, 0],
        [0.2, 0],
      ])
    }
  })
}
