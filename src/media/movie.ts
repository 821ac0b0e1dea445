import { type FileHandle, open } from 'node:fs/promises'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import { type Box, readBytes, walkBoxes } from './boxes.ts'
import type { VideoLimits } from './media.ts'
import { codedSize } from './sps.ts'
import { mostTracks, refusal } from './video.ts'

/*
 * What the boxes of a video say of it is held against limits before a demuxer or a decoder sees the file: those believe
 * it, and make room for it. A few kilobytes could cost gigabytes and minutes.
 */

interface Track {
  kind: string
  seconds: number
  samples: number
  /** The largest picture that its boxes name, and the largest that the stream's own headers name, in whole blocks. */
  size: Size
  coded: Size
}

/** Two minutes of sound have that many at most; the demuxer takes 50 bytes for each that a file claims to have. */
const mostSamples = 2_000_000
/** Pictures are coded in blocks of 16 lines, or of 32 where they are interlaced: 1080 lines take 1088. */
const block = 32
const headerBytes = 64 * 1024

/** Throws `unsupported_output`, or the limits' own code where the video exceeds them. */
export async function checkMovie(path: string, limits: VideoLimits): Promise<void> {
  await using file = await open(path)
  const { size: bytes } = await file.stat()
  const tracks: Track[] = []
  let samples = 0
  for await (const box of walkBoxes(file, bytes, limits.boxes)) {
    if (box.name === 'trak') tracks.push(newTrack())
    if (tracks.length > mostTracks) throw refusal(`It has more than ${mostTracks} tracks.`)
    if (box.name === 'cmov') throw refusal('Its header is compressed. Save it without that.')
    // Fragments repeat no header of their track; whose samples they are does not matter for the sum.
    const read = await readTrack(file, box, tracks.at(-1), bytes)
    samples += read
    if (samples > mostSamples) throw refusal(`It claims to have ${samples} pictures or pieces of sound.`)
  }
  for (const track of tracks) if (track.kind === 'vide') checkLimits(track, limits)
}

function newTrack(): Track {
  const none = () => ({ width: 0, height: 0 })
  return { kind: '', seconds: 0, samples: 0, size: none(), coded: none() }
}

/** Adds to the track what the box says of it. Returns how many samples the box adds to the file. */
async function readTrack(file: FileHandle, box: Box, track: Track | undefined, bytes: number): Promise<number> {
  if (box.name === 'trun') return (await readBytes(file, box.start, 8)).readUInt32BE(4)
  if (!track) return 0
  if (box.name === 'hdlr' && box.parent === 'mdia')
    track.kind = (await readBytes(file, box.start, 12)).toString('latin1', 8)
  if (box.name === 'mdhd') track.seconds = Math.max(track.seconds, await readSeconds(file, box))
  if (box.parent === 'stsd') grow(track.size, await readFrameSize(file, box))
  if (box.name === 'avcC') for (const size of await readCodedSizes(file, box)) grow(track.coded, size)
  if (box.name !== 'stsz' && box.name !== 'stz2') return 0
  const samples = await countSamples(file, box, bytes)
  track.samples += samples
  return samples
}

function grow(size: Size, { width, height }: Size): void {
  size.width = Math.max(size.width, width)
  size.height = Math.max(size.height, height)
}

async function readSeconds(file: FileHandle, { start }: Box): Promise<number> {
  const head = await readBytes(file, start, 32)
  const isLong = head.readUInt8(0) === 1
  const scale = head.readUInt32BE(isLong ? 20 : 12)
  const duration = isLong ? Number(head.readBigUInt64BE(24)) : head.readUInt32BE(16)
  // All ones say that it is not known.
  const isKnown = duration !== (isLong ? 2 ** 64 : 2 ** 32 - 1)
  return isKnown && scale > 0 ? duration / scale : 0
}

async function readFrameSize(file: FileHandle, { start }: Box): Promise<Size> {
  const head = await readBytes(file, start + 24, 4)
  return { width: head.readUInt16BE(0), height: head.readUInt16BE(2) }
}

/** The decoder makes room by the stream's own headers, whatever the box around them says. */
async function readCodedSizes(file: FileHandle, { start, end }: Box): Promise<Size[]> {
  const record = await readBytes(file, start, Math.min(end - start, headerBytes))
  const sizes: Size[] = []
  let at = 6
  for (let left = (record[5] ?? 0) & 31; left > 0 && at + 2 <= record.length; left -= 1) {
    const length = record.readUInt16BE(at)
    const size = codedSize(record.subarray(at + 2, at + 2 + length))
    if (size) sizes.push(size)
    at += 2 + length
  }
  return sizes
}

/** Either one size for all, or a table of sizes; together they can't be more than there is. */
async function countSamples(file: FileHandle, { name, start, end }: Box, bytes: number): Promise<number> {
  const head = await readBytes(file, start, 12)
  const each = name === 'stsz' ? head.readUInt32BE(4) : 0
  const count = head.readUInt32BE(8)
  if (count > mostSamples) throw refusal(`It claims to have ${count} pictures or pieces of sound.`)
  let sum = each * count
  if (each === 0 && name === 'stsz') {
    const table = await readBytes(file, start + 12, Math.min(count * 4, Math.max(0, end - start - 12)))
    for (let at = 0; at + 4 <= table.length; at += 4) sum += table.readUInt32BE(at)
  }
  if (sum > bytes) throw refusal('It claims to have more in it than there is.')
  return count
}

function checkLimits({ size, coded, seconds, samples }: Track, limits: VideoLimits): void {
  checkSize(size, limits)
  checkSize(coded, { ...limits, side: wholeBlocks(limits.side), pixels: codedPixels(limits) })
  checkSeconds(seconds, limits)
  checkFrames(samples, limits)
}

function checkSize({ width, height }: Size, limits: VideoLimits): void {
  if (Math.max(width, height) <= limits.side && width * height <= limits.pixels) return
  const megapixels = Math.floor(limits.pixels / 1e6)
  throw exceeding(
    `It has ${width}x${height} pixels: up to ${limits.side} a side and ${megapixels} megapixels are accepted.`,
    limits,
  )
}

export function checkSeconds(seconds: number, limits: VideoLimits): void {
  if (Math.round(seconds) <= limits.seconds) return
  throw exceeding(`It has ${Math.round(seconds)} seconds: up to ${limits.seconds} are accepted.`, limits)
}

export function checkFrames(frames: number, limits: VideoLimits): void {
  if (frames <= limits.frames) return
  throw exceeding(`It has ${frames} frames or more: up to ${limits.frames} are accepted.`, limits)
}

export function exceeding(reason: string, { code }: VideoLimits): Problem {
  return new Problem(code, `The video cannot be used. ${reason}`)
}

/** What a decoder may make room for. */
export function codedPixels({ side, pixels }: VideoLimits): number {
  return Math.min(pixels, side ** 2) + 2 * block * wholeBlocks(side)
}

function wholeBlocks(side: number): number {
  return Math.ceil(side / block) * block
}
