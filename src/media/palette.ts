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
