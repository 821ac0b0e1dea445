import { readFile } from 'node:fs/promises'
import { type Canvas, createCanvas, type Image } from '@napi-rs/canvas'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import { loadPicture } from '../media/shortage.ts'
import { type Camera, cameraOf, eased } from './camera.ts'
import { type Chance, chanceOf, pick } from './chance.ts'
import { type Shot, unitOf } from './draw.ts'
import { css, mix } from './palette.ts'
import type { CameraMove, Scene } from './scene.ts'
import { glowSprite } from './sprites.ts'
import type { Drawing, Pen, Stage } from './stage.ts'
import { air } from './weather.ts'

/** How much closer the camera gets to the image. */
const closeness = (move: CameraMove) => (move === 'in' || move === 'out' || move === 'close' ? 0.3 : 0.15)

/**
 * A film of an image. The camera moves over it as the prompt says, or slowly in or out; the image always covers the frame.
 * For depth, near layers move faster than the image: its own edges, darker and out of focus, light, and weather.
 */
export function pictureShot(image: Image | Canvas, scene: Scene, film: { size: Size; seconds: number }): Shot {
  const { size, seconds } = film
  const unit = unitOf(size)
  const camera = cameraOf(scene, { size, unit, seconds })
  const chance = chanceOf(`camera:${scene.seed}`)
  const picture = cover(image, size, closeness(scene.camera.move))
  grade(picture.getContext('2d'), scene, picture)
  const view = viewOf(scene.camera.move, chance)
  const stage: Stage = { scene, size, unit, reach: unit * 0.1, chance }
  const near = [edgeOf(stage, picture), lightOf(stage), air({ ...stage, scene: { ...scene, cast: [] } })]
  return (pen, at) => {
    const { zoom, x, y } = view(eased(at.share))
    const [width, height] = [picture.width / zoom, picture.height / zoom]
    pen.imageSmoothingEnabled = true
    pen.imageSmoothingQuality = 'low'
    pen.drawImage(
      picture,
      (picture.width - width) * x,
      (picture.height - height) * y,
      width,
      height,
      0,
      0,
      size.width,
      size.height,
    )
    const moment = nearMoment(camera, at, { x: x - 0.5, y: y - 0.5, zoom: zoom - 1 }, unit)
    for (const layer of near) layer(pen, moment)
  }
}

interface View {
  zoom: number
  /** Shares of the room that the crop leaves at the sides. */
  x: number
  y: number
}

function viewOf(move: CameraMove, chance: Chance): (share: number) => View {
  const most = 1 + closeness(move)
  const from = { x: 0.25 + 0.5 * chance(), y: 0.3 + 0.4 * chance() }
  const inwards = move === 'in' || move === 'close' || (move !== 'out' && pick(chance, [true, false]))
  const glide = (low: number, high: number, share: number) => low + (high - low) * share
  return (share) => {
    if (move === 'left' || move === 'right') return { zoom: most, x: move === 'left' ? 1 - share : share, y: from.y }
    if (move === 'up' || move === 'down') return { zoom: most, x: from.x, y: move === 'up' ? 1 - share : share }
    if (move === 'orbit')
      return {
        zoom: 1 + (most - 1) * (0.5 + 0.5 * Math.sin(share * Math.PI)),
        x: 0.5 + 0.5 * Math.sin((share - 0.5) * 3),
        y: 0.5,
      }
    if (move === 'still') return { zoom: 1.02, x: 0.5, y: 0.5 }
    const zoom = inwards ? glide(1, most, share) : glide(most, 1, share)
    return { zoom, x: glide(from.x, 1 - from.x, share), y: glide(from.y, 1 - from.y, share) }
  }
}

/** What is near goes the way that the view goes, only further. */
function nearMoment(
  camera: Camera,
  at: { seconds: number; share: number },
  view: { x: number; y: number; zoom: number },
  unit: number,
) {
  return { ...camera.at(at), travel: view.x * unit * 0.16, lift: -view.y * unit * 0.1, zoom: view.zoom, pivot: 0 }
}

