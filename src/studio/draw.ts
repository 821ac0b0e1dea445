import type { Size } from '../core/task.ts'
import { abstracts } from './abstracts/index.ts'
import { actors } from './actors.ts'
import { cameraOf } from './camera.ts'
import { chanceOf } from './chance.ts'
import { landscapes } from './landscapes/index.ts'
import type { Scene } from './scene.ts'
import { bakeGround, schemeOf } from './scheme.ts'
import { backdrop, sky } from './sky.ts'
import type { Drawing, Pen, Stage } from './stage.ts'
import { air, outside } from './weather.ts'

/** Draws the whole frame at a time of the film. Any frame can be drawn on its own, in any order. */
export type Shot = (pen: Pen, at: { seconds: number; share: number }) => void

/** A film of a scene: set up once, then drawn frame by frame. */
export function sceneShot(scene: Scene, size: Size, seconds: number): Shot {
  const unit = unitOf(size)
  const camera = cameraOf(scene, { size, unit, seconds })
  const stage: Stage = { scene, size, unit, reach: camera.reach, chance: chanceOf(`stage:${scene.seed}`) }
  const layers = scene.abstract ? abstractLayers(stage) : landscapeLayers(stage)
  return (pen, at) => {
    const moment = camera.at(at)
    for (const layer of layers) layer(pen, moment)
  }
}

/** Half-way between the sides in proportion: shapes stay recognisable in a frame that is very long or very high. */
export function unitOf({ width, height }: Size): number {
  return Math.min(width, height) * (Math.max(width, height) / Math.min(width, height)) ** 0.2
}

function landscapeLayers(stage: Stage): Drawing[] {
  const far = backdrop(stage)
  const place = landscapes[stage.scene.landscape](stage)
  const layers: Drawing[] = [
    (pen) => pen.drawImage(far, 0, 0),
    sky(stage),
    outside(stage),
    place.back,
    actors(stage, place),
  ]
  if (place.front) layers.push(place.front)
  return [...layers, air(stage)]
}

function abstractLayers(stage: Stage): Drawing[] {
  const scheme = schemeOf(stage)
  const ground = bakeGround(stage, scheme)
  return [(pen) => pen.drawImage(ground, 0, 0), abstracts[stage.scene.abstract ?? 'ribbons'](stage, scheme)]
}
