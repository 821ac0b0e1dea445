import { between } from './chance.ts'
import { css, mix, type Rgb, rgb } from './palette.ts'
import type { Life, Weather } from './scene.ts'
import { type Drawing, type Moment, type Pen, parallax, type Stage, wrap } from './stage.ts'

/** What moves through the air in front of the land. Every place is a function of time: nothing is kept between frames. */
export function air(stage: Stage): Drawing {
  const fall = weathers[stage.scene.weather](stage)
  const life = stage.scene.landscape === 'space' ? motes(stage) : lives[stage.scene.life](stage)
  return (pen, moment) => {
    life(pen, moment)
    fall(pen, moment)
  }
}

const weathers: Record<Weather, (stage: Stage) => Drawing> = { clear: () => () => {}, snow, rain, fog }
const lives: Record<Life, (stage: Stage) => Drawing> = { birds, fireflies, motes }

interface Speck {
  x: number
  y: number
  /** 0 far, 1 near: nearer is larger, faster and stronger. */
  depth: number
  phase: number
}

function specks(stage: Stage, count: number): Speck[] {
  const { chance } = stage
  return Array.from({ length: count }, () => ({ x: chance(), y: chance(), depth: chance(), phase: chance() * 7 }))
}

/** Where a speck is, when it drifts by shares of the frame per second and comes back at the other side. */
function place(stage: Stage, moment: Moment, speck: Speck, drift: { x: number; y: number }): [number, number] {
  const { width, height } = stage.size
  const pan = parallax(moment, 0.2 + 0.8 * speck.depth) / width
  return [
    (wrap(speck.x + drift.x * moment.seconds + pan) * 1.1 - 0.05) * width,
    (wrap(speck.y + drift.y * moment.seconds) * 1.1 - 0.05) * height,
  ]
}

function dot(pen: Pen, at: readonly [number, number], radius: number, colour: string): void {
  pen.fillStyle = colour
  pen.beginPath()
  pen.arc(at[0], at[1], radius, 0, Math.PI * 2)
  pen.fill()
}

function glow(pen: Pen, at: readonly [number, number], radius: number, colour: Rgb, alpha: number): void {
  const [x, y] = at
  const shine = pen.createRadialGradient(x, y, 0, x, y, radius)
  shine.addColorStop(0, css(colour, alpha))
  shine.addColorStop(0.3, css(colour, alpha * 0.35))
  shine.addColorStop(1, css(colour, 0))
  pen.fillStyle = shine
  pen.fillRect(x - radius, y - radius, radius * 2, radius * 2)
}

function snow(stage: Stage): Drawing {
  const { unit } = stage
  const flakes = specks(stage, 190)
  return (pen, moment) => {
    for (const flake of flakes) {
      const [x, y] = place(stage, moment, flake, { x: 0.012, y: 0.05 + 0.11 * flake.depth })
      const sway = Math.sin(moment.seconds * 1.1 + flake.phase) * unit * 0.012
      dot(
        pen,
        [x + sway, y],
        unit * (0.0016 + 0.0042 * flake.depth ** 2),
        css([255, 255, 255], 0.35 + 0.55 * flake.depth),
      )
    }
  }
}

/** Three depths, one stroke each. */
function rain(stage: Stage): Drawing {
  const { unit, size } = stage
  const drops = specks(stage, 260)
  return (pen, moment) => {
    pen.fillStyle = css(mix(stage.scene.palette.sky[0], [20, 26, 40], 0.5), 0.18)
    pen.fillRect(-size.width * 0.1, -size.height * 0.1, size.width * 1.2, size.height * 1.2)
    for (const depth of [0, 1, 2]) {
      pen.strokeStyle = `rgba(225,236,250,${0.16 + 0.12 * depth})`
      pen.lineWidth = Math.max(0.8, unit * (0.001 + 0.0009 * depth))
      pen.beginPath()
      for (const drop of drops) {
        if (Math.min(2, Math.floor(drop.depth * 3)) !== depth) continue
        const [x, y] = place(stage, moment, drop, { x: -0.1, y: 1.1 + 0.5 * depth })
        const length = unit * (0.02 + 0.02 * depth)
        pen.moveTo(x, y)
        pen.lineTo(x - length * 0.12, y + length)
      }
      pen.stroke()
    }
  }
}

