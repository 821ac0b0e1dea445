import { type Canvas, createCanvas, Path2D } from '@napi-rs/canvas'
import { between } from './chance.ts'
import { css, mix } from './palette.ts'
import { type Drawing, type Moment, marginOf, type Pen, parallax, type Stage, wrap } from './stage.ts'

/**
 * The air and the sun or moon, which stand still however the camera moves: they are that far away. Baked once, because
 * wide gradients cost more of a frame than all the land.
 */
export function backdrop(stage: Stage): Canvas {
  const canvas = createCanvas(stage.size.width, stage.size.height)
  const pen = canvas.getContext('2d')
  drawAir(pen, stage)
  if (stage.scene.landscape !== 'space' && stage.scene.landscape !== 'underwater') drawLight(pen, stage)
  return canvas
}

/** What passes in front of the backdrop. */
export function sky(stage: Stage): Drawing {
  const { hour, landscape, weather, cloudy } = stage.scene
  const open = landscape !== 'space' && landscape !== 'underwater'
  const starry = hour === 'night' && landscape !== 'underwater' && weather !== 'storm'
  const stars = starry ? layStars(stage, open ? 220 : 520) : []
  const clouds = open && cloudy ? layClouds(stage, weather === 'clear' ? 5 : 9) : []
  return (pen, moment) => {
    drawStars(pen, moment, stage, stars)
    for (const cloud of clouds) drawCloud(pen, moment, stage, cloud)
  }
}

/** The horizon of the gradient lies where land begins; space has none, so its dark goes on. */
function drawAir(pen: Pen, stage: Stage): void {
  const { size, scene } = stage
  const [top, middle, horizon] = scene.palette.sky
  const open = scene.landscape === 'space'
  const air = pen.createLinearGradient(0, 0, 0, size.height * (open ? 1 : 0.68))
  air.addColorStop(0, css(open ? mix(top, [0, 0, 0], 0.4) : top))
  air.addColorStop(0.55, css(open ? top : middle))
  air.addColorStop(1, css(open ? mix(top, middle, 0.6) : horizon))
  pen.fillStyle = air
  pen.fillRect(0, 0, size.width, size.height)
}

interface Star {
  x: number
  y: number
  radius: number
  phase: number
  depth: number
}

function layStars(stage: Stage, count: number): Star[] {
  const { size, unit, chance, scene } = stage
  const margin = marginOf(stage, 0.08)
  const low = scene.landscape === 'space' ? 1.05 : 0.62
  const stars = Array.from({ length: count }, () => ({
    x: between(chance, -margin, size.width + margin),
    y: size.height * between(chance, -0.05, low),
    radius: Math.max(0.5, unit * 0.0011) * (0.6 + 1.5 * chance() ** 5),
    phase: chance() * Math.PI * 2,
    depth: chance() * 0.08,
  }))
  // None shines through the moon.
  const moon = {
    x: size.width * scene.light.x,
    y: size.height * scene.light.y,
    radius: unit * scene.light.radius * 1.8,
  }
  return stars.filter((star) => Math.hypot(star.x - moon.x, star.y - moon.y) > moon.radius)
}

/** By strength in six steps, one fill each. */
function drawStars(pen: Pen, moment: Moment, stage: Stage, stars: readonly Star[]): void {
  const steps: Star[][] = Array.from({ length: 6 }, () => [])
  for (const star of stars) {
    const fade = stage.scene.landscape === 'space' ? 1 : Math.min(1, 1.25 - (star.y / stage.size.height) * 1.7)
    const twinkle = 0.68 + 0.32 * Math.sin(moment.seconds * (1.2 + star.phase * 0.3) + star.phase)
    steps[Math.floor(Math.max(0, Math.min(0.99, fade * twinkle)) * 6)]?.push(star)
  }
  for (const [step, members] of steps.entries()) {
    pen.fillStyle = css(stage.scene.palette.light, (step + 0.5) / 6)
    pen.beginPath()
    for (const star of members) {
      const x = star.x + parallax(moment, star.depth)
      const y = star.y + moment.lift * 0.25
      pen.moveTo(x + star.radius, y)
      pen.arc(x, y, star.radius, 0, Math.PI * 2)
    }
    pen.fill()
  }
}

