import type { Chance } from './chance.ts'
import type { Season, Weather } from './scene.ts'

export type Rgb = readonly [red: number, green: number, blue: number]

export interface Palette {
  /** From the top of the frame to the horizon. */
  sky: readonly [Rgb, Rgb, Rgb]
  /** What is far away fades into this, what is near stands in the other. */
  far: Rgb
  near: Rgb
  /** The sun or the moon, and what it shines on. */
  light: Rgb
}

export type Hour = 'day' | 'dawn' | 'sunset' | 'night'

export function rgb(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

export function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const blend = (a: number, b: number) => a + (b - a) * share
  return [blend(from[0], to[0]), blend(from[1], to[1]), blend(from[2], to[2])]
}

export function css(colour: Rgb, alpha = 1): string {
  const [red, green, blue] = colour.map((part) => Math.round(Math.max(0, Math.min(255, part))))
  return `rgba(${red},${green},${blue},${alpha})`
}

const palette = (top: string, middle: string, horizon: string, far: string, near: string, light: string): Palette => ({
  sky: [rgb(top), rgb(middle), rgb(horizon)],
  far: rgb(far),
  near: rgb(near),
  light: rgb(light),
})

export const palettes: Record<Hour, readonly [Palette, ...Palette[]]> = {
  day: [
    palette('#2f7fd6', '#7db9ec', '#e6f3f8', '#a5c8dc', '#235a46', '#fff6d8'),
    palette('#2b87b3', '#83cbd6', '#fdf1d8', '#acd0c4', '#2f5d38', '#fff3cf'),
    palette('#4673c4', '#9cc3ee', '#f6ece4', '#b3c3dc', '#3a5670', '#fff8e2'),
  ],
  dawn: [
    palette('#3d4f8f', '#c48db4', '#ffdcb4', '#c9a5bd', '#352f52', '#ffedcb'),
    palette('#426b9e', '#e0a7a4', '#ffe9cc', '#d0b1b4', '#2f4256', '#fff0d2'),
    palette('#54609c', '#d7a6c8', '#fbe3dc', '#b9a5cb', '#3b3560', '#fff1e0'),
  ],
  sunset: [
    palette('#2b1d52', '#b03a6b', '#ffab5e', '#c05a6a', '#1f1533', '#ffe08a'),
    palette('#1e2a5a', '#8e4585', '#ff9e6d', '#a1577f', '#191336', '#ffd9a0'),
    palette('#37224f', '#d4574a', '#ffc86b', '#cf6f56', '#2a1530', '#fff0b0'),
  ],
  night: [
    palette('#050b1f', '#12264f', '#34568b', '#2a4270', '#060b18', '#e9f0ff'),
    palette('#070619', '#1f1b4b', '#4b4a8f', '#38376f', '#08071a', '#f0eaff'),
    palette('#04121a', '#0d3446', '#2f6f7e', '#1f5260', '#041018', '#e6fbff'),
  ],
}

/** A colour word leans the whole picture towards it without losing light and dark. */
export function tinted(base: Palette, tint: Rgb): Palette {
  const lean = (colour: Rgb, share: number): Rgb => {
    const luminance = (0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]) / 255
    const shade = luminance < 0.5 ? mix([0, 0, 0], tint, luminance * 2) : mix(tint, [255, 255, 255], luminance * 2 - 1)
    return mix(colour, shade, share)
  }
  const [top, middle, horizon] = base.sky
  return {
    sky: [lean(top, 0.85), lean(middle, 0.85), lean(horizon, 0.6)],
    far: lean(base.far, 0.75),
    near: lean(base.near, 0.55),
    light: lean(base.light, 0.25),
  }
}

