import { kneeOf } from './quadruped.ts'
import { limb, oval, type Point, within } from './shapes.ts'
import type { Pen } from './stage.ts'
import { breath, type Pose, wave } from './subjects/subject.ts'

/** What covers the limbs of someone on two legs, and how thick they are. */
interface Clothes {
  trousers: string
  far: string
  sleeve: string
  farSleeve: string
  skin: string
  shoe: string
  leg: number
  arm: number
}

interface Limbs {
  bob: number
  feet: readonly [Point, Point]
  hands: readonly [Point, Point]
}

/** Where hands and feet are, by gait: everything else follows from them. */
function limbsOf(pose: Pose): Limbs {
  const step = wave(pose)
  const lift = (shift: number) => Math.max(0, wave(pose, 1, shift + 0.25))
  if (pose.gait === 'walk' || pose.gait === 'run') {
    const reach = pose.gait === 'run' ? 0.25 : 0.15
    const high = pose.gait === 'run' ? 0.17 : 0.05
    return {
      bob: (pose.gait === 'run' ? -0.04 : -0.012) * Math.abs(wave(pose, 1, 0.25)),
      feet: [
        [reach * step, -high * lift(0)],
        [-reach * step, -high * lift(0.5)],
      ],
      hands: [
        [-reach * step * 0.9 + 0.04, -0.5 + (pose.gait === 'run' ? -0.08 : 0)],
        [reach * step * 0.9 + 0.04, -0.5 + (pose.gait === 'run' ? -0.08 : 0)],
      ],
    }
  }
  if (pose.gait === 'dance') {
    return {
      bob: -0.05 * Math.abs(wave(pose, 1)),
      feet: [
        [0.1 + 0.1 * step, -0.1 * lift(0)],
        [-0.12, -0.16 * lift(0.5)],
      ],
      hands: [
        [0.26 + 0.06 * wave(pose, 1, 0.2), -0.98 + 0.12 * step],
        [-0.28, -0.86 - 0.14 * step],
      ],
    }
  }
  if (pose.gait === 'idle') {
    return {
      bob: 0.004 * breath(pose, 0.4),
      feet: [
        [0.05, 0],
        [-0.06, 0],
      ],
      hands: [
        [0.08, -0.46 + 0.006 * breath(pose)],
        [-0.1, -0.46],
      ],
    }
  }
  // In the air, in water and in space: loose.
  return {
    bob: 0,
    feet: [
      [0.1 + 0.05 * breath(pose, 0.3), -0.06],
      [-0.12 - 0.04 * breath(pose, 0.3, 0.3), -0.12],
    ],
    hands: [
      [0.3, -0.66 + 0.07 * breath(pose, 0.35)],
      [-0.28, -0.58 + 0.06 * breath(pose, 0.35, 0.4)],
    ],
  }
}

/** Far arm, legs, body, near arm: each over the one before. */
export function onTwoLegs(pen: Pen, clothes: Clothes, pose: Pose, body: () => void): void {
  const { bob, feet, hands } = limbsOf(pose)
  const hip: Point = [0, -0.48 + bob]
  const shoulder: Point = [0.01, -0.76 + bob]
  const leg = (foot: Point, colour: string) => {
    const ankle: Point = [foot[0], foot[1] - 0.035]
    limb(pen, colour, [hip, kneeOf(hip, ankle, 0.465, 1), ankle], [clothes.leg, clothes.leg * 0.75, clothes.leg * 0.55])
    limb(
      pen,
      clothes.shoe,
      [
        [ankle[0] - 0.01, ankle[1] + 0.012],
        [ankle[0] + 0.07, ankle[1] + 0.018],
      ],
      [0.055, 0.042],
    )
  }
  const arm = (hand: Point, colour: string) => {
    const at: Point = [hand[0], hand[1] + bob]
    limb(
      pen,
      colour,
      [shoulder, kneeOf(shoulder, at, 0.33, -1), at],
      [clothes.arm, clothes.arm * 0.8, clothes.arm * 0.6],
    )
    oval(pen, clothes.skin, at, [0.03, 0.03])
  }
  arm(hands[1], clothes.farSleeve)
  leg(feet[1], clothes.far)
  leg(feet[0], clothes.trousers)
  within(pen, { at: [0, bob], turn: pose.gait === 'run' ? 0.1 : 0 }, body)
  arm(hands[0], clothes.sleeve)
}