/** The light of the prompt's hour, weather and mood, laid into the image once. */
function grade(pen: Pen, scene: Scene, size: Size): void {
  const { sky, near, light } = scene.palette
  const plain = scene.abstract !== null && !scene.mood
  const wash = pen.createLinearGradient(0, 0, 0, size.height)
  wash.addColorStop(0, css(mix(sky[0], sky[1], 0.5)))
  wash.addColorStop(0.6, css(mix(sky[2], light, 0.3)))
  wash.addColorStop(1, css(near))
  pen.globalCompositeOperation = 'soft-light'
  pen.globalAlpha = plain ? 0.12 : scene.mood ? 0.5 : 0.34
  pen.fillStyle = wash
  pen.fillRect(0, 0, size.width, size.height)
  if (scene.hour === 'night' && !plain) {
    pen.globalCompositeOperation = 'multiply'
    pen.globalAlpha = 0.5
    pen.fillStyle = css(mix(sky[1], [90, 100, 150], 0.5))
    pen.fillRect(0, 0, size.width, size.height)
  }
  pen.globalAlpha = 1
  pen.globalCompositeOperation = 'source-over'
}

/** The image once more, out of focus and dark, with a hole in the middle: as if one looked past something near. */
function edgeOf(stage: Stage, picture: Canvas): Drawing {
  const { size } = stage
  const [width, height] = [Math.max(4, Math.round(size.width / 8)), Math.max(4, Math.round(size.height / 8))]
  const small = createCanvas(Math.ceil(width / 5), Math.ceil(height / 5))
  const tiny = small.getContext('2d')
  tiny.imageSmoothingQuality = 'high'
  tiny.drawImage(picture, 0, 0, small.width, small.height)
  const canvas = createCanvas(width, height)
  const pen = canvas.getContext('2d')
  pen.imageSmoothingQuality = 'high'
  pen.drawImage(small, 0, 0, width, height)
  pen.fillStyle = css(mix(stage.scene.palette.near, [0, 0, 0], 0.5), 0.5)
  pen.fillRect(0, 0, width, height)
  pen.globalCompositeOperation = 'destination-out'
  pen.translate(width / 2, height / 2)
  pen.scale(width / 2, height / 2)
  const hole = pen.createRadialGradient(0, 0, 0.6, 0, 0, 1.3)
  hole.addColorStop(0, 'rgba(0,0,0,1)')
  hole.addColorStop(0.35, 'rgba(0,0,0,0.8)')
  hole.addColorStop(1, 'rgba(0,0,0,0.1)')
  pen.fillStyle = hole
  pen.fillRect(-1, -1, 2, 2)
  return (target, moment) => {
    const grown = 1.06 + moment.zoom * 1.2
    const [wide, high] = [size.width * grown, size.height * grown]
    const x = (size.width - wide) / 2 - moment.travel * 0.3
    target.drawImage(canvas, x, (size.height - high) / 2 + moment.lift * 0.3, wide, high)
  }
}

/** A light that wanders through the frame. */
function lightOf(stage: Stage): Drawing {
  const { size, unit, scene } = stage
  const glow = glowSprite(scene.palette.light, 64)
  return (pen, moment) => {
    const reach = unit * 0.5
    const x = size.width * (scene.light.x + 0.12 * Math.sin(moment.seconds * 0.4)) - moment.travel * 2
    const y = size.height * (0.12 + 0.06 * Math.cos(moment.seconds * 0.5)) + moment.lift
    pen.globalCompositeOperation = 'screen'
    pen.globalAlpha = 0.2 + 0.05 * Math.sin(moment.seconds * 0.9)
    pen.drawImage(glow, x - reach, y - reach, reach * 2, reach * 2)
    pen.globalAlpha = 1
    pen.globalCompositeOperation = 'source-over'
  }
}

export async function readPicture(path: string): Promise<Image> {
  const bytes = await readFile(path)
  const message = 'The reference image could not be read. Use another image.'
  return await loadPicture(bytes, (cause) => new Problem('generation_failed', message, { cause }))
}

/**
 * Draws the image once, and keeps only the part that covers the frame at the size that the closest view needs: 40
 * megapixels are 160 MB, and scaling them down for each frame would take longer than the film.
 */
function cover(image: Image | Canvas, size: Size, zoom: number): Canvas {
  const width = Math.ceil(size.width * (1 + zoom))
  const height = Math.ceil(size.height * (1 + zoom))
  const scale = Math.max(width / image.width, height / image.height)
  const canvas = createCanvas(width, height)
  const pen = canvas.getContext('2d')
  // What is transparent lies on white, as in most viewers.
  pen.fillStyle = 'white'
  pen.fillRect(0, 0, width, height)
  pen.imageSmoothingEnabled = true
  pen.imageSmoothingQuality = 'high'
  const [drawnWidth, drawnHeight] = [image.width * scale, image.height * scale]
  pen.drawImage(image, (width - drawnWidth) / 2, (height - drawnHeight) / 2, drawnWidth, drawnHeight)
  // Drawing is lazy: reading the pixels now lets the large image be freed.
  canvas.data()
  return canvas
}
