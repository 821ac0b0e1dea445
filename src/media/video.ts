import { Decoder, Demuxer } from 'node-av/api'
import {
  AV_CODEC_ID_AAC,
  AV_CODEC_ID_H264,
  AV_DISPOSITION_ATTACHED_PIC,
  AV_PKT_DATA_DISPLAYMATRIX,
  AVMEDIA_TYPE_VIDEO,
} from 'node-av/constants'
import { avGetCodecName, type Packet, type Stream } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import type { DecodedVideo } from './media.ts'
import { stillBusy } from './protocol.ts'

/** Far more than any model generates. A hostile header could claim gigabytes. */
export const mostSide = 8192
/** A little more than the largest frame of any H.264 level. */
export const mostPixels = 8192 * 4352
export const mostTracks = 16

/** How many samples the file lists, by the id of their track. A demuxer leaves out those that it can't read. */
export type Listed = ReadonlyMap<number, number>

/** Reading the largest headers takes a tenth of this. */
const headerCpuMs = 3_000

/** A hostile header of a megabyte takes the demuxer a minute. Nothing can interrupt it: then its process is killed. */
export async function openVideo(path: string): Promise<Demuxer> {
  const begun = process.cpuUsage()
  const { promise: tooLong, reject } = Promise.withResolvers<never>()
  const watch = setInterval(() => {
    const { user, system } = process.cpuUsage(begun)
    if ((user + system) / 1000 > headerCpuMs) reject(refusal('Its header takes too long to read.', stillBusy))
  }, 100)
  try {
    // Only this demuxer: a hostile file must not select a playlist format that opens other files or addresses. Edit lists
    // are ignored, because they hide frames, and every stored frame must decode.
    const options = { ignore_editlist: true, max_streams: mostTracks }
    return await Promise.race([Demuxer.open(path, { format: 'mov', options }), tooLong])
  } finally {
    clearInterval(watch)
  }
}

/**
 * The first error ends the decoding, and so does a frame with more pixels than this. One thread, unless errors do not
 * matter: with two, the decoder lost the errors of some frames, and refused the same file in some runs only.
 */
export function openDecoder(stream: Stream, { pixels = mostPixels, threads = 1 } = {}): Promise<Decoder> {
  const options = isVideo(stream) ? { max_pixels: pixels } : {}
  return Decoder.create(stream, { exitOnError: true, context: { threadCount: threads }, options })
}

/** Maps errors of the decoder to `unsupported_output`. */
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

/** The video track and the facts in its header. Throws `unsupported_output` if it is not accepted. */
export function pictureTrack(input: Demuxer): { stream: Stream; facts: Omit<DecodedVideo, 'frameRate'> } {
  const [stream, ...others] = input.streams.filter(isVideo)
  if (!stream || others.length > 0) throw refusal('It must have exactly one video track.')
  const codec = avGetCodecName(stream.codecpar.codecId) ?? 'unknown'
  if (stream.codecpar.codecId !== AV_CODEC_ID_H264) throw refusal(`Its codec is ${codec}. Only H.264 is accepted.`)
  const { width, height } = stream.codecpar
  if (width < 1 || height < 1 || width > mostSide || height > mostSide)
    throw refusal(`It has ${width}x${height} pixels: 1 to ${mostSide} a side are accepted.`)
  const seconds = Number((secondsOf(stream) ?? input.duration).toFixed(6))
  if (!(seconds > 0)) throw refusal('It has no duration.')
  // It has a matrix only if a player rotates or mirrors it.
  const matrix = stream.codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX)
  const size = shownSize({ width, height }, matrix)
  return { stream, facts: { seconds, size, codec, ...(matrix && { turned: true }) } }
}

/** The matrix has nine 32-bit numbers. The first two say how far one step to the right leads right and down. */
function shownSize({ width, height }: Size, matrix: Buffer | null): Size {
  if (!matrix || matrix.length < 8) return { width, height }
  const isOnItsSide = Math.abs(matrix.readInt32LE(4)) > Math.abs(matrix.readInt32LE(0))
  return isOnItsSide ? { width: height, height: width } : { width, height }
}

function secondsOf({ duration, startTime, nbFrames, timeBase: { num, den } }: Stream): number | null {
  const toSeconds = (ticks: bigint) => (Number(ticks) * num) / den
  // Without a duration in the header of the track the value is the lowest possible number.
  if (duration <= 0n) return null
  // Fragments may be a part of a longer video, with its times: then the value is where they end.
  const isPart = nbFrames === 0n && toSeconds(startTime) > mostMissingSeconds
  return toSeconds(isPart ? duration - startTime : duration)
}

/** The rate in the header is exact if frames are evenly spaced. A fragmented file may not have one. */
export function rateOf({ avgFrameRate: { num, den } }: Stream, counted: number): number {
  return Number((num > 0 && den > 0 ? num / den : counted).toFixed(3))
}

/** Timestamps may exceed the duration in the header a little. A gap of hours would be filled with frames. */
const slackSeconds = 5

/** A duration that is this much longer than its frames is that of another file: the rest is missing. */
const [mostMissingSeconds, mostMissingShare] = [1, 0.1]

/** Compares the timestamps of all frames with the duration in the header. Throws `unsupported_output`. */
export function openTimes({ timeBase, startTime }: Stream, seconds: number) {
  const toSeconds = (ticks: bigint) => (Number(ticks) * timeBase.num) / timeBase.den
  let end = 0
  return {
    add({ pts, duration }: Packet): void {
      const start = toSeconds(pts - startTime)
      if (start > seconds + slackSeconds) throw refusal('A frame is later than the end of the video.')
      end = Math.max(end, start + toSeconds(duration))
    },
    finish: () => requireEnd('frames', end, seconds),
  }
}

/** Compares what is read of a track of sound with what the file lists. */
export function openSound(stream: Stream, listed: Listed) {
  const { timeBase, codecpar } = stream
  const toSeconds = (ticks: bigint) => (Number(ticks) * timeBase.num) / timeBase.den
  const seconds = secondsOf(stream) ?? 0
  // FFmpeg divides the samples of some other codecs into frames of its own.
  const promised = codecpar.codecId === AV_CODEC_ID_AAC ? (listed.get(stream.id) ?? 0) : 0
  let [packets, read] = [0, 0]
  return {
    add({ duration }: Packet): void {
      packets += 1
      read += toSeconds(duration)
    },
    /** `frames` is how many were decoded. Throws `unsupported_output` if a part is missing. */
    finish(frames: number): void {
      if (packets < promised) throw refusal(`Only ${packets} of ${promised} samples of its sound are in it.`)
      requireEnd('sound', frames === 0 ? 0 : read, seconds)
    },
  }
}

function requireEnd(what: 'frames' | 'sound', end: number, seconds: number): void {
  if (seconds - end <= Math.max(mostMissingSeconds, mostMissingShare * seconds)) return
  const verb = what === 'frames' ? 'end' : 'ends'
  throw refusal(`Its ${what} ${verb} after ${Number(end.toFixed(2))} of ${Number(seconds.toFixed(2))} seconds.`)
}
