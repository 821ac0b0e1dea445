import type { Decoder, Demuxer } from 'node-av/api'
import { AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Frame, Stream } from 'node-av/lib'
import type { UploadLimits } from '../core/source.ts'
import type { Verification } from '../core/verification.ts'
import { openLooks } from './looks.ts'
import type { DecodedVideo, VideoLimits } from './media.ts'
import { checkFrames, checkMovie, checkSeconds, codedPixels, exceeding } from './movie.ts'
import { verifySmart } from './smart.ts'
import {
  isVideo,
  type Listed,
  mostPixels,
  mostSide,
  openDecoder,
  openSound,
  openTimes,
  openVideo,
  pictureTrack,
  rateOf,
  reading,
  refusal,
} from './video.ts'

/** A provider's video has been paid for, so only the decoder limits it, and far above its own limits its model. */
const resultLimits: VideoLimits = {
  side: mostSide,
  pixels: mostPixels,
  boxes: 100_000,
  code: 'unsupported_output',
  seconds: Number.POSITIVE_INFINITY,
  frames: Number.POSITIVE_INFINITY,
  cpuMs: Number.POSITIVE_INFINITY,
}

/** `smart` falls back to `full` for a video that it is not sure of, so both refuse with the same messages. */
export async function verify(
  path: string,
  { mode, limits }: Verification,
  onFallback = () => {},
): Promise<DecodedVideo> {
  const all = { ...resultLimits, ...limits, pixels: Math.min(limits?.pixels ?? mostPixels, mostPixels) }
  const listed = await checkMovie(path, all)
  if (mode === 'full') return await decode(path, all, listed)
  const found = await verifySmart(path, all, listed)
  if (found) return found
  onFallback()
  return await decode(path, all, listed)
}

export async function checkUpload(path: string, limits: UploadLimits): Promise<DecodedVideo> {
  const others = { pixels: limits.side ** 2, boxes: 10_000, cpuMs: 5_000, code: 'invalid_value' } as const
  const all = { ...limits, ...others }
  return await decode(path, all, await checkMovie(path, all))
}

/**
 * Decodes every frame and all sound: a probe reads only the header, and would not notice a file that was cut in the
 * middle. Throws `unsupported_output`, or the code of the limits.
 */
function decode(path: string, limits: VideoLimits, listed: Listed): Promise<DecodedVideo> {
  return reading(async () => {
    await using input = await openVideo(path)
    const { stream, facts } = pictureTrack(input)
    checkSeconds(facts.seconds, limits)
    const { frames, looks } = await decodeAll(input, { facts, limits, listed })
    return { ...facts, frameRate: rateOf(stream, frames / facts.seconds), ...(looks && { looks }) }
  })
}

type Facts = Pick<DecodedVideo, 'seconds' | 'size'>

interface Track {
  decoder: Decoder
  stream: Stream
  packets: number
  frames: number
  /** Either of them, as the track has pictures or sound. */
  pictures: { times: ReturnType<typeof openTimes>; looks: ReturnType<typeof openLooks> } | null
  sound: ReturnType<typeof openSound> | null
}

interface Decoding {
  facts: Facts
  limits: VideoLimits
  listed: Listed
}

/** Returns the number of frames, and how they look if that is unusual. */
async function decodeAll(input: Demuxer, { facts: { seconds, size }, limits, listed }: Decoding) {
  const cpu = openCpuLimit(limits)
  using stack = new DisposableStack()
  const tracks = new Map<number, Track>()
  for (const stream of input.streams) {
    if (!isVideo(stream) && stream.codecpar.codecType !== AVMEDIA_TYPE_AUDIO) continue
    const decoder = stack.use(await openDecoder(stream, { pixels: codedPixels(limits) }))
    const pictures = isVideo(stream) ? { times: openTimes(stream, seconds), looks: openLooks() } : null
    const sound = pictures ? null : openSound(stream, listed)
    tracks.set(stream.index, { decoder, stream, packets: 0, frames: 0, pictures, sound })
  }
  for (const packet of input.packetsSync()) {
    if (!packet) break
    using stored = packet
    const track = tracks.get(stored.streamIndex)
    if (!track) continue
    track.packets += 1
    track.pictures?.times.add(stored)
    track.sound?.add(stored)
    take(track, track.decoder.decodeAllSync(stored))
    if (track.pictures) checkFrames(track.packets, limits)
    cpu.check(stored.size, track.pictures ? size.width * size.height : 0)
    // Lets the event loop run, which notices the end of the parent.
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const track of tracks.values()) finish(track, listed)
  const video = [...tracks.values()].find(({ pictures }) => pictures !== null)
  return { frames: video?.frames ?? 0, looks: video?.pictures?.looks.result(seconds) }
}

function take(track: Track, frames: Iterable<Frame>): void {
  for (using frame of frames) {
    track.frames += 1
    track.pictures?.looks.add(frame)
  }
}

function finish(track: Track, listed: Listed): void {
  track.decoder.flushSync()
  take(track, track.decoder.flushFramesSync())
  track.sound?.finish(track.frames)
  if (!track.pictures) return
  // A fragmented file has no number of frames in its header. Each packet must give a frame.
  const promised = Math.max(Number(track.stream.nbFrames), listed.get(track.stream.id) ?? 0, track.packets, 1)
  if (track.frames < promised) throw refusal(`Only ${track.frames} of ${promised} frames are in it.`)
  track.pictures.times.finish()
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
