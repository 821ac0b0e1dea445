import { open } from 'node:fs/promises'
import { Decoder, Demuxer } from 'node-av/api'
import {
  AV_CODEC_ID_H264,
  AV_DISPOSITION_ATTACHED_PIC,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants'
import { avGetCodecName, type Stream } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { VideoFacts } from './media.ts'

/** Far above what any model makes; a hostile header may ask for gigabytes. */
const maxSide = 8192

/**
 * Decodes every frame: a probe reads the header only, and calls a file that was cut in the middle as long as it was.
 * Sound is decoded too. Throws `unsupported_output`.
 */
export async function verify(path: string): Promise<VideoFacts> {
  await checkBoxes(path)
  try {
    // Only this demuxer: a hostile file must not choose a playlist format that opens other files or addresses. And
    // without edit lists, which hide frames: all that are stored must decode.
    await using input = await Demuxer.open(path, { format: 'mov', options: { ignore_editlist: true } })
    const facts = factsOf(input)
    await decodeAll(input)
    return facts
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown
    throw refusal('It is broken, cut off, or not an MP4 file.', thrown)
  }
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

function refusal(reason: string, cause?: unknown): Problem {
  return new Problem('unsupported_output', `The video cannot be used. ${reason}`, { cause })
}

function factsOf(input: Demuxer): VideoFacts {
  const [video, ...others] = input.streams.filter(isVideo)
  if (!video || others.length > 0) throw refusal('It must have exactly one picture track.')
  const codec = avGetCodecName(video.codecpar.codecId) ?? 'unknown'
  if (video.codecpar.codecId !== AV_CODEC_ID_H264) throw refusal(`It is coded as ${codec}, not as H.264.`)
  const { width, height } = video.codecpar
  if (width < 1 || height < 1 || width > maxSide || height > maxSide) throw refusal('Its size is out of bounds.')
  const seconds = secondsOf(video) ?? input.duration
  if (!(seconds > 0)) throw refusal('It has no duration.')
  return { seconds, size: { width, height }, codec }
}

/** A cover picture counts as a track in the file, but not for a player. */
function isVideo(stream: Stream): boolean {
  return stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO && !stream.hasDisposition(AV_DISPOSITION_ATTACHED_PIC)
}

function secondsOf(stream: Stream): number | null {
  const { num, den } = stream.timeBase
  // Without a duration in the track's header the value is the lowest possible number.
  return stream.duration > 0n ? (Number(stream.duration) * num) / den : null
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
    const decoder = stack.use(await Decoder.create(stream, { exitOnError: true, context: { threadCount: 2 } }))
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
