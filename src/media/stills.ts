import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { type Demuxer, FilterAPI } from 'node-av/api'
import { AVSEEK_FLAG_BACKWARD } from 'node-av/constants'
import { FFmpegError, type Frame, type Stream } from 'node-av/lib'
import type { Size } from '../core/task.ts'
import { openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

const quality = 80
const thumbnailBox = { width: 640, height: 640 }
/** Many videos start dark. */
const thumbnailMoment = 1 / 3
/** The grid is the same for every video, so that clients can rely on it. docs/api.md shows how to use it. */
const [columns, rows] = [5, 5]
/** A tile of a 9:16 video is as wide as one of a 16:9 video. */
const tileBox = { width: 160, height: 284 }

/** One frame as WebP. */
export async function thumbnail(path: string): Promise<Uint8Array> {
  const [picture] = await picturesAt(path, [thumbnailMoment], thumbnailBox)
  if (!picture) throw refusal('It has no frames.')
  return await picture.encode('webp', quality)
}

/** Frames from equal parts of the video, each from the middle of its part, row by row, as JPEG. */
export async function spritesheet(path: string): Promise<Uint8Array> {
  const count = columns * rows
  const moments = Array.from({ length: count }, (_, index) => (index + 0.5) / count)
  const pictures = await picturesAt(path, moments, tileBox)
  const { width = 1, height = 1 } = pictures[0] ?? {}
  const sheet = createCanvas(width * columns, height * rows)
  const pen = sheet.getContext('2d')
  for (const [index, picture] of pictures.entries())
    pen.drawImage(picture, (index % columns) * width, Math.floor(index / columns) * height)
  return await sheet.encode('jpeg', quality)
}

/** A frame that is further ahead than this is found by a seek. Up to this distance decoding is faster. */
const seekSeconds = 10

/** The frames that a player shows at these shares of the video, in rising order, scaled down to fit into the box. */
export function picturesAt(path: string, shares: readonly number[], box: Size): Promise<Canvas[]> {
  return reading(async () => {
    await using input = await openVideo(path)
    const { stream, facts } = pictureTrack(input)
    await using reader = await openFrameReader(input, stream)
    const size = fit(facts.size, box)
    const pictures: Canvas[] = []
    for (const share of shares) pictures.push(await draw(await reader.at(share * facts.seconds), size))
    return pictures
  })
}

/** Never larger than the video, and at least 1x1. */
function fit({ width, height }: Size, box: Size): Size {
  const scale = Math.min(1, box.width / width, box.height / height)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

/** Scaled by FFmpeg, which averages an area. The canvas drops pixels, and thin lines with them. */
async function draw(frame: Frame, { width, height }: Size): Promise<Canvas> {
  using filter = FilterAPI.create(`scale=${width}:${height}:flags=area+accurate_rnd,format=rgba`)
  await filter.process(frame)
  using scaled = await filter.receive()
  if (!scaled) throw new Error('a frame could not be converted')
  const canvas = createCanvas(width, height)
  const pen = canvas.getContext('2d')
  const image = pen.createImageData(width, height)
  image.data.set(scaled.toBuffer())
  pen.putImageData(image, 0, 0)
  return canvas
}

interface FrameReader extends AsyncDisposable {
  /** The last frame that starts no later than this. Times must rise. The frame is valid until the next call. */
  at(seconds: number): Promise<Frame>
}

async function openFrameReader(input: Demuxer, stream: Stream): Promise<FrameReader> {
  let frames = decode(input, stream)
  let shown = await firstOf(frames)
  let ahead = await nextOf(frames)
  const start = secondsOf(shown, stream)
  const timeOf = (frame: Frame) => secondsOf(frame, stream) - start
  const close = async () => {
    for (const frame of [shown, ahead]) frame?.free()
    await frames.return()
  }
  return {
    async at(seconds) {
      if (seconds - timeOf(shown) > seekSeconds) {
        await close()
        FFmpegError.throwIfError(await input.seek(start + seconds, -1, AVSEEK_FLAG_BACKWARD), 'seek')
        frames = decode(input, stream)
        shown = await firstOf(frames)
        ahead = await nextOf(frames)
      }
      while (ahead && timeOf(ahead) <= seconds) {
        shown.free()
        shown = ahead
        ahead = await nextOf(frames)
      }
      return shown
    },
    [Symbol.asyncDispose]: close,
  }
}

async function* decode(input: Demuxer, stream: Stream): AsyncGenerator<Frame, void> {
  using decoder = await openDecoder(stream)
  for (const packet of input.packetsSync(stream.index)) {
    if (!packet) break
    using stored = packet
    yield* decoder.decodeAllSync(stored)
    // Lets the event loop run, which notices the end of the parent.
    await new Promise((resolve) => setImmediate(resolve))
  }
  decoder.flushSync()
  yield* decoder.flushFramesSync()
}

async function nextOf(frames: AsyncGenerator<Frame, void>): Promise<Frame | undefined> {
  return (await frames.next()).value ?? undefined
}

async function firstOf(frames: AsyncGenerator<Frame, void>): Promise<Frame> {
  const frame = await nextOf(frames)
  if (!frame) throw refusal('It has no frames.')
  return frame
}

function secondsOf({ bestEffortTimestamp }: Frame, { timeBase }: Stream): number {
  return (Number(bestEffortTimestamp) * timeBase.num) / timeBase.den
}
