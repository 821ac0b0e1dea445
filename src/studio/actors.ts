import { createCanvas } from '@napi-rs/canvas'
import type { Actor, Picture, Seen, Spot } from './actor.ts'
import { blockingOf, type Mark } from './blocking.ts'
import { closest } from './camera.ts'
import type { Place } from './landscapes/landscape.ts'
import { flatPaint, paintOf } from './paint.ts'
import { css, mix, type Rgb } from './palette.ts'
import type { Scene } from './scene.ts'
import { drawIslet, dropShadow, reflect, shadowHeight } from './shadows.ts'
import { spotOf } from './spots.ts'
import { softSprite } from './sprites.ts'
import { type Drawing, enter, type Moment, type Pen, type Stage } from './stage.ts'
import { subjects } from './subjects/index.ts'
import type { Gait, Paint, Pose } from './subjects/subject.ts'

/**
 * The subjects of a scene. Each is drawn on a small canvas of its own first, where the light of the scene falls on it and
 * leaves an edge; the frame then takes it from there, with its shadow or its reflection.
 */
export function actors(stage: Stage, place: Place): Drawing {
  const { size, unit, scene } = stage
  const marks = blockingOf(scene, { size, unit, medium: place.medium, water: place.water !== undefined })
  const cast = marks.map((mark) => prepare(stage, place, mark, marks.length))
  return (pen, moment) => {
    for (const actor of cast) act(pen, moment, stage, place, actor)
  }
}

const ambient: Readonly<Record<Scene['hour'], Rgb>> = {
  day: [255, 252, 244],
  dawn: [248, 222, 216],
  sunset: [240, 186, 160],
  night: [118, 136, 182],
}

const darkness: Readonly<Record<Scene['hour'], number>> = { day: 0, dawn: 0.3, sunset: 0.45, night: 1 }
const rates: Readonly<Record<Gait, number>> = {
  idle: 0,
  walk: 0.85,
  run: 1.7,
  fly: 1.5,
  swim: 0.9,
  dance: 0.75,
  float: 0.35,
  fall: 0.5,
  jump: 0.8,
}
const pad = 6

function prepare(stage: Stage, place: Place, mark: Mark, among: number): Actor {
  const { scene } = stage
  const subject = subjects[mark.name]
  const depth = depthOf(place, mark)
  const thick = scene.weather === 'fog' ? 0.3 : scene.weather === 'storm' || scene.weather === 'rain' ? 0.12 : 0.04
  const water = scene.landscape === 'underwater'
  const light = mix(ambient[scene.hour], water ? [96, 176, 204] : scene.palette.light, water ? 0.55 : 0.2)
  const size = Math.min(1.3, (0.3 / subject.height) ** 0.35)
  return {
    ...{ mark, subject, depth },
    paint: paintOf(mark.member.colour ?? seasonal(scene, mark) ?? subject.colour, {
      light: scene.weather === 'storm' ? mix(light, [90, 100, 124], 0.4) : light,
      haze: scene.palette.sky[2],
      distance: thick + (1 - depth) * 0.14,
    }),
    edge: flatPaint(
      mix(
        scene.palette.light,
        mix(mark.member.colour ?? subject.colour, [255, 255, 255], 0.35),
        scene.hour === 'day' ? 0.6 : 0.2,
      ),
    ),
    shade: flatPaint(mix(scene.palette.near, [4, 6, 20], 0.7)),
    rate: rates[mark.gait] * (subject.habitat === 'air' || subject.habitat === 'deep' ? 1 : size),
    stage: fits(stage, mark, among)
      ? openPicture(mark, mark.height * (1 + closest(scene)), mark.lane === 'floor' ? 0.2 : 0.6)
      : null,
    shadow: among > 4 ? null : openPicture(mark, Math.min(mark.height, shadowHeight), 0),
    patch: softSprite([6, 8, 20], 48),
  }
}

function depthOf(place: Place, mark: Mark): number {
  if (mark.lane === 'water') return place.water?.depth ?? 0.6
  if (mark.lane === 'floor') return place.floor.depth
  return mark.lane === 'air' ? 0.5 : 0.7
}

/** A canvas of its own costs by its size, and by number. What is reflected needs one. */
function fits({ size }: Stage, mark: Mark, among: number): boolean {
  const { reach } = subjects[mark.name]
  const area = (reach.left + reach.right) * (reach.up + reach.down) * mark.height ** 2
  return mark.lane === 'water' || (among <= 2 && area < size.width * size.height * 0.3)
}

/** Room for a subject of that height in pixels, also when it is turned. */
function openPicture(mark: Mark, height: number, turn: number): Picture {
  const { reach } = subjects[mark.name]
  const [left, right] =
    mark.face > 0 ? [reach.left * height, reach.right * height] : [reach.right * height, reach.left * height]
  const [up, down] = [reach.up * height, reach.down * height]
  const slack = {
    x: Math.sin(turn) * Math.max(up, down) * 0.5 + pad,
    y: Math.sin(turn) * Math.max(left, right) * 0.5 + pad,
  }
  const canvas = createCanvas(Math.ceil(left + right + slack.x * 2), Math.ceil(up + down + slack.y * 2))
  return { canvas, pen: canvas.getContext('2d'), x: Math.round(left + slack.x), y: Math.round(up + slack.y) }
}