/** The same hour never looks quite the same twice: every palette leans a little towards a hue of chance. */
export function varied(base: Palette, chance: Chance): Palette {
  const lean = hue(chance() * 360, 0.75, 0.55)
  const share = 0.05 + 0.1 * chance()
  const [top, middle, horizon] = base.sky
  return {
    sky: [mix(top, lean, share), mix(middle, lean, share * 0.8), mix(horizon, lean, share * 0.35)],
    far: mix(base.far, lean, share * 0.6),
    near: mix(base.near, lean, share * 0.5),
    light: base.light,
  }
}

const seasonColours: Record<Season, { far: Rgb; near: Rgb; share: number }> = {
  spring: { far: rgb('#b7d9a8'), near: rgb('#4f9a48'), share: 0.5 },
  summer: { far: rgb('#9fce8e'), near: rgb('#2f8a3c'), share: 0.45 },
  autumn: { far: rgb('#eaa556'), near: rgb('#94481a'), share: 0.9 },
  winter: { far: rgb('#dfe8f2'), near: rgb('#a9bdd2'), share: 0.72 },
}

/** The land takes the colours of its season, as far as the hour lets them be seen. */
export function seasoned(base: Palette, season: Season, hour: Hour): Palette {
  const { far, near, share } = seasonColours[season]
  const seen = { day: 1, dawn: 0.7, sunset: 0.55, night: 0.3 }[hour] * share
  const dim: Rgb = hour === 'night' ? mix(near, [10, 16, 40], 0.7) : near
  return { ...base, far: mix(base.far, far, seen * 0.8), near: mix(base.near, dim, seen) }
}

/** A colour by its place on the circle in degrees, and shares of saturation and lightness. */
export function hue(degrees: number, saturation: number, lightness: number): Rgb {
  const part = (shift: number) => {
    const at = (shift + degrees / 30) % 12
    return (
      255 * (lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(at - 3, 9 - at, 1)))
    )
  }
  return [part(0), part(8), part(4)]
}

const weatherColours: Record<Weather, { air: Rgb; share: number }> = {
  clear: { air: [0, 0, 0], share: 0 },
  wind: { air: rgb('#9fb4c4'), share: 0.12 },
  fog: { air: rgb('#c3c8cc'), share: 0.34 },
  snow: { air: rgb('#bcc9da'), share: 0.3 },
  rain: { air: rgb('#66707f'), share: 0.4 },
  storm: { air: rgb('#2b3140'), share: 0.62 },
}

/** Bad weather takes the colour out of the air; at night there is less to take. */
export function weathered(base: Palette, weather: Weather, hour: Hour): Palette {
  const { air, share: full } = weatherColours[weather]
  const grey = hour === 'night' ? mix(air, [14, 18, 34], 0.72) : air
  const share = hour === 'sunset' ? full * 0.7 : full
  const [top, middle, horizon] = base.sky
  const land =
    weather === 'snow'
      ? mix(rgb('#e8eef6'), [20, 26, 50], hour === 'night' ? 0.7 : hour === 'sunset' ? 0.35 : 0.05)
      : grey
  return {
    sky: [mix(top, grey, share), mix(middle, grey, share), mix(horizon, grey, share * 0.8)],
    far: mix(base.far, land, share),
    near: mix(base.near, land, weather === 'snow' ? 0.66 : share * 0.5),
    light: mix(base.light, [255, 255, 255], share * 0.3),
  }
}

/** Below the surface every hour is blue or green, and darker further down. */
export function submerged(base: Palette, hour: Hour): Palette {
  const dim = { day: 0, dawn: 0.2, sunset: 0.25, night: 0.66 }[hour]
  const deep = (hex: string, lean: Rgb): Rgb => mix(mix(rgb(hex), lean, 0.18), [2, 10, 30], dim)
  return {
    sky: [deep('#5fd0dc', base.sky[0]), deep('#1f8fb4', base.sky[1]), deep('#0d5480', base.sky[0])],
    far: deep('#2b8aa8', base.far),
    near: deep('#0b3350', base.near),
    light: mix(rgb('#dcfbff'), base.light, 0.3),
  }
}
