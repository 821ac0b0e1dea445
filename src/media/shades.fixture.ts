import { Encoder, FilterAPI, Muxer } from 'node-av/api'
import { AV_LOG_QUIET, AV_PIX_FMT_RGBA, FF_ENCODER_LIBX264 } from 'node-av/constants'
import { Frame, Log } from 'node-av/lib'
import type { Size } from '../core/task.ts'

/** A video of plain frames from black to white in equal steps: the brightness of a frame tells its number. */
export async function filmShades(path: string, shades: { frames: number; perSecond: number; size: Size }) {
  const { frames, perSecond, size } = shades
  const held: Buffer[] = []
  async function* pictures() {
    for (let index = 0; index < frames; index += 1) {
      const pixels = Buffer.alloc(size.width * size.height * 4, Math.round((255 * index) / Math.max(1, frames - 1)))
      const shape = { ...size, format: AV_PIX_FMT_RGBA, timeBase: { num: 1, den: perSecond } }
      // A frame may still read its pixels later, see render.ts.
      held.push(pixels)
      yield Frame.fromVideoBuffer(pixels, { ...shape, pts: BigInt(index) })
    }
    yield null
  }
  Log.setLevel(AV_LOG_QUIET)
  using filter = FilterAPI.create('scale=out_range=tv,format=yuv420p')
  // B-frames and few keyframes, which make a seek hard.
  const context = { gopSize: 50, maxBFrames: 2, threadCount: 1 }
  using encoder = await Encoder.create(FF_ENCODER_LIBX264, { filter, context, options: { preset: 'ultrafast', bf: 2 } })
  await using output = await Muxer.open(path, { format: 'mp4' })
  const stream = output.addStream(encoder)
  for await (using packet of encoder.packets(filter.frames(pictures()))) await output.writePacket(packet, stream)
}