function fog(stage: Stage): Drawing {
  const { size, unit, chance, scene } = stage
  const banks = Array.from({ length: 5 }, () => ({
    x: chance(),
    y: size.height * between(chance, 0.45, 0.95),
    width: unit * between(chance, 0.6, 1.2),
    speed: between(chance, -0.02, 0.02),
    alpha: between(chance, 0.16, 0.34),
  }))
  const colour = mix(scene.palette.sky[2], [255, 255, 255], scene.hour === 'night' ? 0.05 : 0.35)
  return (pen, moment) => {
    for (const bank of banks) {
      const lane = size.width + bank.width * 2
      const x = wrap(bank.x + bank.speed * moment.seconds) * lane - bank.width
      pen.save()
      pen.translate(x + parallax(moment, 0.3) * 0.5, bank.y)
      pen.scale(1, 0.2)
      glow(pen, [0, 0], bank.width, colour, bank.alpha)
      pen.restore()
    }
  }
}

function motes(stage: Stage): Drawing {
  const { unit, scene } = stage
  const dust = specks(stage, 60)
  return (pen, moment) => {
    for (const mote of dust) {
      const [x, y] = place(stage, moment, mote, { x: 0.008 + 0.01 * mote.depth, y: -0.012 - 0.01 * mote.depth })
      const pulse = 0.5 + 0.5 * Math.sin(moment.seconds * 0.9 + mote.phase)
      const sway = Math.sin(moment.seconds * 0.6 + mote.phase) * unit * 0.01
      dot(pen, [x, y + sway], unit * (0.0012 + 0.003 * mote.depth ** 2), css(scene.palette.light, 0.16 + 0.34 * pulse))
    }
  }
}

const ember = rgb('#ffdf7e')

function fireflies(stage: Stage): Drawing {
  const { unit, scene, size } = stage
  const flies = specks(stage, 42)
  const colour = mix(ember, scene.palette.light, 0.2)
  return (pen, moment) => {
    for (const fly of flies) {
      const [x, y] = place(stage, moment, fly, { x: 0.012 * Math.sin(fly.phase), y: 0 })
      const wander = unit * 0.03
      const at = [
        x + Math.sin(moment.seconds * 0.7 + fly.phase) * wander,
        size.height * 0.5 + y * 0.5 + Math.cos(moment.seconds * 0.9 + fly.phase * 2) * wander,
      ] as const
      const pulse = Math.max(0, Math.sin(moment.seconds * 1.3 + fly.phase * 3)) ** 1.5
      glow(pen, at, unit * (0.012 + 0.02 * fly.depth), colour, 0.15 + 0.75 * pulse)
      dot(pen, at, unit * (0.0015 + 0.002 * fly.depth), css(colour, 0.3 + 0.7 * pulse))
    }
  }
}

function birds(stage: Stage): Drawing {
  const { unit, chance, scene, size } = stage
  const flock = Array.from({ length: 9 }, (_, index) => ({
    x: (index % 2 ? 1 : -1) * Math.ceil(index / 2) * 0.055 + between(chance, -0.012, 0.012),
    y: Math.ceil(index / 2) * 0.026 + between(chance, -0.01, 0.01),
    phase: chance() * 2,
    span: between(chance, 0.011, 0.017),
  }))
  const start = between(chance, 0.1, 0.45)
  const height = size.height * between(chance, 0.2, 0.34)
  const colour = css(mix(scene.palette.near, scene.palette.far, 0.15), 0.85)
  return (pen, moment) => {
    const lead = (wrap(start + moment.seconds * 0.025 + 0.15) * 1.4 - 0.2) * size.width
    for (const bird of flock) {
      const x = lead + bird.x * unit + parallax(moment, 0.15)
      const y = height + bird.y * unit + Math.sin(moment.seconds * 0.8 + bird.phase) * unit * 0.006
      drawBird(pen, { x, y, span: bird.span * unit, beat: Math.sin(moment.seconds * 7 + bird.phase * 3), colour })
    }
  }
}

function drawBird(pen: Pen, bird: { x: number; y: number; span: number; beat: number; colour: string }): void {
  const { x, y, span } = bird
  const tip = y - span * (0.25 + 0.4 * bird.beat)
  pen.strokeStyle = bird.colour
  pen.lineCap = 'round'
  pen.lineWidth = Math.max(1, span * 0.16)
  pen.beginPath()
  pen.moveTo(x - span, tip)
  pen.quadraticCurveTo(x - span * 0.45, y - span * (0.45 + 0.2 * bird.beat), x, y)
  pen.quadraticCurveTo(x + span * 0.45, y - span * (0.45 + 0.2 * bird.beat), x + span, tip)
  pen.stroke()
}
