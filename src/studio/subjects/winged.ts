import { blink } from '../animal.ts'
import { rgb } from '../palette.ts'
import { blob, oval, type Point, shape, stroke, within } from '../shapes.ts'
import type { Pen } from '../stage.ts'
import { breath, type Paint, type Pose, type Subject, wave } from './subject.ts'

/** A wing from the shoulder: its inner part beats first, its tip follows. Beat is 1 up, -1 down. */
function wing(pen: Pen, colours: readonly [string, string], beat: number, late: number, length = 0.95): void {
  const [feathers, cover] = colours
  const elbow: Point = [-0.05, -0.36 * beat * length]
  const tip: Point = [-0.42 * length, -(0.42 * beat + 0.5 * late) * length]
  const fold = 0.5 + 0.5 * Math.abs(beat)
  blob(pen, feathers, [
    [0.2, 0],
    [elbow[0] + 0.24, elbow[1]],
    [tip[0] + 0.28, tip[1] * 0.92],
    tip,
    [tip[0] - 0.02, tip[1] * 0.78 + 0.06],
    [-0.34 * fold, elbow[1] * 0.9 + 0.1],
    [-0.3, 0.06],
  ])
  blob(pen, cover, [
    [0.18, 0],
    [elbow[0] + 0.2, elbow[1] * 0.95],
    [tip[0] * 0.4, tip[1] * 0.66],
    [-0.12, elbow[1] * 0.6],
    [-0.16, 0.03],
  ])
}

/** Gliding when it floats; standing folds its wings. */
function beats(pose: Pose): readonly [number, number] {
  if (pose.gait === 'float' || pose.gait === 'idle')
    return [0.45 + 0.1 * breath(pose, 0.3), 0.5 + 0.14 * breath(pose, 0.3, -0.1)]
  return [wave(pose, 1), wave(pose, 1, -0.14)]
}

export const bird: Subject = {
  words:
    'bird dove pigeon swallow gull seagull sparrow robin crow raven parrot hummingbird flamingo crane heron swan duck goose stork pájaro oiseau vogel',
  habitat: 'air',
  kilograms: 0.3,
  home: 'sky',
  colour: rgb('#4f7fb8'),
  height: 0.2,
  reach: { left: 0.95, right: 0.85, up: 1.05, down: 0.95 },
  many: 5,
  draw: (pen, paint, pose) => {
    const [beat, late] = beats(pose)
    within(pen, { at: [0, -0.08 * beat], turn: -0.06 }, () => {
      within(pen, { at: [0.14, -0.08] }, () => wing(pen, [paint.dark, paint.dark], beat * 0.92, late * 0.92))
      shape(pen, paint.dark, [
        [-0.34, -0.02],
        [-0.86, -0.1],
        [-0.72, 0.02],
        [-0.84, 0.14],
      ])
      blob(pen, paint.main, [
        [-0.42, 0.02],
        [-0.1, -0.15],
        [0.28, -0.16],
        [0.46, -0.08],
        [0.3, 0.1],
        [0, 0.16],
      ])
      blob(pen, paint.pale, [
        [-0.28, 0.06],
        [0.1, 0.02],
        [0.4, 0],
        [0.26, 0.11],
        [0, 0.16],
      ])
      oval(pen, paint.main, [0.48, -0.14], [0.155, 0.145])
      shape(pen, paint.lit('#eda63a'), [
        [0.6, -0.2],
        [0.82, -0.12],
        [0.6, -0.06],
      ])
      oval(pen, paint.ink, [0.53, -0.18], [0.026, 0.028 * blink(pose)])
      within(pen, { at: [0.08, -0.08] }, () => wing(pen, [paint.main, paint.pale], beat, late))
    })
  },
}

export const eagle: Subject = {
  words: 'eagle hawk falcon condor vulture phoenix águila aigle adler',
  habitat: 'air',
  kilograms: 5,
  home: 'mountains',
  colour: rgb('#5a3d2a'),
  height: 0.3,
  reach: { left: 1, right: 0.85, up: 1.15, down: 1 },
  draw: (pen, paint, pose) => {
    const [beat, late] = beats({ ...pose, turns: pose.turns * 0.6 })
    within(pen, { at: [0, -0.06 * beat] }, () => {
      within(pen, { at: [0.12, -0.06] }, () => wing(pen, [paint.dark, paint.dark], beat * 0.9, late * 0.9, 1.15))
      shape(pen, paint.lit('#efe8da'), [
        [-0.36, -0.04],
        [-0.82, -0.08],
        [-0.84, 0.02],
        [-0.8, 0.1],
        [-0.34, 0.08],
      ])
      blob(pen, paint.main, [
        [-0.46, 0.02],
        [-0.1, -0.14],
        [0.28, -0.15],
        [0.46, -0.06],
        [0.28, 0.09],
        [-0.1, 0.13],
      ])
      oval(pen, paint.lit('#f5efe2'), [0.47, -0.11], [0.15, 0.125])
      blob(pen, paint.lit('#f0b429'), [
        [0.58, -0.15],
        [0.72, -0.13],
        [0.76, -0.03],
        [0.7, -0.06],
        [0.58, -0.06],
      ])
      oval(pen, paint.ink, [0.53, -0.14], [0.022, 0.02])
      within(pen, { at: [0.06, -0.06] }, () => wing(pen, [paint.main, paint.dark], beat, late, 1.15))
    })
  },
}

