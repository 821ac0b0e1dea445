import { open } from 'node:fs/promises'
import type { Decoder, Demuxer } from 'node-av/api'
import { AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Stream } from 'node-av/lib'
import type { VideoFacts } from './media.ts'
import { isVideo, openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

/**
 * Decodes every frame: a probe reads the header only, and calls a file that was cut in the middle as long as it was.
 * Sound is decoded too. Throws `unsupported_output`.
 */
export async function verify(path: string): Promise<VideoFacts> {
  await checkBoxes(path)
  return reading(async () => {
    await using input = await openVideo(path)
    const { facts } = pictureTrack(input)
    await decodeAll(input)
    return facts
  })
}

/** The outermost boxes must end within the file: the decoder does not miss the last bytes of a header at the end. */
async function checkBoxes(path: string): Promise<void> {
  await using file = await open(path)
  const { size } = await file.stat()
  const header = Buffer.alloc(16)
  let at = 0
  while (at + 8 <= size) {
    await file.read(header, 0, 16, at)
    const short = header.readUInt32BE(0)
    // 0: to the end of the file. 1: the size is too large for four bytes, and follows in eight.
    const length = short === 0 ? size - at : short === 1 ? Number(header.readBigUInt64BE(8)) : short
    if (length < 8 || at + length > size) throw refusal('It is cut off.')
    at += length
  }
}

interface Track {
  decoder: Decoder
  stream: Stream
  packets: number
  frames: number
}

async function decodeAll(input: Demuxer): Promise<void> {
  using stack = new DisposableStack()
  const tracks = new Map<number, Track>()
  for (const stream of input.streams) {
    if (!isVideo(stream) && stream.codecpar.codecType !== AVMEDIA_TYPE_AUDIO) continue
    const decoder = stack.use(await openDecoder(stream))
    tracks.set(stream.index, { decoder, stream, packets: 0, frames: 0 })
  }
  for (const packet of input.packetsSync()) {
    if (!packet) break
    using stored = packet
    const track = tracks.get(stored.streamIndex)
    if (!track) continue
    track.packets += 1
    for (using _frame of track.decoder.decodeAllSync(stored)) track.frames += 1
    // The loss of the parent is noticed only when the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const track of tracks.values()) finish(track)
}

function finish(track: Track): void {
  track.decoder.flushSync()
  for (using _frame of track.decoder.flushFramesSync()) track.frames += 1
  if (!isVideo(track.stream)) return
  // The header counts the frames; a file in fragments has no such count, there each packet must give its frame.
  const promised = Math.max(Number(track.stream.nbFrames), track.packets, 1)
  if (track.frames < promised) throw refusal(`Only ${track.frames} of ${promised} frames are in it.`)
}
