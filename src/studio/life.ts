import { between } from './chance.ts'
import { css, mix, rgb } from './palette.ts'
import type { Life } from './scene.ts'
import { drift, specks } from './specks.ts'
import { glowSprite } from './sprites.ts'
import { type Drawing, type Pen, parallax, type Stage, wrap } from './stage.ts'
import { subjects } from './subjects/index.ts'

/** Small things that make a scene live, by the mood of the prompt. */
export function life(stage: Stage): Drawing {
  const flying = stage.scene.cast.some(({ name }) => subjects[name].habitat === 'air')
  const unfit =
    stage.scene.life === 'birds' && (flying || ['room', 'space', 'underwater'].includes(stage.scene.landscape))
  return lives[unfit ? 'motes' : stage.scene.life](stage)
}

const lives: Record<Life, (stage: Stage) => Drawing> = { birds, fireflies, bubbles, sparks, motes }

function motes(stage: Stage): Drawing {
  const { unit, scene } = stage
  const dust = specks(stage, 60)
  return (pen, moment) => {
    for (const tier of [0, 1, 2, 3]) {
      pen.fillStyle = css(scene.palette.light, 0.18 + 0.1 * tier)
      pen.beginPath()
      for (const mote of dust) {
        const pulse = 0.5 + 0.5 * Math.sin(moment.seconds * 0.9 + mote.phase)
        if (Math.min(3, Math.floor(pulse * 4)) !== tier) continue
        const [x, y] = drift(stage, moment, mote, { x: 0.008 + 0.01 * mote.depth, y: -0.012 - 0.01 * mote.depth })
        const at = y + Math.sin(moment.seconds * 0.6 + mote.phase) * unit * 0.01
        const radius = unit * (0.0012 + 0.003 * mote.depth ** 2)
        pen.moveTo(x + radius, at)
        pen.arc(x, at, radius, 0, Math.PI * 2)
      }
      pen.fill()
    }
  }
}

function fireflies(stage: Stage): Drawing {
  const { unit, scene, size } = stage
  const flies = specks(stage, 42)
  const light = glowSprite(mix(rgb('#ffdf7e'), scene.palette.light, 0.2), 32)
  return (pen, moment) => {
    for (const fly of flies) {
      const [x, y] = drift(stage, moment, fly, { x: 0.012 * Math.sin(fly.phase), y: 0 })
      const at = {
        x: x + Math.sin(moment.seconds * 0.7 + fly.phase) * unit * 0.03,
        y: size.height * 0.45 + y * 0.55 + Math.cos(moment.seconds * 0.9 + fly.phase * 2) * unit * 0.03,
      }
      const pulse = Math.max(0, Math.sin(moment.seconds * 1.3 + fly.phase * 3)) ** 1.5
      const reach = unit * (0.012 + 0.022 * fly.depth)
      pen.globalAlpha = 0.15 + 0.85 * pulse
      pen.drawImage(light, at.x - reach, at.y - reach, reach * 2, reach * 2)
    }
    pen.globalAlpha = 1
  }
}

function bubbles(stage: Stage): Drawing {
  const { unit } = stage
  const air = specks(stage, 46)
  return (pen, moment) => {
    pen.strokeStyle = 'rgba(235,252,255,0.5)'
    pen.lineWidth = Math.max(0.8, unit * 0.0016)
    pen.fillStyle = 'rgba(220,248,255,0.1)'
    pen.beginPath()
    for (const bubble of air) {
      const [x, y] = drift(stage, moment, bubble, { x: 0, y: -0.06 - 0.09 * bubble.depth })
      const at = x + Math.sin(moment.seconds * 2 + bubble.phase) * unit * 0.006
      const radius = unit * (0.002 + 0.007 * bubble.depth ** 2)
      pen.moveTo(at + radius, y)
      pen.arc(at, y, radius, 0, Math.PI * 2)
    }
    pen.fill()
    pen.stroke()
  }
}

function sparks(stage: Stage): Drawing {
  const { unit } = stage
  const embers = specks(stage, 70)
  const light = glowSprite(rgb('#ff9a3c'), 24)
  return (pen, moment) => {
    for (const ember of embers) {
      const [x, y] = drift(stage, moment, ember, { x: 0.03, y: -0.1 - 0.16 * ember.depth })
      const reach = unit * (0.004 + 0.01 * ember.depth)
      pen.globalAlpha = 0.4 + 0.6 * Math.abs(Math.sin(moment.seconds * 3 + ember.phase))
      pen.drawImage(
        light,
        x + Math.sin(moment.seconds * 2 + ember.phase) * unit * 0.012 - reach,
        y - reach,
        reach * 2,
        reach * 2,
      )
    }
    pen.globalAlpha = 1
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
  const height = size.height * between(chance, 0.16, 0.3)
  const colour = css(mix(scene.palette.near, scene.palette.far, 0.15), 0.85)
  return (pen, moment) => {
    const lead = (wrap(start + moment.seconds * 0.025 + 0.15) * 1.4 - 0.2) * size.width
    for (const bird of flock) {
      const x = lead + bird.x * unit + parallax(moment, 0.15)
      const y = height + bird.y * unit + Math.sin(moment.seconds * 0.8 + bird.phase) * unit * 0.006 + moment.lift * 0.3
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
