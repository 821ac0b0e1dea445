import type { Size } from '../core/task.ts'
import { chanceOf } from './chance.ts'
import { landscapes } from './landscapes/index.ts'
import type { Scene } from './scene.ts'
import { backdrop, sky } from './sky.ts'
import type { Pen, Stage } from './stage.ts'
import { air } from './weather.ts'

/** Draws the whole frame at a time of the film. Any frame can be drawn on its own, in any order. */
export type Shot = (pen: Pen, at: { seconds: number; share: number }) => void

/** A film of a scene: the camera travels along it and moves in slowly. */
export function sceneShot(scene: Scene, size: Size, seconds: number): Shot {
  // Half-way between the sides in proportion: shapes stay recognisable in a frame that is very long or very high.
  const unit =
    Math.min(size.width, size.height) * (Math.max(size.width, size.height) / Math.min(size.width, size.height)) ** 0.2
  const reach = unit * Math.min(0.3, 0.035 * seconds + 0.03)
  const stage: Stage = { scene, size, unit, margin: reach + size.width * 0.12, chance: chanceOf(`stage:${scene.seed}`) }
  const far = backdrop(stage)
  const layers = [sky(stage), landscapes[scene.landscape](stage), air(stage)]
  return (pen, at) => {
    const moment = { seconds: at.seconds, travel: scene.camera.direction * reach * (at.share - 0.5) * 2 }
    const zoom = 1 + scene.camera.zoom * eased(at.share)
    pen.drawImage(far, 0, 0)
    pen.save()
    pen.translate(size.width * 0.5, size.height * 0.55)
    pen.scale(zoom, zoom)
    pen.translate(-size.width * 0.5, -size.height * 0.55)
    for (const layer of layers) layer(pen, moment)
    pen.restore()
  }
}

/** Starts and ends gently. */
export function eased(share: number): number {
  return share * share * (3 - 2 * share)
}
