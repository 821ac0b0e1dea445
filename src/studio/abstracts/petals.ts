import { between } from '../chance.ts'
import { css, mix } from '../palette.ts'
import { glowSprite } from '../sprites.ts'
import { enter } from '../stage.ts'
import type { Abstract } from './abstract.ts'

/** Rings of petals that turn against each other, open and close. */
export const petals: Abstract = (stage, scheme) => {
  const { chance, size, unit } = stage
  const centre = { x: size.width * between(chance, 0.36, 0.64), y: size.height * between(chance, 0.42, 0.56) }
  const reach = Math.min(size.width, size.height) * 0.62
  const count = 6 + Math.floor(chance() * 7)
  const rings = Array.from({ length: 7 }, (_, index) => {
    const tone = scheme.tones[index % scheme.tones.length] ?? scheme.light
    return {
      ...{
        radius: reach * (1 - index * 0.135),
        turn: chance() * 6.28,
        speed: between(chance, 0.06, 0.2) * (index % 2 ? -1 : 1),
        phase: chance() * 7,
      },
      ...{
        waist: between(chance, 0.3, 0.62),
        body: css(mix(tone, scheme.ground[0], 0.12), 0.6),
        edge: css(mix(tone, scheme.light, 0.6), 0.8),
      },
    }
  })
  const glow = glowSprite(scheme.light, 96)
  return (pen, moment) => {
    for (const [index, ring] of rings.entries()) {
      enter(pen, stage, moment, 0.3 + index * 0.1, () => {
        pen.translate(centre.x, centre.y)
        pen.rotate(ring.turn + moment.seconds * ring.speed)
        const open = 0.82 + 0.18 * Math.sin(moment.seconds * 0.7 + ring.phase)
        const [length, width] = [ring.radius * open, ring.radius * ring.waist * (1.3 - open * 0.5)]
        pen.beginPath()
        for (let petal = 0; petal < count; petal++) {
          const turn = (petal / count) * Math.PI * 2
          const at = (along: number, across: number): [number, number] => [
            Math.cos(turn) * along - Math.sin(turn) * across,
            Math.sin(turn) * along + Math.cos(turn) * across,
          ]
          pen.moveTo(0, 0)
          pen.bezierCurveTo(...at(length * 0.35, width * 0.7), ...at(length * 0.8, width * 0.5), ...at(length, 0))
          pen.bezierCurveTo(...at(length * 0.8, -width * 0.5), ...at(length * 0.35, -width * 0.7), 0, 0)
        }
        pen.fillStyle = ring.body
        pen.fill()
        pen.strokeStyle = ring.edge
        pen.lineWidth = Math.max(1, unit * 0.0018)
        pen.stroke()
      })
    }
    const light = unit * (0.12 + 0.02 * Math.sin(moment.seconds * 1.3))
    enter(pen, stage, moment, 0.9, () => pen.drawImage(glow, centre.x - light, centre.y - light, light * 2, light * 2))
  }
}
