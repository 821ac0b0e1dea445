import type { Decoder } from 'node-av/api'
import { AV_PKT_FLAG_CORRUPT, AVMEDIA_TYPE_AUDIO } from 'node-av/constants'
import type { Packet, Stream } from 'node-av/lib'
import { Doubt, openAccessUnits } from './access-units.ts'
import { openLooks } from './looks.ts'
import type { DecodedVideo, VideoLimits } from './media.ts'
import { checkFrames, checkSeconds, codedPixels } from './movie.ts'
import { type Listed, openDecoder, openSound, openTimes, openVideo, pictureTrack, rateOf } from './video.ts'

/**
 * Reads every sample, parses the structure of every frame, and decodes only the key frames and the sound. Null if anything
 * is wrong or unusual: then only a decoder of all frames can judge, so that a sound video is never refused here.
 */
export async function verifySmart(path: string, limits: VideoLimits, listed: Listed): Promise<DecodedVideo | null> {
  try {
    return await readSamples(path, limits, listed)
  } catch {
    return null
  }
}

async function readSamples(path: string, limits: VideoLimits, listed: Listed): Promise<DecodedVideo> {
  await using input = await openVideo(path)
  const { stream, facts } = pictureTrack(input)
  checkSeconds(facts.seconds, limits)
  using stack = new DisposableStack()
  const times = openTimes(stream, facts.seconds)
  const pictures = stack.use(await openPictures(stream, limits, listed))
  const sounds = new Map<number, Awaited<ReturnType<typeof openSounds>>>()
  for (const other of input.streams)
    if (other.codecpar.codecType === AVMEDIA_TYPE_AUDIO)
      sounds.set(other.index, stack.use(await openSounds(other, listed)))
  for (const packet of input.packetsSync()) {
    if (!packet) break
    using sample = packet
    // The file ends within it.
    if (sample.hasFlags(AV_PKT_FLAG_CORRUPT)) throw new Doubt('a sample that is cut off')
    if (sample.streamIndex === stream.index) {
      times.add(sample)
      pictures.add(sample)
    } else sounds.get(sample.streamIndex)?.add(sample)
    // Lets the event loop run, which notices the end of the parent.
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const sound of sounds.values()) sound.finish()
  times.finish()
  const { frames, looks } = pictures.finish(facts.seconds)
  return { ...facts, frameRate: rateOf(stream, frames / facts.seconds), ...(looks && { looks }) }
}

async function openPictures(stream: Stream, limits: VideoLimits, listed: Listed) {
  // Key frames do not depend on each other: more threads would only cost more.
  const decoder = await openDecoder(stream, { pixels: codedPixels(limits) })
  const isKeyFrame = openAccessUnits(stream.codecpar.extradata)
  const looks = openLooks()
  let [frames, keys, decoded] = [0, 0, 0]
  const take = (pictures: Iterable<Parameters<typeof looks.add>[0]>) => {
    for (using picture of pictures) {
      decoded += 1
      looks.add(picture)
    }
  }
  return {
    add(sample: Packet): void {
      frames += 1
      checkFrames(frames, limits)
      const isKey = sample.data !== null && isKeyFrame(sample.data)
      if (isKey !== sample.isKeyframe || (frames === 1 && !isKey)) throw new Doubt('a key frame that is not marked')
      if (!isKey) return
      keys += 1
      take(decoder.decodeAllSync(sample))
    },
    finish(seconds: number) {
      take(flush(decoder))
      const promised = Math.max(Number(stream.nbFrames), listed.get(stream.id) ?? 0, 1)
      if (frames < promised || decoded < keys) throw new Doubt('fewer frames than the file should have')
      return { frames, looks: looks.result(seconds) }
    },
    [Symbol.dispose]: () => decoder[Symbol.dispose](),
  }
}

async function openSounds(stream: Stream, listed: Listed) {
  const decoder = await openDecoder(stream)
  const sound = openSound(stream, listed)
  let frames = 0
  const take = (decoded: Iterable<Disposable>) => {
    for (using _frame of decoded) frames += 1
  }
  return {
    add(sample: Packet): void {
      sound.add(sample)
      take(decoder.decodeAllSync(sample))
    },
    finish(): void {
      take(flush(decoder))
      sound.finish(frames)
    },
    [Symbol.dispose]: () => decoder[Symbol.dispose](),
  }
}

function* flush(decoder: Decoder) {
  decoder.flushSync()
  yield* decoder.flushFramesSync()
}
