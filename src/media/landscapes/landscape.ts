import type { Drawing, Stage } from '../stage.ts'

/**
 * What stands under the sky. Called once for a film: it lays out its shapes for the whole journey of the camera, and
 * gives back the drawing of any one moment. It covers the frame from its horizon to the bottom edge at every size.
 */
export type Landscape = (stage: Stage) => Drawing
