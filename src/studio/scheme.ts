import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { between, pick } from './chance.ts'
import { css, hue, mix, type Rgb } from './palette.ts'
import type { Stage } from './stage.ts'

/** The colours of an abstract film: a ground, tones that go together, and a light. */
export interface Scheme {
  dark: boolean
  ground: readonly [Rgb, Rgb]
  tones: readonly [Rgb, ...Rgb[]]
  light: Rgb
}

/** From the circle of hues: neighbours with one accent across, on a dark or a pale ground. A colour word is the start. */
export function schemeOf(stage: Stage): Scheme {
  const { chance, scene } = stage
  const base = scene.mood ? degreesOf(scene.mood) : chance() * 360
  const spread = (scene.mood ? 11 : pick(chance, [14, 22, 34])) * pick(chance, [-1, 1])
  const accent = base + (scene.mood ? 28 : pick(chance, [150, 180, 210]))
  const dark = chance() < 0.62
  const vivid = between(chance, 0.42, 0.68)
  const tone = (degrees: number, lightness: number) => hue((degrees + 720) % 360, vivid, lightness)
  return {
    dark,
    ground: dark
      ? [hue((base + 380) % 360, 0.55, 0.06), hue((base + spread + 720) % 360, 0.5, 0.19)]
      : [hue((base + 380) % 360, 0.4, 0.94), hue((base + spread + 720) % 360, 0.45, 0.82)],
    tones: [
      tone(base, 0.5),
      tone(base + spread, 0.6),
      tone(base + spread * 2, 0.44),
      tone(base - spread, 0.68),
      tone(base + spread / 2, 0.4),
      tone(accent, 0.6),
    ],
    light: mix(tone(accent, 0.8), [255, 255, 255], 0.55),
  }
}

function degreesOf([red, green, blue]: Rgb): number {
  return ((Math.atan2(Math.sqrt(3) * (green - blue), 2 * red - green - blue) * 180) / Math.PI + 360) % 360
}

/** The ground, with a few wide lights in it: drawn once for a film. */
export function bakeGround(stage: Stage, scheme: Scheme): Canvas {
  const { size, unit, chance } = stage
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  const air = pen.createLinearGradient(0, 0, size.width * between(chance, -0.4, 0.4), size.height)
  air.addColorStop(0, css(scheme.ground[0]))
  air.addColorStop(1, css(scheme.ground[1]))
  pen.fillStyle = air
  pen.fillRect(0, 0, size.width, size.height)
  for (let light = 0; light < 4; light++) {
    const [x, y, radius] = [size.width * chance(), size.height * chance(), unit * between(chance, 0.4, 0.9)]
    const glow = pen.createRadialGradient(x, y, 0, x, y, radius)
    const colour = pick(chance, scheme.tones)
    glow.addColorStop(0, css(colour, scheme.dark ? 0.28 : 0.2))
    glow.addColorStop(1, css(colour, 0))
    pen.fillStyle = glow
    pen.fillRect(0, 0, size.width, size.height)
  }
  return canvas
}
