import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { FilterAPI } from 'node-av/api'
import type { Frame, Stream } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import { picturesAt } from './stills.ts'
import { openDecoder, openVideo, pictureTrack } from './video.ts'

/** Frames per second, as a fraction. */
export interface Rate {
  readonly num: number
  readonly den: number
}

/** A source video of a film, read frame by frame. */
export interface Footage extends AsyncDisposable {
  readonly rate: Rate
  /** The approximate number of frames. */
  readonly count: number
  /** All frames in order, converted to `rate` and to this size. The caller frees each of them. */
  pictures(size: Size): AsyncGenerator<Frame>
}

/** The rate of drawn films, and of a source whose own rate is unknown or too high. */
export const usualRate: Rate = { num: 24, den: 1 }
const mostPerSecond = 60

export async function openFootage(path: string): Promise<Footage> {
  await using stack = new AsyncDisposableStack()
  const input = stack.use(await openVideo(path).catch(unreadable))
  const { stream, facts } = pictureTrack(input)
  const rate = rateOf(stream)
  const resources = stack.move()
  return {
    rate,
    count: Math.max(1, Math.round((facts.seconds * rate.num) / rate.den)),
    async *pictures(size) {
      using decoder = await openDecoder(stream, { threads: 2 })
      using filter = FilterAPI.create(`fps=${rate.num}/${rate.den},${scaled(size)}:${colours},setsar=1,format=yuv420p`)
      let seen = false
      try {
        for await (const frame of filter.frames(decoder.frames(input.packets(stream.index)))) {
          if (!frame) break
          seen = true
          yield frame
          // Lets the event loop run, which notices the end of the parent.
          await new Promise((resolve) => setImmediate(resolve))
        }
      } catch (thrown) {
        unreadable(thrown)
      }
      if (!seen) unreadable('it has no frames')
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The frame in the middle of a video. */
export async function middleOf(path: string, size: Size): Promise<Canvas> {
  const [middle] = await picturesAt(path, [0.5], size).catch(unreadable)
  return middle ?? unreadable('it has no frames')
}

/** A frame as a canvas. The caller still has to free the frame. */
export async function canvasOf(frame: Frame, size: Size): Promise<Canvas> {
  using filter = FilterAPI.create(`${scaled(size)},format=rgba`)
  await filter.process(frame)
  await filter.flush()
  using coloured = await filter.receive()
  if (!coloured) throw new Error('a frame could not be converted')
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  const image = pen.createImageData(size.width, size.height)
  image.data.set(coloured.toBuffer())
  pen.putImageData(image, 0, 0)
  return canvas
}

/** The colour space of every film. */
const colours = 'out_color_matrix=bt709:out_range=tv'

function scaled({ width, height }: Size): string {
  return `scale=${width}:${height}:flags=bilinear+accurate_rnd`
}

function rateOf(stream: Stream): Rate {
  const { num, den } = stream.avgFrameRate
  return num >= den && num <= den * mostPerSecond ? { num, den } : usualRate
}

/** The source was checked when it was accepted, so it was damaged since. */
function unreadable(cause: unknown): never {
  throw new Problem('generation_failed', 'The source video could not be read.', { cause })
}
