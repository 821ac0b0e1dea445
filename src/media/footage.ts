import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { FilterAPI } from 'node-av/api'
import type { Frame, Stream } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import { picturesAt } from './frames.ts'
import { openDecoder, openVideo, pictureTrack } from './video.ts'

/** Pictures in a second, as a fraction. */
export interface Rate {
  readonly num: number
  readonly den: number
}

/** A video that another film is made of, as it is read picture by picture. */
export interface Footage extends AsyncDisposable {
  readonly rate: Rate
  /** How many pictures there will be, about. */
  readonly count: number
  /** All of them once, at that rate whatever the file does, and of that size. Whoever takes one frees it. */
  pictures(size: Size): AsyncGenerator<Frame>
}

/** That of what is drawn; and of a video that has more than a film may have, or says nothing of it. */
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
      using decoder = await openDecoder(stream)
      using filter = FilterAPI.create(`fps=${rate.num}/${rate.den},${scaled(size)}:${colours},setsar=1,format=yuv420p`)
      let seen = false
      try {
        for await (const frame of filter.frames(decoder.frames(input.packets(stream.index)))) {
          if (!frame) break
          seen = true
          yield frame
          // The loss of the parent is noticed only when the event loop turns.
          await new Promise((resolve) => setImmediate(resolve))
        }
      } catch (thrown) {
        unreadable(thrown)
      }
      if (!seen) unreadable('it has no pictures')
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The picture in the middle of a video. */
export async function middleOf(path: string, size: Size): Promise<Canvas> {
  const [middle] = await picturesAt(path, [0.5], size).catch(unreadable)
  return middle ?? unreadable('it has no pictures')
}

/** A picture to draw with. The frame stays its owner's. */
export async function canvasOf(frame: Frame, size: Size): Promise<Canvas> {
  using filter = FilterAPI.create(`${scaled(size)},format=rgba`)
  await filter.process(frame)
  await filter.flush()
  using coloured = await filter.receive()
  if (!coloured) throw new Error('a picture could not be converted')
  const canvas = createCanvas(size.width, size.height)
  const pen = canvas.getContext('2d')
  const image = pen.createImageData(size.width, size.height)
  image.data.set(coloured.toBuffer())
  pen.putImageData(image, 0, 0)
  return canvas
}

/** Those of every film of ours. */
const colours = 'out_color_matrix=bt709:out_range=tv'

function scaled({ width, height }: Size): string {
  return `scale=${width}:${height}:flags=bilinear+accurate_rnd`
}

function rateOf(stream: Stream): Rate {
  const { num, den } = stream.avgFrameRate
  return num >= den && num <= den * mostPerSecond ? { num, den } : usualRate
}

/** It was looked at before it was taken: this is for what was damaged since. */
function unreadable(cause: unknown): never {
  throw new Problem('generation_failed', 'The source video could not be read.', { cause })
}
