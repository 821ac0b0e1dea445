import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { between, type Chance, rollingRidge } from '../chance.ts'
import { edgeGround, fillGround, type Ground, layGround } from '../ground.ts'
import { css, mix, type Rgb, rgb } from '../palette.ts'
import { oval } from '../shapes.ts'
import { enter, type Moment, marginOf, type Pen, parallax, type Stage, wrap } from '../stage.ts'
import { subjects } from '../subjects/index.ts'
import type { Landscape } from './landscape.ts'

const hues: readonly Rgb[] = [rgb('#d0589a'), rgb('#5a6fe0'), rgb('#2fa8a8'), rgb('#e0864a'), rgb('#8f5ae0')]

/** Stars are the sky's; here are clouds of gas, planets, and ground to stand on where something has to stand. */
export const space: Landscape = (stage) => {
  const { size, unit, scene } = stage
  const nebula = bakeNebula(stage)
  const planets = layPlanets(stage)
  const moon = needsGround(stage) ? layMoon(stage) : null
  return {
    back(pen, moment) {
      // Whole pixels: what lies between them would have to be mixed anew for the whole frame.
      pen.drawImage(nebula, Math.round(parallax(moment, 0.05) - marginOf(stage, 0.05)), 0)
      drawComet(pen, moment, stage)
      for (const planet of planets) drawPlanet(pen, moment, stage, planet)
      if (moon) {
        fillGround(pen, moment, stage, moon.ground)
        edgeGround(pen, moment, stage, moon.ground, 0.4)
        enter(pen, stage, moment, moon.ground.depth, () => {
          for (const { x, y, width } of moon.craters) {
            oval(pen, css(mix(moon.ground.colour, [0, 0, 0], 0.3), 0.6), [x, y], [width, width * 0.22])
            oval(
              pen,
              css(mix(moon.ground.colour, scene.palette.light, 0.3), 0.4),
              [x, y + width * 0.08],
              [width * 0.86, width * 0.14],
            )
          }
        })
      }
    },
    floor: { depth: 0.86, at: (x) => (moon ? moon.ground.top(x) + unit * 0.05 : size.height * 0.8) },
    medium: moon ? 'air' : 'void',
  }
}

function needsGround({ scene }: Stage): boolean {
  const walks = ['walk', 'run', 'jump', 'idle', 'dance'].includes(scene.motion ?? 'float')
  return scene.cast.some(({ name }) => {
    const { habitat } = subjects[name]
    return habitat === 'rooted' || (habitat === 'ground' && walks)
  })
}

function layMoon(stage: Stage): { ground: Ground; craters: { x: number; y: number; width: number }[] } {
  const { size, unit, chance, scene } = stage
  const laid = layGround(stage, {
    ...{ depth: 0.86, base: size.height * 0.8, rise: unit * 0.02 },
    ...{ ridge: rollingRidge(chance), wavelength: unit * 1.1 },
  })
  const margin = marginOf(stage, 0.86)
  return {
    ground: { ...laid, colour: mix(rgb('#8f8b96'), scene.palette.sky[1], 0.35) },
    craters: Array.from({ length: 16 }, () => ({
      x: between(chance, -margin, size.width + margin),
      y: size.height * between(chance, 0.85, 1),
      width: unit * between(chance, 0.02, 0.08),
    })),
  }
}

interface Cloud {
  x: number
  y: number
  radius: number
  colour: Rgb
  alpha: number
}

function layNebula(stage: Stage): Cloud[] {
  const { size, unit, chance, scene } = stage
  const tilt = between(chance, -0.5, 0.5)
  return Array.from({ length: 9 }, () => {
    const along = between(chance, -0.6, 0.6)
    return {
      x: size.width * (0.5 + along),
      y: size.height * (0.42 + along * tilt) + unit * between(chance, -0.14, 0.14),
      radius: unit * between(chance, 0.4, 0.8),
      colour: mix(hueOf(chance), scene.palette.sky[2], 0.45),
      alpha: between(chance, 0.2, 0.4),
    }
  })
}

function hueOf(chance: Chance): Rgb {
  return hues[Math.floor(chance() * hues.length)] ?? [255, 255, 255]
}

/** Nine wide glows would cost more than all the rest of a frame: they are drawn once. */
function bakeNebula(stage: Stage): Canvas {
  const { size } = stage
  const margin = marginOf(stage, 0.05)
  const canvas = createCanvas(Math.ceil(size.width + margin * 2), size.height)
  const pen = canvas.getContext('2d')
  pen.translate(margin, 0)
  pen.globalCompositeOperation = 'lighter'
  for (const cloud of layNebula(stage)) {
    const { x, y, radius } = cloud
    const glow = pen.createRadialGradient(x, y, 0, x, y, radius)
    glow.addColorStop(0, css(cloud.colour, cloud.alpha))
    glow.addColorStop(0.5, css(cloud.colour, cloud.alpha * 0.35))
    glow.addColorStop(1, css(cloud.colour, 0))
    pen.fillStyle = glow
    pen.fillRect(x - radius, y - radius, radius * 2, radius * 2)
  }
  return canvas
}

