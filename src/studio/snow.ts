import { mix, type Rgb, rgb } from './palette.ts'
import type { Scene } from './scene.ts'

const fresh = rgb('#f8fafd')
const dusk: Rgb = [24, 32, 62]
const shade = { day: 0.02, dawn: 0.1, sunset: 0.26, night: 0.6 } as const

/** The colour of snow on the ground in the light of the scene; null where none lies. */
export function snowOf({ snow, hour, palette }: Scene): Rgb | null {
  return snow ? mix(mix(fresh, palette.sky[2], 0.14), dusk, shade[hour]) : null
}

/** A colour of the land, as far as snow covers it. */
export function snowedOn(scene: Scene, colour: Rgb, share: number): Rgb {
  const snow = snowOf(scene)
  return snow ? mix(colour, snow, share) : colour
}
