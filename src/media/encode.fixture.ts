import { Encoder, FilterAPI, Muxer } from 'node-av/api'
import {
  AV_CH_FRONT_CENTER,
  AV_CHANNEL_ORDER_NATIVE,
  AV_LOG_QUIET,
  AV_PIX_FMT_YUV420P,
  AV_SAMPLE_FMT_FLTP,
  FF_ENCODER_AAC,
  FF_ENCODER_LIBX264,
  type FFVideoEncoder,
} from 'node-av/constants'
import { Frame, Log } from 'node-av/lib'
import type { Size } from '../core/task.ts'

/** The brightness of a pixel. */
export type Picture = (x: number, y: number, frame: number) => number

export interface Encoding {
  size: Size
  frames: number
  perSecond?: number
  /** Frames from one key frame to the next. */
  gop: number
  picture: Picture
  encoder?: FFVideoEncoder
  options?: Record<string, string | number>
  movflags?: string
  hasSound?: boolean
}

/** Shapes and grain that move, so that every frame has data of its own. */
export const moving: Picture = (x, y, frame) => {
  const stripes = (x + 3 * frame) >> 4
  const grain = (x * 31 + y * 17 + frame * 7) * (x ^ y)
  return 40 + ((stripes * 37 + ((y + frame) >> 4) * 59) % 150) + (grain % 23)
}
export const still: Picture = (x, y) => moving(x, y, 0)
export const black: Picture = () => 16

/** As in render.ts: with the encoder's look ahead, the same frames gave other bytes in some runs. */
export const repeatable = { preset: 'veryfast', bf: 2, 'x264-params': 'mbtree=0:rc-lookahead=0' }

/** Encodes with one thread, so that the same film has the same bytes. */
export async function encode(path: string, film: Encoding): Promise<void> {
  const {
    size,
    gop,
    encoder: name = FF_ENCODER_LIBX264,
    options = repeatable,
    movflags = '+faststart',
    hasSound,
  } = film
  Log.setLevel(AV_LOG_QUIET)
  using filter = FilterAPI.create('format=yuv420p')
  using encoder = await Encoder.create(name, { filter, context: { gopSize: gop, threadCount: 1 }, options })
  await using output = await Muxer.open(path, { format: 'mp4', options: { movflags } })
  const stream = output.addStream(encoder)
  using sound = hasSound ? await openSound(film) : null
  const soundStream = sound ? output.addStream(sound.encoder) : -1
  const held: Buffer[] = []
  for await (using packet of encoder.packets(filter.frames(pictures(film, size, held))))
    await output.writePacket(packet, stream)
  if (sound) for await (using packet of sound.packets()) await output.writePacket(packet, soundStream)
}

/** A frame may still read its pixels later, so they are held. */
async function* pictures({ frames, perSecond = 24, picture }: Encoding, { width, height }: Size, held: Buffer[]) {
  for (let index = 0; index < frames; index += 1) {
    const pixels = Buffer.alloc((width * height * 3) / 2, 128)
    for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) pixels[y * width + x] = picture(x, y, index)
    held.push(pixels)
    const shape = { width, height, format: AV_PIX_FMT_YUV420P, timeBase: { num: 1, den: perSecond } }
    yield Frame.fromVideoBuffer(pixels, { ...shape, pts: BigInt(index) })
  }
  yield null
}

const soundRate = 48_000
const samplesEach = 1024

async function openSound({ frames, perSecond = 24 }: Encoding) {
  const encoder = await Encoder.create(FF_ENCODER_AAC, { options: { b: 64_000 } })
  const count = Math.floor((frames / perSecond) * (soundRate / samplesEach))
  async function* waves() {
    for (let index = 0; index < count; index += 1) {
      const samples = new Float32Array(samplesEach)
      for (let at = 0; at < samplesEach; at += 1) {
        const time = (index * samplesEach + at) / soundRate
        samples[at] = 0.3 * Math.sin(time * 2_000 * (1 + (time % 0.3))) + 0.1 * Math.sin(time * 31_000)
      }
      yield Frame.fromAudioBuffer(Buffer.from(samples.buffer), {
        nbSamples: samplesEach,
        format: AV_SAMPLE_FMT_FLTP,
        sampleRate: soundRate,
        channelLayout: { nbChannels: 1, order: AV_CHANNEL_ORDER_NATIVE, mask: AV_CH_FRONT_CENTER },
        timeBase: { num: 1, den: soundRate },
        pts: BigInt(index * samplesEach),
      })
    }
    yield null
  }
  return { encoder, packets: () => encoder.packets(waves()), [Symbol.dispose]: () => encoder[Symbol.dispose]() }
}
