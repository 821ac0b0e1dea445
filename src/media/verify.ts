import type { Decoder, Demuxer } from 'node-av/api'
import { AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Packet, Stream } from 'node-av/lib'
import type { UploadLimits } from '../core/source.ts'
import type { DecodedVideo, VideoLimits } from './media.ts'
import { checkFrames, checkMovie, checkSeconds, codedPixels, exceeding } from './movie.ts'
import { isVideo, mostPixels, mostSide, openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

/** A provider's video has been paid for: it may be whatever can be decoded. */
const ofResults: VideoLimits = {
  ...{ side: mostSide, pixels: mostPixels, boxes: 100_000, threads: 2, code: 'unsupported_output' },
  ...{ seconds: Number.POSITIVE_INFINITY, frames: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY },
}

export function verify(path: string): Promise<DecodedVideo> {
  return decode(path, ofResults)
}

export function checkUpload(path: string, limits: UploadLimits): Promise<DecodedVideo> {
  const others = { pixels: limits.side ** 2, boxes: 10_000, threads: 1, cpuMs: 5_000, code: 'invalid_value' } as const
  return decode(path, { ...limits, ...others })
}

/**
 * Decodes every frame: a probe reads the header only, and calls a file that was cut in the middle as long as it was.
 * Sound is decoded too. Throws `unsupported_output`, or the code of the limits.
 */
async function decode(path: string, limits: VideoLimits): Promise<DecodedVideo> {
  await checkMovie(path, limits)
  return reading(async () => {
    await using input = await openVideo(path)
    const { stream, facts } = pictureTrack(input)
    checkSeconds(facts.seconds, limits)
    const frames = await decodeAll(input, facts, limits)
    return { ...facts, frameRate: rateOf(stream, frames / facts.seconds) }
  })
}

/** The header's own rate is exact where frames are evenly spaced; a file in fragments may have none. */
function rateOf({ avgFrameRate: { num, den } }: Stream, counted: number): number {
  return Number((num > 0 && den > 0 ? num / den : counted).toFixed(3))
}

type Facts = Pick<DecodedVideo, 'seconds' | 'size'>

interface Track {
  decoder: Decoder
  stream: Stream
  packets: number
  frames: number
}

/** Timestamps may lie a little beyond the length that the header gives; a hole of hours would be filled with pictures. */
const slackSeconds = 5

/** Returns the number of pictures. */
async function decodeAll(input: Demuxer, { seconds, size }: Facts, limits: VideoLimits): Promise<number> {
  const cpu = openCpuLimit(limits)
  using stack = new DisposableStack()
  const tracks = new Map<number, Track>()
  for (const stream of input.streams) {
    if (!isVideo(stream) && stream.codecpar.codecType !== AVMEDIA_TYPE_AUDIO) continue
    const decoder = stack.use(await openDecoder(stream, { pixels: codedPixels(limits), threads: limits.threads }))
    tracks.set(stream.index, { decoder, stream, packets: 0, frames: 0 })
  }
  for (const packet of input.packetsSync()) {
    if (!packet) break
    using stored = packet
    const track = tracks.get(stored.streamIndex)
    if (!track) continue
    track.packets += 1
    if (isVideo(track.stream) && startOf(stored, track.stream) > seconds + slackSeconds)
      throw refusal('Its pictures lie beyond its length.')
    for (using _frame of track.decoder.decodeAllSync(stored)) track.frames += 1
    if (isVideo(track.stream)) checkFrames(track.packets, limits)
    cpu.check(stored.size, isVideo(track.stream) ? size.width * size.height : 0)
    // The loss of the parent is noticed only when the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const track of tracks.values()) finish(track)
  return [...tracks.values()].find(({ stream }) => isVideo(stream))?.frames ?? 0
}

function startOf({ pts }: Packet, { timeBase, startTime }: Stream): number {
  return (Number(pts - startTime) * timeBase.num) / timeBase.den
}

function finish(track: Track): void {
  track.decoder.flushSync()
  for (using _frame of track.decoder.flushFramesSync()) track.frames += 1
  if (!isVideo(track.stream)) return
  // The header counts the frames; a file in fragments has no such count, there each packet must give its frame.
  const promised = Math.max(Number(track.stream.nbFrames), track.packets, 1)
  if (track.frames < promised) throw refusal(`Only ${track.frames} of ${promised} frames are in it.`)
}

/** What a slow core decodes in a millisecond of its time, by far: a video that takes longer is made to. */
const [pixelsPerMs, bytesPerMs] = [25_000, 2_500]

/** The time that this process may spend grows with each packet by what that packet is. Its own time: others may be busy. */
function openCpuLimit(limits: VideoLimits) {
  const begun = process.cpuUsage()
  let allowedMs = limits.cpuMs
  return {
    check(bytes: number, pixels: number): void {
      allowedMs += bytes / bytesPerMs + pixels / pixelsPerMs
      const { user, system } = process.cpuUsage(begun)
      if ((user + system) / 1000 > allowedMs) throw exceeding('It takes too long to decode for what it is.', limits)
    },
  }
}
