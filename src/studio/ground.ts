import { Path2D } from '@napi-rs/canvas'
import type { Ridge } from './chance.ts'
import { css, mix, type Rgb } from './palette.ts'
import { snowedOn } from './snow.ts'
import { enter, type Moment, marginOf, type Pen, type Stage } from './stage.ts'

/** One band of land: everything from its ridge line down. */
export interface Ground {
  depth: number
  /** Height of the ridge in pixels from the top, at a place of the layer. */
  top(x: number): number
  path: Path2D
  /** What grows on it, in the same colour. A path of its own: one complex path down to the bottom edge fills slowly. */
  growth?: Path2D
  colour: Rgb
  /** Of what grows on it, where snow lies on the ground alone. */
  growthColour?: Rgb
  /** The highest point, where the shading begins. */
  crest: number
}

/** Lays a ridge over the whole journey. `base` and `rise` are in pixels: the mean line, and how far it goes up and down. */
export function layGround(
  stage: Stage,
  shape: { depth: number; base: number; rise: number; ridge: Ridge; wavelength: number },
): Ground {
  const { size, scene } = stage
  const margin = marginOf(stage, shape.depth)
  const top = (x: number) => shape.base - shape.rise * shape.ridge(x / shape.wavelength)
  const path = new Path2D()
  path.moveTo(-margin, size.height * 1.3)
  let crest = size.height
  const step = Math.max(2, stage.unit / 150)
  for (let x = -margin; x <= size.width + margin + step; x += step) {
    const y = top(x)
    crest = Math.min(crest, y)
    path.lineTo(x, y)
  }
  path.lineTo(size.width + margin + step, size.height * 1.3)
  path.closePath()
  const bare = mix(scene.palette.far, scene.palette.near, shape.depth)
  const colour = snowedOn(scene, bare, 0.5 + 0.45 * shape.depth)
  return { depth: shape.depth, top, path, colour, crest: Math.max(0, crest) }
}

/** Fills a layer from its own colour at the ridge to mist at its foot, where the next layer begins. */
export function fillGround(pen: Pen, moment: Moment, stage: Stage, ground: Ground): void {
  const { palette, weather } = stage.scene
  const mist = weather === 'fog' ? 0.75 : 0.42
  const foot = mix(ground.colour, palette.sky[2], mist * (1 - ground.depth))
  const shade = pen.createLinearGradient(
    0,
    ground.crest,
    0,
    Math.min(stage.size.height, ground.crest + stage.unit * 0.5),
  )
  shade.addColorStop(0, css(ground.colour))
  shade.addColorStop(1, css(foot))
  enter(pen, stage, moment, ground.depth, () => {
    pen.fillStyle = shade
    pen.fill(ground.path)
    if (ground.growthColour) pen.fillStyle = css(ground.growthColour)
    if (ground.growth) pen.fill(ground.growth)
  })
}

/** Light that grazes the edge of a layer. */
export function edgeGround(pen: Pen, moment: Moment, stage: Stage, ground: Ground, strength: number): void {
  const light = pen.createLinearGradient(0, ground.crest, 0, ground.crest + stage.unit * 0.1)
  light.addColorStop(0, css(stage.scene.palette.light, strength))
  light.addColorStop(1, css(stage.scene.palette.light, 0))
  enter(pen, stage, moment, ground.depth, () => {
    pen.fillStyle = light
    pen.fill(ground.path)
  })
}