interface Planet {
  x: number
  y: number
  radius: number
  colour: Rgb
  bands: { y: number; height: number; alpha: number }[]
  ring: boolean
  depth: number
}

function layPlanets(stage: Stage): Planet[] {
  const { size, unit, chance, scene } = stage
  const side = scene.light.x < 0.5 ? 0.72 : 0.28
  const make = (x: number, y: number, radius: number, depth: number): Planet => ({
    x: size.width * x,
    y: size.height * y,
    radius: unit * radius,
    colour: mix(hueOf(chance), scene.palette.sky[2], 0.3),
    bands: Array.from({ length: 7 }, () => ({
      y: between(chance, -1, 1),
      height: between(chance, 0.04, 0.2),
      alpha: between(chance, 0.05, 0.2),
    })),
    ring: depth > 0.3,
    depth,
  })
  return [
    make(1 - side, between(chance, 0.2, 0.3), 0.05, 0.12),
    make(side, between(chance, 0.5, 0.58), between(chance, 0.2, 0.26), 0.4),
  ]
}

function drawPlanet(pen: Pen, moment: Moment, stage: Stage, planet: Planet): void {
  const { radius, colour } = planet
  pen.save()
  pen.translate(planet.x + parallax(moment, planet.depth), planet.y + moment.lift * planet.depth)
  pen.scale(1 + moment.zoom * planet.depth, 1 + moment.zoom * planet.depth)
  pen.rotate(-0.32)
  if (planet.ring) drawRing(pen, planet, Math.PI, Math.PI * 2)
  pen.save()
  pen.beginPath()
  pen.arc(0, 0, radius, 0, Math.PI * 2)
  pen.clip()
  pen.fillStyle = css(colour)
  pen.fillRect(-radius, -radius, radius * 2, radius * 2)
  for (const band of planet.bands) {
    pen.fillStyle = css(band.y > 0 ? stage.scene.palette.near : stage.scene.palette.light, band.alpha)
    pen.beginPath()
    pen.ellipse(0, band.y * radius, radius * 1.1, band.height * radius, 0, 0, Math.PI * 2)
    pen.fill()
  }
  const sun = stage.scene.light.x < 0.5 ? -1 : 1
  const shade = pen.createRadialGradient(sun * radius * 0.55, -radius * 0.5, radius * 0.15, 0, 0, radius * 1.25)
  shade.addColorStop(0, 'rgba(255,255,255,0.28)')
  shade.addColorStop(0.45, 'rgba(0,0,0,0.1)')
  shade.addColorStop(1, 'rgba(0,0,10,0.85)')
  pen.fillStyle = shade
  pen.fillRect(-radius, -radius, radius * 2, radius * 2)
  pen.restore()
  if (planet.ring) drawRing(pen, planet, 0, Math.PI)
  pen.restore()
}

/** Half a ring: the far half is drawn before the planet, the near one after it. */
function drawRing(pen: Pen, planet: Planet, from: number, to: number): void {
  const light = mix(planet.colour, [255, 255, 255], 0.55)
  // Any other end would show where the halves meet.
  pen.lineCap = 'butt'
  for (const [reach, width, alpha] of [
    [1.45, 0.1, 0.5],
    [1.62, 0.16, 0.38],
    [1.86, 0.07, 0.25],
  ] as const) {
    pen.strokeStyle = css(light, alpha)
    pen.lineWidth = planet.radius * width * 0.55
    pen.beginPath()
    pen.ellipse(0, 0, planet.radius * reach, planet.radius * reach * 0.24, 0, from, to)
    pen.stroke()
  }
}

/** Now and then something falls: the same one every few seconds, each time elsewhere. */
function drawComet(pen: Pen, moment: Moment, stage: Stage): void {
  const { size, unit, scene } = stage
  const turn = moment.seconds / 3.2 + 0.7
  const flight = wrap(turn) * 3.2
  if (flight > 0.9) return
  const x = size.width * (0.15 + 0.6 * wrap(Math.floor(turn) * 0.618)) + flight * unit * 0.7
  const y = size.height * (0.08 + 0.2 * wrap(Math.floor(turn) * 0.414)) + flight * unit * 0.26
  const tail = pen.createLinearGradient(x - unit * 0.2, y - unit * 0.075, x, y)
  tail.addColorStop(0, css(scene.palette.light, 0))
  tail.addColorStop(1, css(scene.palette.light, 0.9 * Math.sin((flight / 0.9) * Math.PI)))
  pen.strokeStyle = tail
  pen.lineCap = 'round'
  pen.lineWidth = Math.max(1, unit * 0.0035)
  pen.beginPath()
  pen.moveTo(x - unit * 0.2, y - unit * 0.075)
  pen.lineTo(x, y)
  pen.stroke()
}
