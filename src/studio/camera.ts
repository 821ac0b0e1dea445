import type { Size } from '../core/task.ts'
import type { Scene } from './scene.ts'
import type { Moment } from './stage.ts'
import { subjects } from './subjects/index.ts'

/** How a film is seen: made once from the scene, asked at every frame. */
export interface Camera {
  /** How far it travels to either side, in pixels. */
  reach: number
  at(time: { seconds: number; share: number }): Moment
}

export function cameraOf(scene: Scene, shot: { size: Size; unit: number; seconds: number }): Camera {
  const { move } = scene.camera
  const reach = shot.unit * lengthOf(scene, shot.seconds)
  const way = move === 'left' ? -1 : move === 'right' || move === 'track' ? 1 : facing(scene)
  return {
    reach,
    at({ seconds, share }) {
      const gentle = eased(share)
      const along = (runs(scene) || move === 'track' ? share : gentle) * 2 - 1
      const shaken = move === 'shake' ? shake(seconds) : ([0, 0] as const)
      return {
        seconds: seconds * scene.pace,
        share,
        travel:
          (move === 'orbit' ? reach * Math.sin((gentle - 0.5) * 2.6) * 0.8 : reach * along * way) +
          shaken[0] * shot.unit,
        lift: liftOf(scene, gentle) * shot.size.height + shaken[1] * shot.unit,
        zoom: zoomOf(scene, gentle),
        pivot: move === 'orbit' ? 0.86 : 0,
      }
    },
  }
}

/** Starts and ends gently. */
export function eased(share: number): number {
  return share * share * (3 - 2 * share)
}

/** Whether something travels through the land, so that the camera goes along with it. */
export function runs(scene: Scene): boolean {
  if (!scene.cast.some(({ name }) => subjects[name].habitat !== 'rooted')) return false
  return ['run', 'fly', 'walk', 'swim'].includes(scene.motion ?? 'none') || scene.camera.move === 'track'
}

/** Which way subjects look: the camera goes there too. */
export function facing(scene: Scene): -1 | 1 {
  return scene.camera.move === 'left'
    ? -1
    : scene.camera.move === 'right' || scene.camera.move === 'track'
      ? 1
      : scene.camera.direction
}

/** In units, to either side. Long films do not go further than the layers can be laid. */
function lengthOf(scene: Scene, seconds: number): number {
  const { move } = scene.camera
  if (move === 'still' || move === 'shake') return runs(scene) ? 0.2 : 0.012
  if (move === 'in' || move === 'out' || move === 'up' || move === 'down' || move === 'close') return 0.05
  if (move === 'orbit') return 0.42
  const speed =
    move === 'left' || move === 'right' ? 0.13 : runs(scene) ? (speeds[scene.motion ?? 'walk'] ?? 0.1) : 0.035
  const rooted = scene.cast.some(({ name }) => subjects[name].habitat === 'rooted')
  return Math.min(rooted ? 0.34 : 1.6, speed * scene.pace * seconds * 0.5 + 0.03)
}

const speeds: Readonly<Record<string, number>> = { run: 0.5, fly: 0.3, swim: 0.16, walk: 0.14 }

function liftOf(scene: Scene, share: number): number {
  const { move } = scene.camera
  if (move === 'up') return 0.2 * share - 0.08
  if (move === 'down') return 0.12 - 0.2 * share
  if (move === 'aerial') return -0.03 - 0.05 * share
  return 0
}

function zoomOf(scene: Scene, share: number): number {
  const { move, zoom } = scene.camera
  if (move === 'in') return 0.45 * share
  if (move === 'out') return 0.45 * (1 - share)
  if (move === 'close') return 0.16 + 0.08 * share
  if (move === 'still') return 0
  if (move === 'orbit') return 0.06 + 0.06 * Math.sin(share * Math.PI)
  return zoom * share
}

/** The most that it comes closer in the course of a film. */
export function closest(scene: Scene): number {
  return Math.max(...[0, 0.5, 1].map((share) => zoomOf(scene, share)))
}

/** A hand: slow sways that never repeat, and a tremor. */
function shake(seconds: number): readonly [number, number] {
  const sway = (a: number, b: number) => Math.sin(seconds * a) * 0.006 + Math.sin(seconds * b) * 0.0035
  return [sway(3.1, 7.7), sway(3.9, 8.9)]
}
