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
  /** How far the camera travels to either side, in pixels of the nearest layer. */
  reach: number
  chance: Chance
}

export interface Moment {
  /** Since the first frame. */
  seconds: number
  /** 0 at the first frame, 1 at the last. */
  share: number
  /** How far the camera has travelled, in pixels of the nearest layer. */
  travel: number
  /** How far it looks up, in pixels. */
  lift: number
  /** How much closer it has come. */
  zoom: number
  /** The depth that the camera keeps in place while all else passes: that of the subject when it circles, or none. */
  pivot: number
}

/** Draws one moment of what was set up. It keeps no state: any frame can be drawn on its own. */
export type Drawing = (pen: Pen, moment: Moment) => void

/** How far a layer has moved against the frame; depth 0 is the sky, 1 the nearest ground. */
export function parallax(moment: Moment, depth: number): number {
  return -moment.travel * (0.08 + 0.92 * depth - moment.pivot)
}

/** How far a layer must reach beyond both sides, so that the camera never sees its end. */
export function marginOf(stage: Stage, depth: number): number {
  const furthest = Math.max(0.08 + 0.92 * depth, Math.abs(0.08 + 0.92 * depth - 1))
  return stage.reach * furthest + stage.size.width * 0.12
}

/** Draws in the frame of a layer: moved as the camera has travelled, and grown as it has come closer. */
export function enter(pen: Pen, stage: Stage, moment: Moment, depth: number, draw: () => void): void {
  const { width, height } = stage.size
  const grown = 1 + moment.zoom * (0.3 + 0.7 * depth)
  const [x, y] = [width * 0.5, height * 0.6]
  pen.save()
  pen.translate(x, y + moment.lift * (0.3 + 0.7 * depth))
  pen.scale(grown, grown)
  pen.translate(-x + parallax(moment, depth), -y)
  draw()
  pen.restore()
}

/** Always in [0, 1): for what leaves the frame on one side and comes back on the other. */
export function wrap(value: number): number {
  return value - Math.floor(value)
}
