import { eased } from '../camera.ts'
import { between } from '../chance.ts'
import { css, mix } from '../palette.ts'
import { glowSprite } from '../sprites.ts'
import { enter } from '../stage.ts'
import type { Abstract } from './abstract.ts'

/** Shards that grow from a few roots, each with a lit and a shaded side. */
export const crystals: Abstract = (stage, scheme) => {
  const { chance, size, unit } = stage
  const roots = Array.from({ length: 4 }, (_, index) => ({
    x: size.width * (0.12 + 0.25 * (index + between(chance, 0.1, 0.9))),
    y: size.height * between(chance, 0.82, 1.04),
  }))
  const shards = Array.from({ length: 42 }, (_, index) => {
    const root = roots[index % roots.length] ?? { x: 0, y: 0 }
    const tone = scheme.tones[Math.floor(chance() * scheme.tones.length)] ?? scheme.light
    const depth = 0.25 + 0.75 * (index / 42)
    return {
      ...{ root, depth, turn: between(chance, -0.85, 0.85), delay: chance() * 0.55, phase: chance() * 7 },
      ...{
        length: unit * between(chance, 0.18, 0.62) * (0.6 + 0.5 * depth),
        width: unit * between(chance, 0.025, 0.07),
      },
      lit: css(mix(tone, scheme.light, 0.45), 0.92),
      shaded: css(mix(tone, scheme.ground[0], 0.4), 0.92),
      facet: css(mix(tone, scheme.light, 0.1), 0.92),
    }
  }).sort((a, b) => a.depth - b.depth)
  const glow = glowSprite(scheme.light, 48)
  return (pen, moment) => {
    for (const shard of shards) {
      const grown = 0.48 + 0.52 * eased(Math.max(0, Math.min(1, (moment.share - shard.delay) / 0.42)))
      const length = shard.length * grown
      const width = shard.width * (0.55 + 0.45 * grown)
      enter(pen, stage, moment, shard.depth, () => {
        pen.translate(shard.root.x, shard.root.y)
        pen.rotate(shard.turn + 0.012 * Math.sin(moment.seconds * 0.6 + shard.phase))
        const facets: [string, [number, number][]][] = [
          [
            shard.lit,
            [
              [-width, 0],
              [-width * 0.9, -length * 0.82],
              [0, -length],
              [-width * 0.1, 0],
            ],
          ],
          [
            shard.shaded,
            [
              [width, 0],
              [width * 0.8, -length * 0.76],
              [0, -length],
              [-width * 0.1, 0],
            ],
          ],
          [
            shard.facet,
            [
              [-width * 0.1, 0],
              [-width * 0.35, -length * 0.79],
              [0, -length],
              [width * 0.3, -length * 0.78],
              [width * 0.3, 0],
            ],
          ],
        ]
        for (const [colour, points] of facets) {
          pen.fillStyle = colour
          pen.beginPath()
          for (const point of points) pen.lineTo(...point)
          pen.fill()
        }
        const spark = Math.max(0, Math.sin(moment.seconds * 1.1 + shard.phase * 3)) ** 10
        if (spark > 0.05) {
          pen.globalAlpha = spark
          pen.drawImage(glow, -unit * 0.05, -length - unit * 0.05, unit * 0.1, unit * 0.1)
          pen.globalAlpha = 1
        }
      })
    }
  }
}
