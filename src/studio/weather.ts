import { createCanvas } from '@napi-rs/canvas'
import { between } from './chance.ts'
import { life } from './life.ts'
import { css, mix, type Rgb, rgb } from './palette.ts'
import type { Season, Weather } from './scene.ts'
import { drift, layWisps, type Speck, specks } from './specks.ts'
import { softSprite } from './sprites.ts'
import { type Drawing, parallax, type Stage, wrap } from './stage.ts'

/** What moves through the air in front of the land. Every place is a function of time: nothing is kept between frames. */
export function air(stage: Stage): Drawing {
  const { scene } = stage
  const indoors = scene.landscape === 'room'
  const parts = [life(stage)]
  if (!indoors) parts.push(weathers[scene.weather](stage))
  const season =
    scene.season && !indoors && scene.landscape !== 'space' && scene.landscape !== 'underwater'
      ? seasons[scene.season]
      : null
  if (season) parts.push(season(stage))
  return (pen, moment) => {
    for (const part of parts) part(pen, moment)
  }
}

/** What falls outside a room, behind its window; nothing where there is no room. */
export function outside(stage: Stage): Drawing {
  return stage.scene.landscape === 'room' ? weathers[stage.scene.weather](stage) : () => {}
}

const nothing = () => () => {}
const weathers: Record<Weather, (stage: Stage) => Drawing> = { clear: nothing, snow, rain, fog, storm, wind }
const seasons: Record<Season, (stage: Stage) => Drawing> = {
  autumn: leaves,
  spring: petals,
  summer: nothing,
  winter: nothing,
}

/** Near flakes are few, large and soft; far ones many and small. */
function snow(stage: Stage): Drawing {
  const { unit } = stage
  const flakes = specks(stage, 200).sort((a, b) => a.depth - b.depth)
  const tiers = [0, 1, 2].map((tier) => flakes.filter(({ depth }) => Math.min(2, Math.floor(depth * 3)) === tier))
  return (pen, moment) => {
    for (const [tier, members] of tiers.entries()) {
      pen.fillStyle = `rgba(255,255,255,${0.4 + 0.24 * tier})`
      pen.beginPath()
      for (const flake of members) {
        const [x, y] = drift(stage, moment, flake, { x: 0.012, y: 0.05 + 0.11 * flake.depth })
        const radius = unit * (0.0016 + 0.0046 * flake.depth ** 2)
        const at = x + Math.sin(moment.seconds * 1.1 + flake.phase) * unit * 0.012
        pen.moveTo(at + radius, y)
        pen.arc(at, y, radius, 0, Math.PI * 2)
      }
      pen.fill()
    }
  }
}

function rain(stage: Stage): Drawing {
  return fallingRain(stage, { drops: 190, slant: -0.1, dark: 0.16 })
}

/** Three depths, one stroke each. */
function fallingRain(stage: Stage, fall: { drops: number; slant: number; dark: number }): Drawing {
  const { unit, size } = stage
  const drops = specks(stage, fall.drops)
  const shade = css(mix(stage.scene.palette.sky[0], [20, 26, 40], 0.5), fall.dark)
  return (pen, moment) => {
    pen.fillStyle = shade
    pen.fillRect(0, 0, size.width, size.height)
    for (const depth of [0, 1, 2]) {
      pen.strokeStyle = `rgba(225,236,250,${0.16 + 0.12 * depth})`
      pen.lineWidth = Math.max(0.8, unit * (0.001 + 0.0009 * depth))
      pen.beginPath()
      for (const drop of drops) {
        if (Math.min(2, Math.floor(drop.depth * 3)) !== depth) continue
        const [x, y] = drift(stage, moment, drop, { x: fall.slant, y: 1.1 + 0.5 * depth })
        const length = unit * (0.022 + 0.022 * depth)
        pen.moveTo(x, y)
        pen.lineTo(x + length * fall.slant * 1.2, y + length)
      }
      pen.stroke()
    }
  }
}

/** Two banks that pass each other. They are drawn once, and then moved by whole pixels: soft edges hide the steps. */
function fog(stage: Stage): Drawing {
  const { size, unit, chance, scene } = stage
  const colour = mix(scene.palette.sky[2], [255, 255, 255], scene.hour === 'night' ? 0.05 : 0.35)
  const puff = softSprite(colour, 96, 0.05)
  const room = Math.ceil(unit * 0.4)
  const banks = [-1, 1].map((way) => {
    const canvas = createCanvas(size.width + room * 2, Math.ceil(size.height * 0.6))
    const pen = canvas.getContext('2d')
    for (let index = 0; index < 7; index++) {
      const width = unit * between(chance, 0.7, 1.3)
      pen.globalAlpha = between(chance, 0.2, 0.42)
      const [x, y] = [chance() * canvas.width, canvas.height * between(chance, 0.25, 0.95)]
      pen.drawImage(puff, x - width, y - width * 0.2, width * 2, width * 0.4)
    }
    return { canvas, way }
  })
  return (pen, moment) => {
    for (const { canvas, way } of banks) {
      const x = way * unit * 0.3 * Math.sin(moment.seconds * 0.09) + parallax(moment, 0.3) * 0.2
      pen.drawImage(canvas, Math.round(Math.max(-room, Math.min(room, x))) - room, Math.floor(size.height * 0.42))
    }
  }
}

