import { between } from '../chance.ts'
import { css, mix } from '../palette.ts'
import { enter, type Moment, type Pen, type Stage } from '../stage.ts'
import type { Abstract } from './abstract.ts'

interface Ribbon {
  y: number
  height: number
  width: number
  pitch: number
  phase: number
  speed: number
  depth: number
}

/** Bands of silk that flow across the frame and turn over themselves. */
export const ribbons: Abstract = (stage, scheme) => {
  const { chance, size, unit } = stage
  const tilt = between(chance, -0.35, 0.35)
  const bands = Array.from({ length: 6 }, (_, index): Ribbon & { colours: [string, string, string] } => {
    const tone = scheme.tones[index % scheme.tones.length] ?? scheme.light
    return {
      y: size.height * between(chance, 0.25, 0.75),
      ...{ height: unit * between(chance, 0.08, 0.24), width: unit * between(chance, 0.06, 0.16) },
      ...{
        pitch: between(chance, 0.6, 1.6),
        phase: chance() * 7,
        speed: between(chance, 0.3, 0.8) * (chance() < 0.5 ? -1 : 1),
        depth: index / 6,
      },
      colours: [css(tone, 0.85), css(mix(tone, scheme.light, 0.65), 0.9), css(mix(tone, scheme.ground[0], 0.4), 0.8)],
    }
  })
  return (pen, moment) => {
    for (const band of bands) enter(pen, stage, moment, band.depth, () => drawRibbon(pen, moment, stage, band, tilt))
  }
}

function drawRibbon(
  pen: Pen,
  moment: Moment,
  stage: Stage,
  band: Ribbon & { colours: [string, string, string] },
  tilt: number,
): void {
  const { size, unit } = stage
  const time = moment.seconds * band.speed
  const middle = (x: number) =>
    band.y +
    band.height * Math.sin((x / unit) * band.pitch * 2.2 + band.phase + time) +
    band.height * 0.5 * Math.sin((x / unit) * band.pitch * 4.7 - time * 1.3) +
    (x - size.width / 2) * tilt
  const half = (x: number) => band.width * 0.5 * Math.sin((x / unit) * band.pitch * 1.7 + band.phase * 2 - time * 0.7)
  const step = Math.max(5, unit / 70)
  const [from, to] = [-size.width * 0.2, size.width * 1.2]
  const shade = pen.createLinearGradient(from, 0, to, 0)
  for (let stop = 0; stop <= 6; stop++)
    shade.addColorStop(stop / 6, band.colours[(stop + Math.floor(band.phase)) % 3] ?? '')
  pen.fillStyle = shade
  pen.beginPath()
  pen.moveTo(from, middle(from) - half(from))
  for (let x = from; x <= to; x += step) pen.lineTo(x, middle(x) - half(x))
  for (let x = to; x >= from; x -= step) pen.lineTo(x, middle(x) + half(x))
  pen.closePath()
  pen.fill()
  pen.strokeStyle = band.colours[1]
  pen.lineWidth = Math.max(1, unit * 0.0022)
  pen.stroke()
}
