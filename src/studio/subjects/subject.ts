import type { Rgb } from '../palette.ts'
import type { LandscapeName } from '../scene.ts'
import type { Pen } from '../stage.ts'

/** Where a subject is at home: it decides where in a landscape it is put, and what it does there. */
export type Habitat = 'ground' | 'rooted' | 'air' | 'surface' | 'deep'

/** How it moves. Idle breathes; walk, run, dance and fly move limbs; the rest move the whole. */
export type Gait = 'idle' | 'walk' | 'run' | 'fly' | 'swim' | 'dance' | 'float' | 'fall' | 'jump'

/**
 * Something that a prompt can name. It is drawn facing right, in its own heights: the ground, the water line or (in the
 * air and in the deep) its middle is y = 0, and up is negative.
 */
export interface Subject {
  /** Every word that means it, in the singular unless the plural is irregular. */
  words: string
  habitat: Habitat
  /** Of several subjects the heaviest decides the place. */
  kilograms: number
  /** Where it is shown when the prompt names no place. */
  home: LandscapeName
  colour: Rgb
  /** Its size against the others, in shares of the stage's unit. */
  height: number
  /** How far it reaches, in its own heights. */
  reach: { left: number; right: number; up: number; down: number }
  /** Half the width of its body, where what it reaches is mostly light or smoke. */
  half?: number
  /** How high it flies, as a share of the frame from the top. */
  altitude?: number
  /** It has no legs to stop with: it goes on by itself unless told to stand. */
  rolls?: true
  /** It goes from one side of the frame to the other, over the water if there is any. */
  spans?: true
  /** Several of them when the prompt has them in the plural without a number. */
  many?: number
  draw(pen: Pen, paint: Paint, pose: Pose): void
}

/** Colours in the light of the scene. */
export interface Paint {
  main: string
  /** The far side and folds. */
  dark: string
  /** What the light falls on, and bellies. */
  pale: string
  /** Eyes, noses, tyres. */
  ink: string
  /** Any other colour, as it looks here. */
  lit(hex: string, brighter?: number): string
  /** What shines by itself: brighter in the dark. */
  glow(hex: string, alpha?: number): string
}

export interface Pose {
  seconds: number
  /** Steps, wing beats or turns of a wheel so far. */
  turns: number
  gait: Gait
  /** Differs between members of a group, so that they do not move as one. */
  phase: number
  /** 0…1, how dark the scene is: lamps are switched on. */
  dark: number
}

/** A wave of the pose: -1…1, `rate` times in a turn. */
export function wave(pose: Pose, rate = 1, shift = 0): number {
  return Math.sin((pose.turns * rate + pose.phase + shift) * Math.PI * 2)
}

/** A slow wave that goes on whatever the gait: breath, wind, attention. */
export function breath(pose: Pose, rate = 0.5, shift = 0): number {
  return Math.sin((pose.seconds * rate + pose.phase + shift) * Math.PI * 2)
}
