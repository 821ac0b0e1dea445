import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { type Demuxer, FilterAPI } from 'node-av/api'
import { AVSEEK_FLAG_BACKWARD } from 'node-av/constants'
import { FFmpegError, type Frame, type Stream } from 'node-av/lib'
import type { Size } from '../core/task.ts'
import { openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

/** What is further ahead than this is jumped to; what is nearer is sooner reached by reading on. */
const leapSeconds = 10

/** What a player shows at these shares of the film, which must rise: in its proportions, and no larger than the box. */
export function picturesAt(path: string, shares: readonly number[], box: Size): Promise<Canvas[]> {
  return reading(async () => {
    await using input = await openVideo(path)
    const { stream, facts } = pictureTrack(input)
    await using reel = await openReel(input, stream)
    const size = fit(facts.size, box)
    const pictures: Canvas[] = []
    for (const share of shares) pictures.push(await draw(await reel.at(share * facts.seconds), size))
    return pictures
  })
}

/** Nothing grows, and nothing vanishes. */
function fit({ width, height }: Size, box: Size): Size {
  const scale = Math.min(1, box.width / width, box.height / height)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

/** Scaled by FFmpeg, which takes the mean of an area: the canvas drops pixels, and thin lines with them. */
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

interface Reel extends AsyncDisposable {
  /** The last frame that begins no later than this; moments only rise. It is good until the next one is asked for. */
  at(seconds: number): Promise<Frame>
}

async function openReel(input: Demuxer, stream: Stream): Promise<Reel> {
  let run = decode(input, stream)
  let shown = await firstOf(run)
  let ahead = await nextOf(run)
  const start = secondsOf(shown, stream)
  const timeOf = (frame: Frame) => secondsOf(frame, stream) - start
  const close = async () => {
    for (const frame of [shown, ahead]) frame?.free()
    await run.return()
  }
  return {
    async at(seconds) {
      if (seconds - timeOf(shown) > leapSeconds) {
        await close()
        FFmpegError.throwIfError(await input.seek(start + seconds, -1, AVSEEK_FLAG_BACKWARD), 'seek')
        run = decode(input, stream)
        shown = await firstOf(run)
        ahead = await nextOf(run)
      }
      while (ahead && timeOf(ahead) <= seconds) {
        shown.free()
        shown = ahead
        ahead = await nextOf(run)
      }
      return shown
    },
    [Symbol.asyncDispose]: close,
  }
}

async function* decode(input: Demuxer, stream: Stream): AsyncGenerator<Frame, void> {
  // One thread, so that an owner whose pictures are made leaves the other cores.
  using decoder = await openDecoder(stream, { threads: 1 })
  for (const packet of input.packetsSync(stream.index)) {
    if (!packet) break
    using stored = packet
    yield* decoder.decodeAllSync(stored)
    // The loss of the parent is noticed only when the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
  decoder.flushSync()
  yield* decoder.flushFramesSync()
}

async function nextOf(run: AsyncGenerator<Frame, void>): Promise<Frame | undefined> {
  return (await run.next()).value ?? undefined
}

async function firstOf(run: AsyncGenerator<Frame, void>): Promise<Frame> {
  const frame = await nextOf(run)
  if (!frame) throw refusal('It has no pictures.')
  return frame
}

function secondsOf({ bestEffortTimestamp }: Frame, { timeBase }: Stream): number {
  return (Number(bestEffortTimestamp) * timeBase.num) / timeBase.den
}
