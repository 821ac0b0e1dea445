import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { AV_PIX_FMT_RGBA } from 'node-av/constants'
import { Frame, Rational } from 'node-av/lib'
import { canvasOf, type Footage, middleOf, usualRate } from '../media/footage.ts'
import type { Film } from '../media/media.ts'
import { eased } from './camera.ts'
import { overlayOf } from './caption.ts'
import { type Shot, sceneShot } from './draw.ts'
import { pictureShot, readPicture } from './picture.ts'
import { sceneOf } from './scene.ts'

/** Pictures that are drawn and not yet converted: one at the filter, one drawn ahead of it, and one to spare. */
const inFlight = 3
/** How long the last picture of a source fades out at most, while the new pictures appear. */
const fadeSeconds = 1.5

/** The pictures of a film in order, then null: first those of the video that it extends, then the drawn ones. */
export async function* pictures(
  film: Film,
  footage: Footage | null,
  onProgress: (percent: number) => void,
): AsyncGenerator<Frame | null> {
  const { num, den } = footage?.rate ?? usualRate
  const given = footage?.count ?? 0
  const count = Math.round((film.seconds * num) / den)
  const report = progressReporter(given + count, onProgress)
  let number = 0
  const stamp = (frame: Frame): Frame => {
    frame.pts = BigInt(number++)
    frame.timeBase = new Rational(den, num)
    return frame
  }
  let last: Frame | null = null
  for await (const picture of footage?.pictures(film.size) ?? []) {
    last?.free()
    // The consumer frees the picture: this is a second handle on the same pixels.
    last = picture.clone()
    yield stamp(picture)
    report(Math.min(number, given))
  }
  const shot = await shotOf(film, last && (await canvasOf(last, film.size)))
  last?.free()
  for await (const frame of drawn(film, shot, { count, perSecond: num / den })) {
    yield stamp(frame.picture)
    report(given + frame.index + 1)
  }
  yield null
}

/** Reports each percent once. */
function progressReporter(total: number, onProgress: (percent: number) => void): (done: number) => void {
  let percent = -1
  return (done) => {
    const now = Math.floor((done * 100) / total)
    if (now > percent) onProgress(now)
    percent = Math.max(now, percent)
  }
}

async function* drawn(film: Film, shot: Shot, { count, perSecond }: { count: number; perSecond: number }) {
  const { width, height } = film.size
  const canvas = createCanvas(width, height)
  const pen = canvas.getContext('2d')
  // Keeps the pixels of the last pictures alive. Without it the first picture of 6 of 24 films on a busy machine was
  // (partly) black or wrong; with it none was. A frame seems to read the pixels after it was created.
  const held: Buffer[] = []
  for (let index = 0; index < count; index++) {
    shot(pen, { seconds: index / perSecond, share: index / Math.max(1, count - 1) })
    const pixels = canvas.data()
    held.push(pixels)
    if (held.length > inFlight) held.shift()
    yield { index, picture: Frame.fromVideoBuffer(pixels, { width, height, format: AV_PIX_FMT_RGBA }) }
    // Old pixels are freed, and the end of the parent process is noticed, only when the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** `last`: the last picture of the video that the film extends. */
async function shotOf(film: Film, last: Canvas | null): Promise<Shot> {
  const { prompt, seed = null, earlier = null, size, seconds, source } = film
  const scene = sceneOf(prompt, seed, earlier)
  const still = source?.as === 'image' ? await middleOf(source.path, size) : null
  const image = film.image ? await readPicture(film.image.path) : still
  const scenery = image ? pictureShot(image, scene, film) : sceneShot(scene, size, seconds)
  const overlay = overlayOf(film.caption === false ? null : prompt, size)
  const shot: Shot = (pen, at) => {
    scenery(pen, at)
    pen.drawImage(overlay, 0, 0)
  }
  return last ? continued(last, shot, seconds) : shot
}

/** Begins with that picture, which zooms in a little and fades while the film appears behind it. */
function continued(last: Canvas, shot: Shot, seconds: number): Shot {
  const fade = Math.min(fadeSeconds, seconds / 2)
  return (pen, at) => {
    shot(pen, at)
    const share = at.seconds / fade
    if (share >= 1) return
    const [width, height] = [last.width * (1 + 0.04 * share), last.height * (1 + 0.04 * share)]
    pen.globalAlpha = 1 - eased(share)
    pen.drawImage(last, (last.width - width) / 2, (last.height - height) / 2, width, height)
    pen.globalAlpha = 1
  }
}