export const owl: Subject = {
  words: 'owl owlet búho hibou eule gufo',
  habitat: 'air',
  kilograms: 1.5,
  home: 'forest',
  altitude: 0.42,
  colour: rgb('#8a6642'),
  height: 0.3,
  reach: { left: 1.05, right: 1.05, up: 0.85, down: 0.75 },
  draw: (pen, paint, pose) => {
    const beat = beats(pose)[0]
    for (const side of [-1, 1]) {
      within(pen, { at: [0.18 * side, -0.1], scale: [side, 1], turn: 0 }, () => {
        const tip = -0.55 * beat
        blob(pen, paint.dark, [
          [0, -0.1],
          [0.4, tip * 0.7 - 0.14],
          [0.82, tip - 0.02],
          [0.86, tip + 0.16],
          [0.62, tip * 0.6 + 0.26],
          [0.34, 0.24],
          [0.05, 0.22],
        ])
        blob(pen, paint.main, [
          [0, -0.1],
          [0.36, tip * 0.7 - 0.1],
          [0.62, tip * 0.9],
          [0.42, tip * 0.5 + 0.14],
          [0.1, 0.12],
        ])
      })
    }
    shape(pen, paint.dark, [
      [-0.14, 0.34],
      [0.14, 0.34],
      [0.2, 0.62],
      [0, 0.56],
      [-0.2, 0.62],
    ])
    blob(pen, paint.main, [
      [0, -0.3],
      [0.27, -0.16],
      [0.28, 0.16],
      [0.12, 0.42],
      [-0.12, 0.42],
      [-0.28, 0.16],
      [-0.27, -0.16],
    ])
    blob(pen, paint.pale, [
      [0, -0.06],
      [0.17, 0.06],
      [0.12, 0.34],
      [-0.12, 0.34],
      [-0.17, 0.06],
    ])
    for (let row = 0; row < 3; row++)
      for (const x of [-0.08, 0, 0.08]) oval(pen, paint.dark, [x, 0.08 + row * 0.08], [0.018, 0.026])
    owlFace(pen, paint, pose)
  },
}

function owlFace(pen: Pen, paint: Paint, pose: Pose): void {
  within(pen, { at: [0, -0.32], turn: 0.1 * breath(pose, 0.15) }, () => {
    for (const side of [-1, 1])
      shape(pen, paint.dark, [
        [0.08 * side, -0.18],
        [0.3 * side, -0.38],
        [0.28 * side, -0.08],
      ])
    oval(pen, paint.main, [0, 0], [0.31, 0.27])
    for (const side of [-1, 1]) {
      oval(pen, paint.pale, [0.125 * side, 0], [0.145, 0.155])
      oval(pen, paint.glow('#ffc53d', 0.95), [0.12 * side, -0.01], [0.085, 0.085 * blink(pose)])
      oval(pen, paint.ink, [0.12 * side, -0.01], [0.045, 0.048 * blink(pose)])
    }
    shape(pen, paint.lit('#e0a030'), [
      [-0.05, 0.04],
      [0.05, 0.04],
      [0, 0.17],
    ])
  })
}

export const butterfly: Subject = {
  words: 'butterfly moth bee dragonfly ladybug insect mariposa papillon schmetterling farfalla',
  habitat: 'air',
  kilograms: 0.001,
  home: 'hills',
  altitude: 0.52,
  colour: rgb('#f0902c'),
  height: 0.17,
  reach: { left: 1, right: 1, up: 1, down: 0.85 },
  many: 5,
  draw: (pen, paint, pose) => {
    const open = 0.32 + 0.68 * Math.abs(wave(pose, 0.5))
    within(pen, { at: [0, 0], turn: 0.28 + 0.1 * breath(pose, 0.4) }, () => {
      for (const side of [-1, 1]) {
        within(pen, { at: [0, 0], scale: [side * open, 1] }, () => {
          blob(pen, paint.ink, [
            [0.02, -0.1],
            [0.4, -0.72],
            [0.86, -0.74],
            [0.9, -0.4],
            [0.6, 0],
            [0.05, 0.05],
          ])
          blob(pen, paint.main, [
            [0.06, -0.12],
            [0.42, -0.62],
            [0.78, -0.64],
            [0.8, -0.42],
            [0.54, -0.07],
            [0.08, 0.02],
          ])
          blob(pen, paint.ink, [
            [0.03, 0],
            [0.6, 0.04],
            [0.7, 0.36],
            [0.42, 0.7],
            [0.2, 0.5],
            [0.04, 0.2],
          ])
          blob(pen, paint.main, [
            [0.06, 0.04],
            [0.54, 0.09],
            [0.6, 0.34],
            [0.4, 0.58],
            [0.22, 0.42],
            [0.07, 0.18],
          ])
          oval(pen, paint.pale, [0.56, -0.44], [0.12, 0.1])
          oval(pen, paint.pale, [0.4, 0.28], [0.09, 0.09])
        })
      }
      blob(pen, paint.ink, [
        [0, -0.3],
        [0.06, -0.2],
        [0.05, 0.2],
        [0, 0.42],
        [-0.05, 0.2],
        [-0.06, -0.2],
      ])
      for (const side of [-1, 1])
        stroke(pen, paint.ink, 0.022, [
          [0.02 * side, -0.28],
          [0.1 * side, -0.5],
          [0.22 * side, -0.58],
        ])
    })
  },
}
