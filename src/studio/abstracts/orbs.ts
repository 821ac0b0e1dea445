import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { between } from '../chance.ts'
import { css, mix, type Rgb } from '../palette.ts'
import { softSprite } from '../sprites.ts'
import { parallax } from '../stage.ts'
import type { Abstract } from './abstract.ts'

/** Spheres of glass in front of each other, the nearest out of focus. */
export const orbs: Abstract = (stage, scheme) => {
  const { chance, size, unit } = stage
  const spheres = scheme.tones.map((tone) => bakeSphere(tone, scheme.light, scheme.ground[0]))
  const soft = scheme.tones.map((tone) => softSprite(tone, 64, 0.45))
  const floating = Array.from({ length: 15 }, (_, index) => {
    const depth = index / 14
    return {
      ...{ depth, x: chance(), y: chance(), phase: chance() * 7, turn: between(chance, 0.2, 0.5) },
      radius: unit * (0.02 + 0.16 * depth ** 1.6) * between(chance, 0.6, 1.15),
      picture: (depth > 0.86 ? soft : spheres)[Math.floor(chance() * scheme.tones.length)],
      alpha: depth > 0.86 ? 0.4 : 0.95,
    }
  })
  return (pen, moment) => {
    for (const orb of floating) {
      if (!orb.picture) continue
      const grown =
        orb.radius * (1 + moment.zoom * (0.3 + orb.depth) + 0.04 * Math.sin(moment.seconds * orb.turn * 2 + orb.phase))
      const x =
        size.width * (0.04 + 0.92 * orb.x) +
        parallax(moment, orb.depth) +
        Math.sin(moment.seconds * orb.turn + orb.phase) * unit * 0.06
      const y =
        size.height * (0.06 + 0.88 * orb.y) +
        moment.lift * orb.depth +
        Math.cos(moment.seconds * orb.turn * 0.8 + orb.phase * 2) * unit * 0.07
      const round = orb.depth > 0.86 ? 1.5 : 1
      pen.globalAlpha = orb.alpha
      pen.drawImage(orb.picture, x - grown * round, y - grown * round, grown * round * 2, grown * round * 2)
    }
    pen.globalAlpha = 1
  }
}

function bakeSphere(tone: Rgb, light: Rgb, ground: Rgb): Canvas {
  const radius = 150
  const canvas = createCanvas(radius * 2, radius * 2)
  const pen = canvas.getContext('2d')
  const body = pen.createRadialGradient(radius * 0.7, radius * 0.6, radius * 0.05, radius, radius, radius * 0.98)
  body.addColorStop(0, css(mix(tone, light, 0.85)))
  body.addColorStop(0.25, css(mix(tone, light, 0.3)))
  body.addColorStop(0.7, css(tone))
  body.addColorStop(1, css(mix(tone, ground, 0.6)))
  pen.fillStyle = body
  pen.beginPath()
  pen.arc(radius, radius, radius * 0.97, 0, Math.PI * 2)
  pen.fill()
  pen.fillStyle = css(light, 0.22)
  pen.beginPath()
  pen.ellipse(radius * 1.15, radius * 1.6, radius * 0.5, radius * 0.2, -0.4, 0, Math.PI * 2)
  pen.fill()
  return canvas
}
