import type { SKRSContext2D } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import type { Chance } from './chance.ts'
import type { Scene } from './scene.ts'

export type Pen = SKRSContext2D

/** Where a scene is set up: everything that stays the same from frame to frame. */
export interface Stage {
  scene: Scene
  size: Size
  /** The length that shapes are measured in: it grows with the frame, and less with its longer side. */
  unit: number
  /** Layers reach this far beyond both sides, so that the camera may travel. */
  margin: number
  chance: Chance
}

export interface Moment {
  /** Since the first frame. */
  seconds: number
  /** How far the camera has travelled, in pixels of the nearest layer. */
  travel: number
}

/** Draws one moment of what was set up. It keeps no state: any frame can be drawn on its own. */
export type Drawing = (pen: Pen, moment: Moment) => void

/** How far a layer has moved against the frame; depth 0 is the sky, 1 the nearest ground. */
export function parallax(moment: Moment, depth: number): number {
  return -moment.travel * (0.08 + 0.92 * depth)
}

/** Always in [0, 1): for what leaves the frame on one side and comes back on the other. */
export function wrap(value: number): number {
  return value - Math.floor(value)
}
