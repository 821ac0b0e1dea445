import { Path2D } from '@napi-rs/canvas'
import { between, type Chance } from './chance.ts'
import type { Ground } from './ground.ts'
import { css, type Hour, mix, type Rgb } from './palette.ts'
import { enter, type Moment, marginOf, type Pen, type Stage } from './stage.ts'

/* What grows in a landscape: trees that are part of a ridge, and grass that the wind moves. */

interface Tree {
  x: number
  foot: number
  height: number
}

/** Trees grow out of the ridge in its own shade, so that mist lies in them as it does on the ground. */
export function plant(
  stage: Stage,
  ground: Ground,
  wood: { height: number; gap: number; kind: 'pine' | 'leaf' },
): Ground {
  const { size, chance, scene } = stage
  const margin = marginOf(stage, ground.depth)
  const growth = new Path2D()
  let crest = ground.crest
  for (let x = -margin; x < size.width + margin; x += wood.height * between(chance, 0.5, 1.3) * wood.gap) {
    const tree = { x, foot: ground.top(x) + wood.height * 0.08, height: wood.height * between(chance, 0.55, 1.1) }
    if (wood.kind === 'pine') growPine(growth, tree, chance)
    else growLeafTree(growth, tree, chance)
    crest = Math.min(crest, tree.foot - tree.height)
  }
  const planted = { ...ground, growth, crest: Math.max(0, crest) }
  // Dark against the snow, and paler the farther they are.
  const needles = mix(
    mix(scene.palette.far, scene.palette.near, ground.depth),
    evergreen[scene.hour],
    0.2 + 0.6 * ground.depth,
  )
  return scene.snow ? { ...planted, growthColour: needles } : planted
}

const evergreen: Readonly<Record<Hour, Rgb>> = {
  day: [62, 92, 96],
  dawn: [76, 82, 104],
  sunset: [66, 52, 84],
  night: [22, 32, 54],
}

function growPine(path: Path2D, tree: Tree, chance: Chance): void {
  const { x, foot, height } = tree
  const tiers = 5
  const half = height * between(chance, 0.15, 0.2)
  path.moveTo(x, foot - height)
  const outline: [number, number][] = []
  for (let tier = 1; tier <= tiers; tier++) {
    const reach = half * (tier / tiers) ** 0.85 * between(chance, 0.88, 1.08)
    const y = foot - height * (1 - (tier / tiers) * 0.9)
    outline.push([reach, y], [reach * 0.55, y - height * 0.025])
  }
  for (const [reach, y] of outline) path.lineTo(x + reach, y)
  path.lineTo(x + half * 0.12, foot - height * 0.1)
  path.lineTo(x + half * 0.12, foot)
  path.lineTo(x - half * 0.12, foot)
  path.lineTo(x - half * 0.12, foot - height * 0.1)
  for (const [reach, y] of outline.reverse()) path.lineTo(x - reach, y)
  path.closePath()
}

function growLeafTree(path: Path2D, tree: Tree, chance: Chance): void {
  const { x, foot, height } = tree
  const width = height * 0.035
  path.rect(x - width, foot - height * 0.5, width * 2, height * 0.5)
  for (let puff = 0; puff < 6; puff++) {
    const turn = (puff / 6) * Math.PI * 2
    const radius = height * between(chance, 0.13, 0.2)
    const at = { x: x + Math.cos(turn) * height * 0.16, y: foot - height * 0.68 + Math.sin(turn) * height * 0.15 }
    path.moveTo(at.x + radius, at.y)
    path.arc(at.x, at.y, radius, 0, Math.PI * 2)
  }
}

interface Blade {
  x: number
  y: number
  height: number
  lean: number
  tone: 0 | 1 | 2
}

/** Grass between the ridge of a ground (or a line below it) and the bottom edge. */
export function layBlades(
  stage: Stage,
  ground: Ground,
  lawn: { from: number; size: number; density: number },
): Blade[] {
  const { size, unit, chance } = stage
  const margin = marginOf(stage, ground.depth)
  // Only a few stand out of the snow.
  const density = lawn.density * (stage.scene.snow ? 0.1 : 1)
  const count = Math.min(1100, Math.round(((size.width + 2 * margin) / unit) * density))
  return Array.from({ length: count }, () => {
    const x = between(chance, -margin, size.width + margin)
    const top = ground.top(x) + lawn.from
    const near = chance() ** 1.6
    return {
      x,
      y: top + near * Math.max(0, size.height * 1.06 - top) + unit * 0.004,
      height: unit * between(chance, 0.012, 0.024) * (1 + 1.6 * near) * lawn.size,
      lean: between(chance, -0.4, 0.4),
      tone: chance() < 0.4 ? 0 : chance() < 0.7 ? 1 : 2,
    }
  })
}

/** One path for each tone: three fills, however many blades there are. */
export function drawBlades(pen: Pen, moment: Moment, stage: Stage, lawn: { blades: Blade[]; depth: number }): void {
  const { near, light, far } = stage.scene.palette
  const tones = [mix(near, [0, 0, 0], 0.28), mix(near, far, 0.22), mix(near, light, 0.26)]
  const gust = stage.scene.weather === 'wind' || stage.scene.weather === 'storm' ? 2.4 : 1
  const seen = { from: -stage.size.width * 0.1, to: stage.size.width * 1.1 }
  const shift = -moment.travel * (0.08 + 0.92 * lawn.depth - moment.pivot)
  enter(pen, stage, moment, lawn.depth, () => {
    for (const [tone, colour] of tones.entries()) {
      pen.fillStyle = css(colour, 0.9)
      pen.beginPath()
      for (const blade of lawn.blades) {
        if (blade.tone !== tone || blade.x + shift < seen.from || blade.x + shift > seen.to) continue
        const wind = Math.sin(moment.seconds * 1.6 * gust + (blade.x / stage.unit) * 5) * 0.28 * gust - 0.2 * (gust - 1)
        const tip = blade.x + blade.height * (blade.lean + wind)
        const width = blade.height * 0.09
        pen.moveTo(blade.x - width, blade.y)
        pen.quadraticCurveTo(blade.x, blade.y - blade.height * 0.6, tip, blade.y - blade.height)
        pen.quadraticCurveTo(blade.x + width, blade.y - blade.height * 0.5, blade.x + width, blade.y)
      }
      pen.fill()
    }
  })
}