/** A disc in a wide glow; at night it is a moon with its seas. */
function drawLight(pen: Pen, stage: Stage): void {
  const { size, unit, scene } = stage
  const x = size.width * scene.light.x
  const y = size.height * scene.light.y
  const radius = unit * scene.light.radius
  const reach = radius * (scene.hour === 'night' ? 6 : 8.5)
  const veil = scene.weather === 'clear' || scene.weather === 'wind' ? 1 : scene.weather === 'storm' ? 0.12 : 0.45
  const glow = pen.createRadialGradient(x, y, radius * 0.6, x, y, reach)
  glow.addColorStop(0, css(scene.palette.light, 0.6 * veil))
  glow.addColorStop(0.12, css(scene.palette.light, 0.3 * veil))
  glow.addColorStop(0.35, css(scene.palette.light, 0.1 * veil))
  glow.addColorStop(0.65, css(scene.palette.light, 0.025 * veil))
  glow.addColorStop(1, css(scene.palette.light, 0))
  pen.fillStyle = glow
  pen.fillRect(x - reach, y - reach, reach * 2, reach * 2)
  pen.fillStyle = css(scene.palette.light, 0.96 * veil)
  pen.beginPath()
  pen.arc(x, y, radius, 0, Math.PI * 2)
  pen.fill()
  if (scene.hour !== 'night') return
  pen.fillStyle = css(mix(scene.palette.light, scene.palette.sky[1], 0.35), 0.35 * veil)
  for (const [dx, dy, part] of [
    [-0.3, -0.2, 0.24],
    [0.25, 0.3, 0.3],
    [0.36, -0.34, 0.15],
  ] as const) {
    pen.beginPath()
    pen.arc(x + dx * radius, y + dy * radius, part * radius, 0, Math.PI * 2)
    pen.fill()
  }
}

interface Cloud {
  x: number
  y: number
  width: number
  alpha: number
  speed: number
  path: Path2D
}

/** A flat base with puffs on it: one path about 1 wide, so that it can be drawn at any scale. */
function layClouds(stage: Stage, count: number): Cloud[] {
  const { size, unit, chance } = stage
  return Array.from({ length: count }, () => {
    const path = new Path2D()
    const puffs = 4 + Math.floor(chance() * 4)
    for (let puff = 0; puff < puffs; puff++) {
      const along = (puff + 0.5) / puffs
      const radius = (0.1 + 0.1 * Math.sin(along * Math.PI)) * between(chance, 0.7, 1.15)
      const x = along - 0.5
      path.moveTo(x + radius, 0)
      path.ellipse(x, 0, radius, radius * 0.72, 0, Math.PI, Math.PI * 2)
    }
    path.roundRect(-0.56, -0.02, 1.12, 0.05, 0.025)
    return {
      x: chance(),
      y: size.height * between(chance, 0.08, 0.45),
      width: unit * between(chance, 0.22, 0.55),
      alpha: between(chance, 0.2, 0.5),
      speed: between(chance, 0.006, 0.016),
      path,
    }
  })
}

function drawCloud(pen: Pen, moment: Moment, stage: Stage, cloud: Cloud): void {
  const { size, scene } = stage
  const strength =
    (scene.hour === 'night' ? 0.35 : 1) * (scene.weather === 'clear' ? 0.8 : scene.weather === 'storm' ? 1.8 : 1.25)
  const speed = cloud.speed * (scene.weather === 'wind' || scene.weather === 'storm' ? 4 : 1)
  const lane = size.width + cloud.width * 2
  const x = wrap(cloud.x + speed * moment.seconds + parallax(moment, 0.06) / lane) * lane - cloud.width
  const storm = scene.weather === 'storm' ? 0.75 : scene.weather === 'rain' ? 0.4 : 0
  const colour = mix(
    mix(scene.palette.sky[2], scene.palette.light, 0.5),
    mix(scene.palette.sky[0], [20, 22, 34], 0.4),
    storm,
  )
  pen.save()
  pen.translate(x, cloud.y + moment.lift * 0.28)
  pen.scale(cloud.width, cloud.width)
  const shade = pen.createLinearGradient(0, -0.2, 0, 0.04)
  shade.addColorStop(0, css(colour, Math.min(0.95, cloud.alpha * strength)))
  shade.addColorStop(1, css(colour, cloud.alpha * strength * 0.12))
  pen.fillStyle = shade
  pen.fill(cloud.path)
  pen.restore()
}
