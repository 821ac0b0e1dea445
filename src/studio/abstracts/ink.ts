import { createCanvas } from '@napi-rs/canvas'
import { eased } from '../camera.ts'
import { between } from '../chance.ts'
import { mix } from '../palette.ts'
import { softSprite } from '../sprites.ts'
import { type Moment, type Pen, parallax, type Stage } from '../stage.ts'
import type { Abstract } from './abstract.ts'

/** Drops of ink that fall into still water and open into curling threads. */
export const ink: Abstract = (stage, scheme) => {
  const { chance, size } = stage
  const drops = Array.from({ length: 6 }, (_, index) => ({
    x: size.width * (0.08 + 0.84 * ((index + between(chance, 0.2, 0.8)) / 6)),
    ...{ y: -size.height * between(chance, 0.05, 0.2), depth: 0.3 + index * 0.12, delay: chance() * 0.3 },
    picture: softSprite(
      mix(scheme.tones[index % scheme.tones.length] ?? scheme.light, scheme.ground[0], scheme.dark ? 0 : 0.1),
      48,
      0.02,
    ),
    threads: Array.from({ length: 6 }, () => ({
      ...{
        turn: chance() * 6.28,
        bend: between(chance, 2.5, 6.5) * (chance() < 0.5 ? -1 : 1),
        reach: between(chance, 0.3, 1),
      },
      ...{ length: between(chance, 0.55, 1), width: between(chance, 0.016, 0.04), phase: chance() * 7 },
    })),
  }))
  // Ink has no edges: a quarter of the size is enough, and takes a sixteenth of the time.
  const small = createCanvas(Math.ceil(size.width / 4), Math.ceil(size.height / 4))
  const brush = small.getContext('2d')
  brush.scale(0.25, 0.25)
  return (pen, moment) => {
    brush.clearRect(0, 0, size.width + 4, size.height + 4)
    for (const drop of drops) {
      const age = 0.42 + 0.58 * eased(Math.max(0, Math.min(1, (moment.share - drop.delay) / (1 - drop.delay))))
      for (const thread of drop.threads) drawThread(brush, moment, stage, { drop, thread, age })
    }
    brush.globalAlpha = 1
    pen.drawImage(small, 0, 0, small.width * 4, small.height * 4)
  }
}

interface Thread {
  turn: number
  bend: number
  reach: number
  length: number
  width: number
  phase: number
}

interface Drop {
  x: number
  y: number
  depth: number
  picture: ReturnType<typeof softSprite>
}

/** Puffs close together along a line that winds more the further it has come, and thins out there. */
function drawThread(pen: Pen, moment: Moment, stage: Stage, ink: { drop: Drop; thread: Thread; age: number }): void {
  const { drop, thread, age } = ink
  const { unit } = stage
  const puffs = 28
  for (let puff = 0; puff < puffs; puff++) {
    const along = puff / (puffs - 1)
    const come = along * age
    const turn = thread.turn + thread.bend * come + 0.35 * Math.sin(moment.seconds * 0.5 + thread.phase + along * 3)
    const wide = unit * (0.03 + 0.46 * thread.reach * come ** 1.25)
    const x = drop.x + Math.cos(turn) * wide + parallax(moment, drop.depth)
    const y =
      drop.y + stage.size.height * 1.02 * thread.length * come + Math.sin(turn) * wide * 0.75 + moment.lift * drop.depth
    const radius = unit * thread.width * (0.7 + 2.9 * come) * (1 + moment.zoom)
    pen.globalAlpha = 0.42 * (1 - 0.66 * come)
    pen.drawImage(drop.picture, x - radius, y - radius, radius * 2, radius * 2)
  }
}
