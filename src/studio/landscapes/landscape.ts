import type { Drawing, Stage } from '../stage.ts'

/**
 * What stands under the sky. Called once for a film: it lays out its shapes for the whole journey of the camera, and
 * gives back the drawing of any one moment. It covers the frame from its horizon to the bottom edge at every size.
 */
export type Landscape = (stage: Stage) => Place

export interface Place {
  back: Drawing
  /** What is nearer than the subjects. */
  front?: Drawing
  /** Where feet are, in pixels from the top, at a place of the layer at `depth`. */
  floor: Level
  /** Where ships float. */
  water?: Level
  /** What the subjects are in. */
  medium: 'air' | 'water' | 'void'
}

interface Level {
  depth: number
  at(x: number, seconds: number): number
}