/** Trees follow the season unless the prompt colours them. */
function seasonal(scene: Scene, mark: Mark): Rgb | null {
  if (mark.name !== 'tree') return null
  return scene.season === 'autumn'
    ? [214, 106, 38]
    : scene.season === 'spring'
      ? [240, 158, 190]
      : scene.season === 'winter' || scene.snow
        ? [196, 210, 224]
        : null
}

function act(pen: Pen, moment: Moment, stage: Stage, place: Place, actor: Actor): void {
  const { mark } = actor
  const spot = spotOf(moment, stage, place, actor)
  const margin = Math.max(actor.subject.reach.left, actor.subject.reach.right) * mark.height
  if (spot.x < -margin || spot.x > stage.size.width + margin) return
  const pose = poseOf(actor, moment, stage)
  const still = { ...moment, travel: 0 }
  enter(pen, stage, still, actor.depth, () => {
    if (mark.lane === 'floor') dropShadow(pen, stage, actor, { spot, pose })
    if (mark.lane === 'floor' && place.floor === place.water) drawIslet(pen, stage, actor, spot)
  })
  const seen = seenAt(stage, still, actor, spot)
  if (!actor.stage) {
    sketch(pen, actor, stage, pose, seen)
    return
  }
  // The picture is made at the size that it has in the frame, and copied there pixel by pixel: scaling it would cost more.
  const { canvas, x, y } = actor.stage
  const whole = { ...seen, x: x + (seen.x - Math.floor(seen.x)), y: y + (seen.y - Math.floor(seen.y)) }
  actor.stage.pen.clearRect(0, 0, canvas.width, canvas.height)
  sketch(actor.stage.pen, actor, stage, pose, { ...whole, side: seen.side })
  shadeOn(actor.stage, actor, stage, seen)
  if (mark.lane === 'water') reflect(pen, moment, { ...actor, stage: actor.stage }, seen)
  pen.drawImage(canvas, Math.floor(seen.x) - x, Math.floor(seen.y) - y)
}

function poseOf({ mark, rate }: Actor, moment: Moment, { scene }: Stage): Pose {
  const dark =
    scene.landscape === 'space'
      ? 0.7
      : scene.weather === 'storm'
        ? Math.max(0.6, darkness[scene.hour])
        : darkness[scene.hour]
  return { seconds: moment.seconds, turns: moment.seconds * rate, gait: mark.gait, phase: mark.phase, dark }
}

/** Where a spot of a layer is in the frame. */
function seenAt(stage: Stage, moment: Moment, { mark, depth, subject }: Actor, spot: Spot): Seen {
  const { width, height } = stage.size
  const scale = 1 + moment.zoom * (0.3 + 0.7 * depth)
  const x = (spot.x - width * 0.5) * scale + width * 0.5
  return {
    ...{ x, y: (spot.y - spot.up - height * 0.6) * scale + height * 0.6 + moment.lift * (0.3 + 0.7 * depth) },
    ...{ height: mark.height * scale, turn: spot.turn },
    // Parts of one whole get the same light, or each seam would show.
    side: subject.spans ? 0 : width * stage.scene.light.x < x ? -1 : 1,
  }
}

/** The subject in its present pose over its own shape in the colour of the light, which shows along one edge. */
function sketch(pen: Pen, actor: Actor, stage: Stage, pose: Pose, seen: Seen): void {
  const { mark, subject } = actor
  const rim = Math.max(1, seen.height * 0.0065)
  const draw = (paint: Paint, dx: number, dy: number) => {
    pen.save()
    pen.translate(seen.x + dx, seen.y + dy)
    pen.rotate(seen.turn)
    pen.scale(seen.height * mark.face, seen.height)
    subject.draw(pen, paint, pose)
    pen.restore()
  }
  if (seen.height > stage.unit * 0.1) draw(actor.edge, seen.side * rim, -rim)
  draw(actor.paint, 0, 0)
}

function shadeOn({ canvas, pen, x, y }: Picture, { subject }: Actor, { scene }: Stage, seen: Seen): void {
  const { height, side } = seen
  const shade = pen.createLinearGradient(
    x + side * height * 0.5,
    y - subject.reach.up * height,
    x - side * height * 0.45,
    y + subject.reach.down * height,
  )
  shade.addColorStop(0, css(scene.palette.light, 0.26))
  shade.addColorStop(0.45, css(scene.palette.light, 0))
  shade.addColorStop(1, css(mix(scene.palette.near, [10, 10, 30], 0.4), scene.hour === 'day' ? 0.3 : 0.42))
  pen.globalCompositeOperation = 'source-atop'
  pen.fillStyle = shade
  pen.fillRect(0, 0, canvas.width, canvas.height)
  pen.globalCompositeOperation = 'source-over'
}
