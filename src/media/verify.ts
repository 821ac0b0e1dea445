import type { Decoder, Demuxer } from 'node-av/api'
import { AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Packet, Stream } from 'node-av/lib'
import type { UploadLimits } from '../core/source.ts'
import type { DecodedVideo, VideoLimits } from './media.ts'
import { checkFrames, checkMovie, checkSeconds, codedPixels, exceeding } from './movie.ts'
import { isVideo, mostPixels, mostSide, openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

/** A provider's video has been paid for, so only the decoder limits it. */
const resultLimits: VideoLimits = {
  side: mostSide,
  pixels: mostPixels,
  boxes: 100_000,
  threads: 2,
  code: 'unsupported_output',
  seconds: Number.POSITIVE_INFINITY,
  frames: Number.POSITIVE_INFINITY,
  cpuMs: Number.POSITIVE_INFINITY,
}

export function verify(path: string): Promise<DecodedVideo> {
  return decode(path, resultLimits)
}

export function checkUpload(path: string, limits: UploadLimits): Promise<DecodedVideo> {
  const others = { pixels: limits.side ** 2, boxes: 10_000, threads: 1, cpuMs: 5_000, code: 'invalid_value' } as const
  return decode(path, { ...limits, ...others })
}

/**
 * Decodes every frame and all sound: a probe reads only the header, and would not notice a file that was cut in the
 * middle. Throws `unsupported_output`, or the code of the limits.
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

/** The rate in the header is exact if frames are evenly spaced. A fragmented file may not have one. */
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

/** Timestamps may exceed the duration in the header a little. A gap of hours would be filled with frames. */
const slackSeconds = 5

/** Returns the number of frames. */
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
      throw refusal('Its frames have timestamps beyond its duration.')
    for (using _frame of track.decoder.decodeAllSync(stored)) track.frames += 1
    if (isVideo(track.stream)) checkFrames(track.packets, limits)
    cpu.check(stored.size, isVideo(track.stream) ? size.width * size.height : 0)
    // Lets the event loop run, which notices the end of the parent.
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
  // The header has the number of frames. In a fragmented file it does not, and each packet must give a frame.
  const promised = Math.max(Number(track.stream.nbFrames), track.packets, 1)
  if (track.frames < promised) throw refusal(`Only ${track.frames} of ${promised} frames are in it.`)
}

/** A slow core decodes far more than this in a millisecond. A video that takes longer was built to be slow. */
const [pixelsPerMs, bytesPerMs] = [25_000, 2_500]

/** The CPU time that this process may use grows with the size of each packet. */
function openCpuLimit(limits: VideoLimits) {
  const begun = process.cpuUsage()
  let allowedMs = limits.cpuMs
  return {
    check(bytes: number, pixels: number): void {
      allowedMs += bytes / bytesPerMs + pixels / pixelsPerMs
      const { user, system } = process.cpuUsage(begun)
      if ((user + system) / 1000 > allowedMs) throw exceeding('It takes too long to decode for its size.', limits)
    },
  }
}
