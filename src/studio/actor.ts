import type { Canvas } from '@napi-rs/canvas'
import type { Mark } from './blocking.ts'
import type { Pen } from './stage.ts'
import type { Paint, Subject } from './subjects/subject.ts'

/** One subject of a film, with all that is made once for it. */
export interface Actor {
  mark: Mark
  subject: Subject
  paint: Paint
  /** All in the colour of the light, and all in the dark: for its edge and its shadow. */
  edge: Paint
  shade: Paint
  depth: number
  rate: number
  /** A canvas of its own, on which shade can fall on it alone; null for those that are too many or too large for it. */
  stage: Picture | null
  shadow: Picture | null
  patch: Canvas
}

/** A small canvas, and where the ground under the subject is on it. */
export interface Picture {
  canvas: Canvas
  pen: Pen
  x: number
  y: number
}

/** A subject in the frame, or on its own canvas. */
export interface Seen {
  x: number
  y: number
  /** Pixels to a height of the subject. */
  height: number
  turn: number
  /** Where the light comes from: 1 is the right, 0 above. */
  side: number
}

/** A place in the layer of the subject. */
export interface Spot {
  x: number
  y: number
  /** How far above its ground it is. */
  up: number
  turn: number
}
