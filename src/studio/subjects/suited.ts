import { blink } from '../animal.ts'
import { onTwoLegs } from '../biped.ts'
import { rgb } from '../palette.ts'
import { blob, box, oval, shape, stroke, within } from '../shapes.ts'
import { breath, type Subject } from './subject.ts'

export const astronaut: Subject = {
  words: 'astronaut cosmonaut spaceman spacewalk diver astronauta astronaute',
  habitat: 'ground',
  kilograms: 120,
  home: 'space',
  colour: rgb('#eef0f4'),
  height: 0.46,
  reach: { left: 0.5, right: 0.5, up: 1.1, down: 0.04 },
  draw: (pen, paint, pose) => {
    const clothes = {
      trousers: paint.main,
      far: paint.dark,
      sleeve: paint.main,
      farSleeve: paint.dark,
      skin: paint.lit('#d2653c'),
      shoe: paint.lit('#8b95a3'),
      leg: 0.17,
      arm: 0.12,
    }
    box(pen, paint.dark, [-0.22, -0.82, 0.2, 0.34], 0.05)
    onTwoLegs(pen, clothes, pose, () => {
      blob(pen, paint.main, [
        [-0.14, -0.44],
        [-0.15, -0.66],
        [-0.1, -0.8],
        [0.1, -0.8],
        [0.15, -0.66],
        [0.14, -0.44],
        [0, -0.41],
      ])
      box(pen, paint.lit('#c9ced6'), [-0.03, -0.68, 0.14, 0.1], 0.02)
      for (const [x, colour] of [
        [0, '#ff5a4a'],
        [0.035, '#ffd84a'],
        [0.07, '#58d68d'],
      ] as const)
        oval(pen, paint.glow(colour, 0.95), [x, -0.63], [0.011, 0.011])
      box(pen, paint.lit('#d2653c'), [-0.14, -0.5, 0.28, 0.03])
      oval(pen, paint.main, [0.02, -0.92], [0.145, 0.145])
      oval(pen, paint.lit('#2c3a55'), [0.055, -0.915], [0.1, 0.09])
      blob(pen, paint.glow('#ffd9a0', 0.55), [
        [0, -0.95],
        [0.06, -0.99],
        [0.12, -0.96],
        [0.06, -0.945],
      ])
    })
  },
}

export const robot: Subject = {
  words: 'robot android cyborg mech droid automaton robota',
  habitat: 'ground',
  kilograms: 150,
  home: 'city',
  colour: rgb('#8fa3b8'),
  height: 0.4,
  reach: { left: 0.5, right: 0.5, up: 1.2, down: 0.04 },
  draw: (pen, paint, pose) => {
    const joint = paint.lit('#4d5866')
    const clothes = {
      trousers: joint,
      far: paint.lit('#394350'),
      sleeve: joint,
      farSleeve: paint.lit('#394350'),
      skin: paint.main,
      shoe: paint.main,
      leg: 0.1,
      arm: 0.075,
    }
    onTwoLegs(pen, clothes, pose, () => {
      box(pen, paint.main, [-0.17, -0.8, 0.34, 0.36], 0.05)
      box(pen, paint.dark, [0.07, -0.8, 0.1, 0.36], 0.04)
      box(pen, paint.lit('#2b333e'), [-0.1, -0.72, 0.2, 0.12], 0.02)
      const pulse = 0.55 + 0.45 * breath(pose, 0.7)
      for (let bar = 0; bar < 4; bar++)
        box(pen, paint.glow('#58e0c8', 0.4 + 0.6 * Math.max(0, breath(pose, 0.7, bar * 0.14))), [
          -0.08 + bar * 0.043,
          -0.7,
          0.028,
          0.08,
        ])
      oval(pen, paint.glow('#ffb02e', pulse), [0, -0.53], [0.028, 0.028])
      box(pen, joint, [-0.04, -0.85, 0.08, 0.07])
      within(pen, { at: [0.01, -0.95], turn: 0.07 * breath(pose, 0.2) }, () => {
        stroke(pen, joint, 0.016, [
          [0, -0.1],
          [0.01, -0.17],
        ])
        oval(pen, paint.glow('#ff5a4a', pulse), [0.01, -0.185], [0.022, 0.022])
        box(pen, paint.main, [-0.14, -0.11, 0.29, 0.21], 0.05)
        box(pen, paint.pale, [-0.12, -0.1, 0.25, 0.03], 0.015)
        for (const x of [-0.045, 0.075])
          oval(pen, paint.glow('#7cf3ff', 0.95), [x, -0.02], [0.036, 0.036 * blink(pose)])
        shape(pen, joint, [
          [-0.05, 0.05],
          [0.09, 0.05],
          [0.08, 0.068],
          [-0.04, 0.068],
        ])
      })
    })
  },
}
