import type { Decoder, Demuxer } from 'node-av/api'
import { AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Packet, Stream } from 'node-av/lib'
import { checkBoxes } from './boxes.ts'
import type { DecodedVideo } from './media.ts'
import { isVideo, openDecoder, openVideo, pictureTrack, reading, refusal } from './video.ts'

/**
 * Decodes every frame: a probe reads the header only, and calls a file that was cut in the middle as long as it was.
 * Sound is decoded too. Throws `unsupported_output`.
 */
export async function verify(path: string): Promise<DecodedVideo> {
  await checkBoxes(path)
  return reading(async () => {
    await using input = await openVideo(path)
    const { stream, facts } = pictureTrack(input)
    const frames = await decodeAll(input, facts.seconds)
    return { ...facts, frameRate: rateOf(stream, frames / facts.seconds) }
  })
}

/** The header's own rate is exact where frames are evenly spaced; a file in fragments may have none. */
function rateOf({ avgFrameRate: { num, den } }: Stream, counted: number): number {
  return Number((num > 0 && den > 0 ? num / den : counted).toFixed(3))
}

interface Track {
  decoder: Decoder
  stream: Stream
  packets: number
  frames: number
}

/** Timestamps may lie a little beyond the length that the header gives; a hole of hours would be filled with pictures. */
const slackSeconds = 5

/** Returns the number of pictures. */
async function decodeAll(input: Demuxer, seconds: number): Promise<number> {
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
    if (isVideo(track.stream) && startOf(stored, track.stream) > seconds + slackSeconds)
      throw refusal('Its pictures lie beyond its length.')
    for (using _frame of track.decoder.decodeAllSync(stored)) track.frames += 1
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
