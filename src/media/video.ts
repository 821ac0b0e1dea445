import { Decoder, Demuxer } from 'node-av/api'
import {
  AV_CODEC_ID_H264,
  AV_DISPOSITION_ATTACHED_PIC,
  AV_PKT_DATA_DISPLAYMATRIX,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants'
import { avGetCodecName, type Stream } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import type { DecodedVideo } from './media.ts'

/* How a stored video is opened and read, whoever wants to see it. */

/** Far above what any model makes; a hostile header may ask for gigabytes. */
export const mostSide = 8192
/** The largest frame that H.264 has a level for is a little less. */
export const mostPixels = 8192 * 4352
export const mostTracks = 16

export function openVideo(path: string): Promise<Demuxer> {
  // Only this demuxer: a hostile file must not choose a playlist format that opens other files or addresses. And
  // without edit lists, which hide frames: all that are stored must decode.
  return Demuxer.open(path, { format: 'mov', options: { ignore_editlist: true, max_streams: mostTracks } })
}

/** The first fault ends it, and so does a stream whose frames grow beyond that on the way. */
export function openDecoder(stream: Stream, { pixels = mostPixels, threads = 2 } = {}): Promise<Decoder> {
  const options = isVideo(stream) ? { max_pixels: pixels } : {}
  return Decoder.create(stream, { exitOnError: true, context: { threadCount: threads }, options })
}

/** Calls what the decoder can't read by our own name for it. */
export async function reading<Read>(read: () => Promise<Read>): Promise<Read> {
  try {
    return await read()
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown
    throw refusal('It is broken, cut off, or not an MP4 file.', thrown)
  }
}

export function refusal(reason: string, cause?: unknown): Problem {
  return new Problem('unsupported_output', `The video cannot be used. ${reason}`, { cause })
}

/** A cover picture counts as a track in the file, but not for a player. */
export function isVideo(stream: Stream): boolean {
  return stream.codecpar.codecType === AVMEDIA_TYPE_VIDEO && !stream.hasDisposition(AV_DISPOSITION_ATTACHED_PIC)
}

/** The picture track and what its header says of it, unless it is of a kind that is not accepted. */
export function pictureTrack(input: Demuxer): { stream: Stream; facts: Omit<DecodedVideo, 'frameRate'> } {
  const [stream, ...others] = input.streams.filter(isVideo)
  if (!stream || others.length > 0) throw refusal('It must have exactly one picture track.')
  const codec = avGetCodecName(stream.codecpar.codecId) ?? 'unknown'
  if (stream.codecpar.codecId !== AV_CODEC_ID_H264) throw refusal(`It is coded as ${codec}, not as H.264.`)
  const { width, height } = stream.codecpar
  if (width < 1 || height < 1 || width > mostSide || height > mostSide) throw refusal('Its size is out of bounds.')
  const seconds = Number((secondsOf(stream) ?? input.duration).toFixed(6))
  if (!(seconds > 0)) throw refusal('It has no duration.')
  // Only where it is not upright is there anything.
  const matrix = stream.codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX)
  const size = shownSize({ width, height }, matrix)
  return { stream, facts: { seconds, size, codec, ...(matrix && { turned: true }) } }
}

/** The matrix is nine 32-bit numbers; the first two are where a step to the right leads: right, and down. */
function shownSize({ width, height }: Size, matrix: Buffer | null): Size {
  if (!matrix || matrix.length < 8) return { width, height }
  const isOnItsSide = Math.abs(matrix.readInt32LE(4)) > Math.abs(matrix.readInt32LE(0))
  return isOnItsSide ? { width: height, height: width } : { width, height }
}

function secondsOf(stream: Stream): number | null {
  const { num, den } = stream.timeBase
  // Without a duration in the track's header the value is the lowest possible number.
  return stream.duration > 0n ? (Number(stream.duration) * num) / den : null
}
