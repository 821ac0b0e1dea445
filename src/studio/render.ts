import { open, rename } from 'node:fs/promises'
import { getSystemErrorName } from 'node:util'
import { Encoder, FilterAPI, Muxer } from 'node-av/api'
import {
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
  FF_ENCODER_LIBX264,
} from 'node-av/constants'
import { FFmpegError, type Frame } from 'node-av/lib'
import { openFootage, type Rate, usualRate } from '../media/footage.ts'
import type { DrawnFilm, Film } from '../media/media.ts'
import { partOf } from '../media/protocol.ts'
import { pictures } from './pictures.ts'
import { read } from './reading.ts'

/**
 * Draws and encodes frame by frame; `film.path` exists only once the file is complete. An error of the disk is thrown as
 * Node throws it, with its name as the code, also if FFmpeg noticed it.
 */
export async function render(film: Film, onProgress: (percent: number) => void): Promise<DrawnFilm> {
  await using footage = film.source?.as === 'beginning' ? await openFootage(film.source.path) : null
  const rate = footage?.rate ?? usualRate
  await encode(film, pictures(film, footage, onProgress), rate).catch((thrown: unknown) => {
    throw thrown instanceof FFmpegError ? systemError(thrown) : thrown
  })
  // Synced before the rename: a file with the final name is complete, even after a power failure.
  {
    await using file = await open(partOf(film), 'r+')
    await file.sync()
  }
  await rename(partOf(film), film.path)
  const { unknown } = read(film.prompt)
  return { unknownWords: unknown.slice(0, 20).map((word) => [...word].slice(0, 50).join('')) }
}

/** Requests the next item while the present one is in use, so that drawing, converting and encoding run in parallel. */
async function* ahead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = source.next()
  for (;;) {
    const present = await next
    if (present.done) return
    next = source.next()
    // It is awaited in the next turn: until then a rejection must not count as unhandled.
    next.catch(() => {})
    yield present.value
  }
}

async function encode(film: Film, frames: AsyncGenerator<Frame | null>, { num, den }: Rate): Promise<void> {
  using filter = FilterAPI.create(
    'scale=out_color_matrix=bt709:out_range=tv:flags=bilinear+accurate_rnd,format=yuv420p',
  )
  using encoder = await Encoder.create(FF_ENCODER_LIBX264, {
    filter,
    context: {
      gopSize: Math.round((num * 2) / den),
      // Fixed: the number of threads decides where frames are cut, and with it the bytes.
      threadCount: 2,
      colorRange: AVCOL_RANGE_MPEG,
      colorSpace: AVCOL_SPC_BT709,
      colorPrimaries: AVCOL_PRI_BT709,
      colorTrc: AVCOL_TRC_BT709,
    },
    // Without mbtree and the encoder's look ahead (x264 core 165): with them the same frames gave other bytes in some runs
    // on a busy machine, without them in none of 120. Why is not known.
    options: { preset: 'veryfast', crf: 19, profile: 'high', 'x264-params': 'mbtree=0:rc-lookahead=0' },
  })
  let trailer: () => void
  {
    await using output = await Muxer.open(partOf(film), { format: 'mp4', options: { movflags: '+faststart' } })
    trailer = watchTrailer(output)
    const stream = output.addStream(encoder)
    for await (using packet of encoder.packets(ahead(filter.frames(ahead(frames))))) {
      await output.writePacket(packet, stream)
    }
  }
  trailer()
}

/**
 * Closing the muxer writes the rest of the film and moves its index to the front. It hides errors of that, and a full disk
 * is mostly noticed there. So the result is kept here, and the returned function throws it.
 */
function watchTrailer(output: Muxer): () => void {
  const context = output.getFormatContext()
  const write = context.writeTrailer.bind(context)
  let code: number | null = null
  context.writeTrailer = async () => {
    code = await write()
    return code
  }
  return () => {
    if (code === null) throw new Error('the video file was closed without its trailer')
    FFmpegError.throwIfError(code, 'The end of the video file could not be written')
  }
}

/** FFmpeg uses the error codes of the system. */
function systemError(fault: FFmpegError): Error {
  return Object.assign(new Error(fault.message, { cause: fault }), { code: getSystemErrorName(fault.code) })
}
