import { rename } from 'node:fs/promises'
import { createCanvas } from '@napi-rs/canvas'
import { Encoder, FilterAPI, Muxer } from 'node-av/api'
import {
  AV_PIX_FMT_RGBA,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
  FF_ENCODER_LIBX264,
} from 'node-av/constants'
import { Frame } from 'node-av/lib'
import { overlayOf } from './caption.ts'
import { type Shot, sceneShot } from './draw.ts'
import type { Film } from './media.ts'
import { pictureShot } from './picture.ts'
import { partOf } from './protocol.ts'
import { sceneOf } from './scene.ts'

const framesPerSecond = 24

/** Draws and encodes frame by frame; `film.path` appears only when the file is complete. */
export async function render(film: Film, onProgress: (percent: number) => void): Promise<void> {
  const shot = film.image
    ? await pictureShot(film.image.path, film.prompt, film.size)
    : sceneShot(sceneOf(film.prompt), film.size, film.seconds)
  await encode(film, frames(film, shot, onProgress))
  await rename(partOf(film), film.path)
}

async function* frames(film: Film, shot: Shot, onProgress: (percent: number) => void): AsyncGenerator<Frame | null> {
  const { width, height } = film.size
  const canvas = createCanvas(width, height)
  const pen = canvas.getContext('2d')
  const overlay = overlayOf(film.prompt, film.size)
  const count = film.seconds * framesPerSecond
  let percent = -1
  for (let index = 0; index < count; index++) {
    shot(pen, { seconds: index / framesPerSecond, share: index / Math.max(1, count - 1) })
    pen.drawImage(overlay, 0, 0)
    yield Frame.fromVideoBuffer(canvas.data(), {
      width,
      height,
      format: AV_PIX_FMT_RGBA,
      timeBase: { num: 1, den: framesPerSecond },
      pts: BigInt(index),
    })
    const now = Math.floor(((index + 1) * 100) / count)
    if (now !== percent) onProgress(now)
    percent = now
    // Pixels of past frames are freed, and the loss of the parent is noticed, only when the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
  yield null
}

/** Asks for the next picture while the present one is being encoded: drawing and encoding share two cores, not one. */
async function* ahead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = source.next()
  for (;;) {
    const present = await next
    if (present.done) return
    next = source.next()
    // It is awaited in the next turn; until then its failure must not count as unhandled.
    next.catch(() => {})
    yield present.value
  }
}

async function encode(film: Film, pictures: AsyncGenerator<Frame | null>): Promise<void> {
  using filter = FilterAPI.create(
    'scale=out_color_matrix=bt709:out_range=tv:flags=bilinear+accurate_rnd,format=yuv420p',
  )
  using encoder = await Encoder.create(FF_ENCODER_LIBX264, {
    filter,
    context: {
      gopSize: framesPerSecond * 2,
      // Fixed: the number of threads decides where frames are cut, and with it the bytes.
      threadCount: 2,
      colorRange: AVCOL_RANGE_MPEG,
      colorSpace: AVCOL_SPC_BT709,
      colorPrimaries: AVCOL_PRI_BT709,
      colorTrc: AVCOL_TRC_BT709,
    },
    options: { preset: 'veryfast', crf: 19, profile: 'high' },
  })
  await using output = await Muxer.open(partOf(film), { format: 'mp4', options: { movflags: '+faststart' } })
  const stream = output.addStream(encoder)
  for await (using packet of encoder.packets(ahead(filter.frames(pictures)))) {
    await output.writePacket(packet, stream)
  }
}