/** Rain that comes sideways, and now and then a flash with a bolt in it. */
function storm(stage: Stage): Drawing {
  const { size, unit, chance } = stage
  const wet = fallingRain(stage, { drops: 230, slant: -0.34, dark: 0.22 })
  const every = between(chance, 1.7, 2.6)
  const first = between(chance, 0.25, 0.6) * every
  const bolts = Array.from({ length: 5 }, () => layBolt(stage))
  return (pen, moment) => {
    const turn = (moment.seconds + first) / every
    const age = wrap(turn) * every
    // Two flashes close together, as lightning has.
    const flash = Math.max(0, 1 - age * 5) + Math.max(0, 0.7 - Math.abs(age - 0.28) * 9)
    if (flash > 0.02) {
      pen.fillStyle = `rgba(214,226,255,${Math.min(0.4, flash * 0.32)})`
      pen.fillRect(0, 0, size.width, size.height)
      const bolt = bolts[Math.floor(turn) % bolts.length] ?? []
      for (const [width, alpha] of [
        [0.014, 0.25],
        [0.0045, 1],
      ] as const) {
        pen.strokeStyle = `rgba(235,240,255,${Math.min(1, flash) * alpha})`
        pen.lineWidth = unit * width
        pen.lineJoin = 'round'
        pen.beginPath()
        for (const line of bolt)
          for (const [index, point] of line.entries()) index ? pen.lineTo(...point) : pen.moveTo(...point)
        pen.stroke()
      }
    }
    wet(pen, moment)
  }
}

function layBolt(stage: Stage): [number, number][][] {
  const { size, unit, chance } = stage
  const walk = (x: number, y: number, to: number, step: number) => {
    const line: [number, number][] = [[x, y]]
    let [atX, atY] = [x, y]
    while (atY < to) {
      atX += between(chance, -1, 1) * step
      atY += between(chance, 0.4, 1.2) * step
      line.push([atX, atY])
    }
    return line
  }
  const trunk = walk(size.width * between(chance, 0.15, 0.85), 0, size.height * 0.58, unit * 0.05)
  const fork = trunk[Math.floor(trunk.length * 0.45)] ?? [0, 0]
  return [trunk, walk(fork[0], fork[1], fork[1] + size.height * 0.16, unit * 0.04)]
}

function wind(stage: Stage): Drawing {
  const streaks = layWisps(stage, 16)
  const dry = tumbling(stage, {
    count: 26,
    colours: [rgb('#9a8a54'), rgb('#b7a36a')],
    speed: 0.34,
    fall: 0.05,
    size: 0.7,
  })
  return (pen, moment) => {
    streaks(pen, moment)
    dry(pen, moment)
  }
}

function leaves(stage: Stage): Drawing {
  const colours = [rgb('#d9762b'), rgb('#c14a22'), rgb('#e3b23c'), rgb('#8f4a22')]
  return tumbling(stage, { count: 46, colours, speed: 0.045, fall: 0.085, size: 1.15 })
}

function petals(stage: Stage): Drawing {
  return tumbling(stage, {
    count: 54,
    colours: [rgb('#f8c4d6'), rgb('#fbe3ea'), rgb('#f29fbd')],
    speed: 0.04,
    fall: 0.06,
    size: 0.8,
  })
}

interface Tumble {
  count: number
  colours: readonly Rgb[]
  speed: number
  fall: number
  size: number
}

/** Leaves turn over as they fall: their width comes and goes. */
function tumbling(stage: Stage, tumble: Tumble): Drawing {
  const { unit, scene } = stage
  const gust = scene.weather === 'wind' || scene.weather === 'storm' ? 3.5 : 1
  const dim = scene.hour === 'night' ? 0.5 : scene.hour === 'sunset' ? 0.25 : 0
  const kinds = tumble.colours.map((colour) => ({
    colour: css(mix(colour, scene.palette.near, dim), 0.92),
    members: specks(stage, Math.round(tumble.count / tumble.colours.length)),
  }))
  const draw = (leaf: Speck, moment: Parameters<Drawing>[1]) => {
    const [x, y] = drift(stage, moment, leaf, {
      x: tumble.speed * gust * (0.6 + leaf.depth),
      y: tumble.fall * (0.6 + leaf.depth),
    })
    const swing = Math.sin(moment.seconds * 1.7 + leaf.phase)
    const size = unit * (0.005 + 0.01 * leaf.depth) * tumble.size
    return {
      x: x + swing * unit * 0.02,
      y,
      size,
      turn: moment.seconds * 1.4 + leaf.phase + swing,
      // Its amount only: leaves that are drawn either way round would cut holes into each other.
      flip: Math.abs(Math.cos(moment.seconds * 2.3 + leaf.phase * 2)),
    }
  }
  return (pen, moment) => {
    for (const { colour, members } of kinds) {
      pen.fillStyle = colour
      pen.beginPath()
      for (const speck of members) {
        const leaf = draw(speck, moment)
        const [cos, sin] = [Math.cos(leaf.turn) * leaf.size, Math.sin(leaf.turn) * leaf.size]
        const [wideX, wideY] = [-sin * 0.55 * leaf.flip, cos * 0.55 * leaf.flip]
        pen.moveTo(leaf.x - cos, leaf.y - sin)
        pen.quadraticCurveTo(leaf.x + wideX, leaf.y + wideY, leaf.x + cos, leaf.y + sin)
        pen.quadraticCurveTo(leaf.x - wideX, leaf.y - wideY, leaf.x - cos, leaf.y - sin)
      }
      pen.fill()
    }
  }
}
