import { onTwoLegs } from '../biped.ts'
import { rgb } from '../palette.ts'
import { blob, box, limb, oval, stroke } from '../shapes.ts'
import { breath, type Pose, type Subject, wave } from './subject.ts'

export const person: Subject = {
  words:
    'person man boy child kid human couple family crowd twins friend stranger hiker traveler traveller wanderer farmer king knight wizard surfer skier runner groom hombre pareja homme mann paar uomo coppia',
  habitat: 'ground',
  kilograms: 75,
  home: 'hills',
  colour: rgb('#c8503f'),
  height: 0.4,
  reach: { left: 0.5, right: 0.5, up: 1.2, down: 0.04 },
  draw: (pen, paint, pose) => {
    const skin = paint.lit('#d9a27c')
    const clothes = {
      trousers: paint.lit('#3b4560'),
      far: paint.lit('#2c3449'),
      sleeve: paint.main,
      farSleeve: paint.dark,
      skin,
      shoe: paint.ink,
      leg: 0.13,
      arm: 0.085,
    }
    onTwoLegs(pen, clothes, pose, () => {
      const scarf = pose.gait === 'idle' ? 0.02 : 0.08
      stroke(pen, paint.lit('#e8c15a'), 0.04, [
        [-0.02, -0.8],
        [-0.14 - scarf, -0.76 + 0.02 * breath(pose, 1.2)],
        [-0.24 - scarf, -0.72 + 0.04 * breath(pose, 1.2, 0.2)],
      ])
      blob(pen, paint.main, [
        [-0.1, -0.44],
        [-0.11, -0.66],
        [-0.07, -0.8],
        [0.07, -0.81],
        [0.11, -0.68],
        [0.1, -0.44],
        [0, -0.41],
      ])
      oval(pen, skin, [0.03, -0.91], [0.075, 0.088])
      blob(pen, paint.lit('#4a3226'), [
        [-0.06, -0.84],
        [-0.07, -0.96],
        [0.01, -1.02],
        [0.1, -0.98],
        [0.08, -0.94],
        [-0.01, -0.93],
        [-0.02, -0.86],
      ])
      box(pen, paint.lit('#e8c15a'), [-0.06, -0.83, 0.13, 0.045], 0.02)
    })
  },
}

/** Long hair and a dress tell her from a man at any distance. */
export const woman: Subject = {
  words: 'woman girl lady queen bride mother grandmother sister witch mujer femme fille frau donna ragazza',
  habitat: 'ground',
  kilograms: 65,
  home: 'hills',
  colour: rgb('#3f7fa8'),
  height: 0.39,
  reach: { left: 0.5, right: 0.5, up: 1.2, down: 0.04 },
  draw: (pen, paint, pose) => {
    const skin = paint.lit('#dca882')
    const hair = paint.lit('#6b3a22')
    const clothes = {
      trousers: skin,
      far: paint.lit('#c08a68'),
      sleeve: paint.main,
      farSleeve: paint.dark,
      skin,
      shoe: paint.ink,
      leg: 0.09,
      arm: 0.07,
    }
    onTwoLegs(pen, clothes, pose, () => {
      const sway = 0.02 * wave(pose, 1) + 0.01 * breath(pose, 0.6)
      blob(pen, hair, [
        [-0.02, -1.01],
        [-0.1, -0.94],
        [-0.12 - sway, -0.78],
        [-0.15 - sway * 2, -0.62],
        [-0.04 - sway, -0.64],
        [0.03, -0.82],
      ])
      blob(pen, paint.main, [
        [-0.07, -0.8],
        [0.06, -0.81],
        [0.09, -0.68],
        [0.07, -0.56],
        [0.2 - sway, -0.25],
        [0, -0.22],
        [-0.2 - sway, -0.25],
        [-0.07, -0.56],
        [-0.09, -0.68],
      ])
      stroke(pen, paint.pale, 0.03, [
        [-0.075, -0.565],
        [0, -0.55],
        [0.075, -0.565],
      ])
      oval(pen, skin, [0.03, -0.91], [0.07, 0.084])
      blob(pen, hair, [
        [-0.07, -0.82],
        [-0.07, -0.97],
        [0.01, -1.02],
        [0.1, -0.98],
        [0.09, -0.93],
        [0.0, -0.94],
        [-0.02, -0.84],
      ])
    })
  },
}

export const dancer: Subject = {
  words: 'dancer ballerina ballet acrobat gymnast princess fairy bailarina danseuse tänzerin ballerino',
  habitat: 'ground',
  kilograms: 55,
  home: 'room',
  colour: rgb('#d85a96'),
  height: 0.46,
  reach: { left: 0.55, right: 0.6, up: 1.2, down: 0.04 },
  draw: (pen, paint, pose) => {
    const skin = paint.lit('#e0b090')
    const moving: Pose = pose.gait === 'idle' || pose.gait === 'walk' ? { ...pose, gait: 'dance' } : pose
    const clothes = {
      trousers: skin,
      far: paint.lit('#c4937a'),
      sleeve: skin,
      farSleeve: paint.lit('#c4937a'),
      skin,
      shoe: paint.main,
      leg: 0.085,
      arm: 0.055,
    }
    onTwoLegs(pen, clothes, moving, () => {
      const spin = 0.06 * wave(moving, 0.5)
      blob(pen, paint.dark, [
        [-0.06, -0.56],
        [-0.36 - spin, -0.42],
        [-0.24, -0.34],
        [0, -0.38],
        [0.26, -0.34],
        [0.36 - spin, -0.42],
        [0.06, -0.56],
      ])
      blob(pen, paint.main, [
        [-0.06, -0.6],
        [-0.32 - spin, -0.47],
        [-0.1, -0.43],
        [0.1, -0.42],
        [0.32 - spin, -0.48],
        [0.06, -0.6],
      ])
      blob(pen, paint.pale, [
        [-0.075, -0.56],
        [-0.07, -0.74],
        [0, -0.78],
        [0.075, -0.74],
        [0.07, -0.56],
      ])
      limb(
        pen,
        skin,
        [
          [0, -0.78],
          [0.01, -0.86],
        ],
        [0.05, 0.05],
      )
      oval(pen, skin, [0.02, -0.92], [0.066, 0.078])
      blob(pen, paint.lit('#4a2c22'), [
        [-0.05, -0.88],
        [-0.06, -0.97],
        [0.02, -1.01],
        [0.08, -0.96],
        [-0.01, -0.94],
      ])
      oval(pen, paint.lit('#4a2c22'), [-0.04, -1.01], [0.042, 0.042])
    })
  },
}
