import { css, mix, type Rgb, rgb } from './palette.ts'
import type { Paint } from './subjects/subject.ts'

/** The colour of the air that falls on everything here, and how much of the distance lies before it. */
interface Ambience {
  light: Rgb
  haze: Rgb
  /** 0 is here, 1 is lost in the distance. */
  distance: number
}

const white: Rgb = [255, 255, 255]
const black: Rgb = [8, 8, 18]

/** The colours of one subject in the light of its scene. They are strings, made once for a film. */
export function paintOf(colour: Rgb, ambience: Ambience): Paint {
  const inLight = (own: Rgb): Rgb => {
    const [red, green, blue] = ambience.light
    return mix([(own[0] * red) / 255, (own[1] * green) / 255, (own[2] * blue) / 255], ambience.haze, ambience.distance)
  }
  const known = new Map<string, string>()
  const lit = (hex: string, brighter = 0): string => {
    const key = `${hex}${brighter}`
    const seen = known.get(key) ?? css(inLight(mix(rgb(hex), white, brighter)))
    known.set(key, seen)
    return seen
  }
  return {
    main: css(inLight(colour)),
    dark: css(inLight(mix(colour, black, 0.36))),
    pale: css(inLight(mix(colour, white, 0.45))),
    ink: css(inLight([30, 26, 34])),
    lit,
    glow: (hex, alpha = 1) => css(rgb(hex), Math.max(0, Math.min(1, alpha))),
  }
}

/** One colour for everything, and nothing that shines: the shape alone. */
export function flatPaint(colour: Rgb): Paint {
  const flat = css(colour)
  return { main: flat, dark: flat, pale: flat, ink: flat, lit: () => flat, glow: () => 'rgba(0,0,0,0)' }
}
