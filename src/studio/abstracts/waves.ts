import { between } from '../chance.ts'
import { css, mix } from '../palette.ts'
import { enter, parallax } from '../stage.ts'
import type { Abstract } from './abstract.ts'

/** A sea of lines towards a horizon: each hides what is behind it. */
export const waves: Abstract = (stage, scheme) => {
  const { chance, size, unit } = stage
  const horizon = size.height * between(chance, 0.26, 0.4)
  const [a, b, c] = [between(chance, 1.4, 3), between(chance, 3, 6), chance() * 7]
  const centre = between(chance, 0.3, 0.7)
  const rows = Array.from({ length: 30 }, (_, index) => {
    const near = (index / 29) ** 1.7
    const tones = scheme.tones
    const at = (index / 30) * (tones.length - 1)
    const tone = mix(tones[Math.floor(at)] ?? scheme.light, tones[Math.ceil(at)] ?? scheme.light, at % 1)
    return {
      near,
      y: horizon + (size.height * 1.08 - horizon) * near,
      line: css(mix(tone, scheme.light, 0.35)),
      fill: css(mix(tone, scheme.ground[0], 0.62 - 0.3 * near)),
    }
  })
  return (pen, moment) => {
    for (const row of rows) {
      enter(pen, stage, { ...moment, travel: 0 }, row.near, () => {
        const shift = parallax(moment, row.near)
        const height = unit * (0.03 + 0.1 * row.near)
        const [from, to] = [-size.width * 0.12, size.width * 1.12]
        const lift = (x: number) => {
          const at = (x - shift) / (unit * (0.3 + 0.7 * row.near))
          const hill = Math.exp(-(((x / size.width - centre) * 2.1) ** 2))
          return (
            height *
            (0.35 + hill) *
            (Math.sin(at * a + c + moment.seconds * 0.9 + row.near * 6) +
              0.5 * Math.sin(at * b - moment.seconds * 1.3 + row.near * 11))
          )
        }
        pen.beginPath()
        pen.moveTo(from, size.height * 1.5)
        for (let x = from; x <= to; x += Math.max(6, unit / 60)) pen.lineTo(x, row.y - lift(x))
        pen.lineTo(to, size.height * 1.5)
        pen.fillStyle = row.fill
        pen.fill()
        pen.strokeStyle = row.line
        pen.lineWidth = Math.max(1, unit * (0.0012 + 0.003 * row.near))
        pen.stroke()
      })
    }
  }
}
