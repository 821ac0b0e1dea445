import { Path2D } from '@napi-rs/canvas'
import { between, type Chance } from '../chance.ts'
import type { Ground } from '../ground.ts'
import { fillGround } from '../ground.ts'
import { css, mix, type Rgb, rgb } from '../palette.ts'
import { snowOf } from '../snow.ts'
import { enter, type Moment, marginOf, type Pen, type Stage } from '../stage.ts'
import { layStreet } from '../street.ts'
import type { Landscape } from './landscape.ts'

interface Block {
  ground: Ground
  /** Windows by the warmth of their light; each kind is one fill. */
  windows: { colour: Rgb; path: Path2D }[]
  /** What lies on flat roofs if it has snowed. */
  roofs: Path2D
}

const lamps: readonly Rgb[] = [rgb('#ffd27a'), rgb('#ffe9c0'), rgb('#9fd8ff')]

export const city: Landscape = (stage) => {
  const blocks = [0.08, 0.32, 0.6].map((depth) => build(stage, depth))
  const lit = { day: 0.12, dawn: 0.4, sunset: 0.75, night: 0.95 }[stage.scene.hour]
  const street = layStreet(stage)
  const snow = snowOf(stage.scene)
  return {
    back(pen, moment) {
      for (const block of blocks) {
        fillGround(pen, moment, stage, block.ground)
        drawWindows(pen, moment, stage, block, lit * (0.35 + 0.65 * block.ground.depth))
        if (snow) drawRoofs(pen, moment, stage, block, snow)
      }
      street.draw(pen, moment)
    },
    floor: { depth: 0.86, at: () => street.floor },
    medium: 'air',
  }
}

function build(stage: Stage, depth: number): Block {
  const { size, unit, chance, scene } = stage
  const margin = marginOf(stage, depth)
  const [path, roofs] = [new Path2D(), new Path2D()]
  const windows = lamps.map((colour) => ({ colour: mix(colour, scene.palette.light, 0.2), path: new Path2D() }))
  const foot = size.height * 1.3
  const base = size.height * (0.66 + 0.1 * depth)
  let crest = base
  for (let x = -margin; x < size.width + margin; ) {
    const width = unit * between(chance, 0.06, 0.14) * (0.55 + 0.6 * depth)
    const tower = chance() < 0.22 ? 1.7 : 1
    const top = base - unit * tower * between(chance, 0.06, 0.3) * (1.15 - 0.2 * depth)
    path.rect(x, top, width + 1, foot - top)
    if (crown(path, { x, top, width }, chance)) roofs.rect(x, top - unit * 0.006, width, unit * 0.012)
    if (depth > 0.2)
      light(windows, { x, top, width, foot: size.height * 0.8, pitch: unit * (0.012 + 0.009 * depth) }, chance)
    crest = Math.min(crest, top - width * 0.5)
    x += width * between(chance, 1, 1.12)
  }
  const colour = mix(scene.palette.far, scene.palette.near, 0.15 + 0.85 * depth)
  return { ground: { depth, top: () => base, path, colour, crest: Math.max(0, crest) }, windows, roofs }
}

/** Whether the roof is flat. */
function crown(path: Path2D, house: { x: number; top: number; width: number }, chance: Chance): boolean {
  const { x, top, width } = house
  const kind = chance()
  if (kind < 0.2) {
    path.rect(x + width * 0.47, top - width * 0.55, width * 0.06, width * 0.6)
    path.rect(x + width * 0.3, top - width * 0.14, width * 0.4, width * 0.16)
  } else if (kind < 0.35) {
    path.moveTo(x, top + 1)
    path.lineTo(x + width, top - width * 0.35)
    path.lineTo(x + width, top + 1)
    path.closePath()
  } else if (kind < 0.6) {
    path.rect(x + width * 0.2, top - width * 0.12, width * 0.6, width * 0.14)
  }
  return kind < 0.2 || kind >= 0.35
}

function light(
  windows: Block['windows'],
  house: { x: number; top: number; width: number; foot: number; pitch: number },
  chance: Chance,
): void {
  const columns = Math.max(1, Math.floor((house.width - house.pitch) / house.pitch))
  const inset = (house.width - columns * house.pitch) / 2
  const rows = Math.min(40, Math.floor((house.foot - house.top) / (house.pitch * 1.5)))
  const busy = between(chance, 0.12, 0.5)
  for (let row = 1; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (chance() > busy) continue
      const lamp = windows[Math.floor(chance() ** 1.5 * windows.length)]
      const x = house.x + inset + (column + 0.22) * house.pitch
      lamp?.path.rect(x, house.top + row * house.pitch * 1.5, house.pitch * 0.56, house.pitch * 0.8)
    }
  }
}

function drawWindows(pen: Pen, moment: Moment, stage: Stage, block: Block, alpha: number): void {
  enter(pen, stage, moment, block.ground.depth, () => {
    for (const { colour, path } of block.windows) {
      pen.fillStyle = css(colour, alpha)
      pen.fill(path)
    }
  })
}

function drawRoofs(pen: Pen, moment: Moment, stage: Stage, { ground, roofs }: Block, snow: Rgb): void {
  enter(pen, stage, moment, ground.depth, () => {
    pen.fillStyle = css(mix(ground.colour, snow, 0.35 + 0.6 * ground.depth))
    pen.fill(roofs)
  })
}
