import { readFile } from 'node:fs/promises'
import { type Canvas, createCanvas, loadImage } from '@napi-rs/canvas'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import { chanceOf, pick } from './chance.ts'
import { eased, type Shot } from './draw.ts'

/** How much closer the camera gets to the image. */
const zoom = 0.14

/** A film of an image: the camera moves slowly in or out and along it; the image always covers the frame. */
export async function pictureShot(path: string, prompt: string, size: Size): Promise<Shot> {
  const picture = await cover(path, size)
  const chance = chanceOf(`camera:${prompt}`)
  const inwards = pick(chance, [true, false])
  // Where the camera looks, as shares of the room that the crop leaves at the sides.
  const from = { x: 0.3 + 0.4 * chance(), y: 0.3 + 0.4 * chance() }
  const to = { x: 1 - from.x, y: 1 - from.y }
  return (pen, at) => {
    const share = eased(at.share)
    const closeness = 1 + zoom * (inwards ? share : 1 - share)
    const width = picture.width / closeness
    const height = picture.height / closeness
    const x = (picture.width - width) * (from.x + (to.x - from.x) * share)
    const y = (picture.height - height) * (from.y + (to.y - from.y) * share)
    pen.imageSmoothingEnabled = true
    pen.imageSmoothingQuality = 'medium'
    pen.drawImage(picture, x, y, width, height, 0, 0, size.width, size.height)
  }
}

/**
 * Decodes the image once, and keeps only the part that covers the frame at the size that the closest view needs: 40
 * megapixels are 160 MB, and scaling them down for each frame would take longer than the film.
 */
async function cover(path: string, size: Size): Promise<Canvas> {
  const bytes = await readFile(path)
  const image = await loadImage(bytes).catch((thrown: unknown) => {
    throw new Problem('generation_failed', 'The reference image could not be read.', { cause: thrown })
  })
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
  // Drawing is put off until the pixels are asked for: ask now, so that the large image can go.
  canvas.data()
  return canvas
}
