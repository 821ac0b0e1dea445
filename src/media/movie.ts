import { type FileHandle, open } from 'node:fs/promises'
import { Problem } from '../core/problem.ts'
import type { Size } from '../core/task.ts'
import type { VideoLimits } from './media.ts'
import { codedSize } from './sps.ts'
import { type Listed, mostTracks, refusal } from './video.ts'

/*
 * The boxes of a video are checked against limits before a demuxer or a decoder sees the file: those trust the boxes and
 * allocate memory for them. A few kilobytes could cost gigabytes and minutes.
 */

interface Track {
  id: number
  kind: string
  seconds: number
  samples: number
  /** All samples have one size, so there is no table of them. */
  isUniform: boolean
  /** Each sample lasts one unit of time. */
  isPlain: boolean
  /** The largest frame in its boxes, and the largest in the headers of the stream itself, in whole blocks. */
  size: Size
  coded: Size
}

/** Two minutes of sound have at most this many. The demuxer allocates 50 bytes for each that a file claims to have. */
const mostSamples = 2_000_000
/** In sound without compression, a sample is one number of the wave. The demuxer reads this many at once. */
const plainAtOnce = 1024
/** Frames are coded in blocks of 16 lines, or of 32 if they are interlaced: 1080 lines take 1088. */
const block = 32
const headerBytes = 64 * 1024
/** An index has up to 65 535 entries of 12 bytes. */
const indexBytes = 32 + 65_535 * 12

/** Throws `unsupported_output`, or the code of the limits if the video exceeds them. */
export async function checkMovie(path: string, limits: VideoLimits): Promise<Listed> {
  await using file = await open(path)
  const { size: bytes } = await file.stat()
  const tracks: Track[] = []
  const fragments: Fragments = { track: 0, samples: 0, listed: new Map() }
  for await (const box of walkBoxes(file, bytes, limits.boxes)) {
    if (box.name === 'trak') tracks.push(newTrack())
    if (tracks.length > mostTracks) throw refusal(`It has more than ${mostTracks} tracks.`)
    if (box.name === 'cmov') throw refusal('Its header is compressed. Save it without header compression.')
    if (box.name === 'sidx' && box.parent === '') await checkIndex(file, box, bytes)
    await readFragment(file, box, fragments)
    const track = tracks.at(-1)
    if (track) await readTrack(file, box, track, bytes)
    const samples = tracks.reduce((all, one) => all + allocatedFor(one), fragments.samples)
    if (samples > mostSamples) throw tooManySamples(samples)
  }
  for (const track of tracks) if (track.kind === 'vide') checkLimits(track, limits)
  const listed = new Map(fragments.listed)
  for (const track of tracks) if (!track.isUniform) listed.set(track.id, track.samples + (listed.get(track.id) ?? 0))
  return listed
}

function newTrack(): Track {
  const none = () => ({ width: 0, height: 0 })
  return { id: 0, kind: '', seconds: 0, samples: 0, isUniform: false, isPlain: false, size: none(), coded: none() }
}

function allocatedFor({ kind, isUniform, isPlain, samples }: Track): number {
  return kind === 'soun' && isUniform && isPlain ? Math.ceil(samples / plainAtOnce) : samples
}

interface Fragments {
  /** The id of the track that the latest fragment belongs to. */
  track: number
  samples: number
  listed: Map<number, number>
}

/** A fragment names its track, and lists its samples. */
async function readFragment(file: FileHandle, { name, start }: Box, fragments: Fragments): Promise<void> {
  if (name !== 'tfhd' && name !== 'trun') return
  const value = (await readBytes(file, start, 8)).readUInt32BE(4)
  if (name === 'tfhd') {
    fragments.track = value
    return
  }
  fragments.samples += value
  fragments.listed.set(fragments.track, value + (fragments.listed.get(fragments.track) ?? 0))
}

/** Adds the content of the box to the track. */
async function readTrack(file: FileHandle, box: Box, track: Track, bytes: number): Promise<void> {
  if (box.name === 'tkhd') track.id = await readTrackId(file, box)
  if (box.name === 'stts') track.isPlain = await isPlain(file, box)
  if (box.name === 'hdlr' && box.parent === 'mdia')
    track.kind = (await readBytes(file, box.start, 12)).toString('latin1', 8)
  if (box.name === 'mdhd') track.seconds = Math.max(track.seconds, await readSeconds(file, box))
  if (box.parent === 'stsd') grow(track.size, await readFrameSize(file, box))
  if (box.name === 'avcC') for (const size of await readCodedSizes(file, box)) grow(track.coded, size)
  if (box.name !== 'stsz' && box.name !== 'stz2') return
  const { count, isUniform } = await countSamples(file, box, bytes)
  track.samples += count
  track.isUniform = isUniform
}

async function readTrackId(file: FileHandle, { start }: Box): Promise<number> {
  const head = await readBytes(file, start, 24)
  return head.readUInt32BE(head.readUInt8(0) === 1 ? 20 : 12)
}

async function isPlain(file: FileHandle, { start }: Box): Promise<boolean> {
  const head = await readBytes(file, start, 16)
  const [entries, duration] = [head.readUInt32BE(4), head.readUInt32BE(12)]
  return entries === 1 && duration === 1
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
  // All ones mean unknown.
  const isKnown = duration !== (isLong ? 2 ** 64 : 2 ** 32 - 1)
  return isKnown && scale > 0 ? duration / scale : 0
}

async function readFrameSize(file: FileHandle, { start }: Box): Promise<Size> {
  const head = await readBytes(file, start + 24, 4)
  return { width: head.readUInt16BE(0), height: head.readUInt16BE(2) }
}

/** The decoder allocates memory by the headers of the stream itself, not by the box around them. */
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

/** Samples have one size for all, or a table of sizes. Together they cannot be larger than the file. */
async function countSamples(file: FileHandle, { name, start, end }: Box, bytes: number) {
  const head = await readBytes(file, start, 12)
  const each = name === 'stsz' ? head.readUInt32BE(4) : 0
  const count = head.readUInt32BE(8)
  const isUniform = each > 0
  if (!isUniform && count > mostSamples) throw tooManySamples(count)
  let data = each * count
  if (!isUniform && name === 'stsz') {
    const table = await readBytes(file, start + 12, Math.min(count * 4, Math.max(0, end - start - 12)))
    for (let at = 0; at + 4 <= table.length; at += 4) data += table.readUInt32BE(at)
  }
  if (data > bytes) throw refusal('It claims to have more data than the file contains.')
  return { count, isUniform }
}

/** The index of a fragmented file has the length of each fragment: it shows whether the last ones are missing. */
async function checkIndex(file: FileHandle, { start, end }: Box, bytes: number): Promise<void> {
  const index = await readBytes(file, start, Math.min(end - start, indexBytes))
  const isLong = index[0] === 1
  const first = isLong ? 32 : 24
  if (index.length < first) return
  let last = end + (isLong ? Number(index.readBigUInt64BE(20)) : index.readUInt32BE(16))
  // The highest bit is not part of the length.
  for (let at = first; at + 12 <= index.length; at += 12) last += index.readUInt32BE(at) & 0x7fffffff
  if (last > bytes) throw refusal('It is cut off: its index lists more fragments than it has.')
}

function tooManySamples(count: number): Problem {
  return refusal(`It claims to have ${count} frames and audio samples. Up to ${mostSamples} are accepted.`)
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

/** The pixels that a decoder may allocate for a frame. */
export function codedPixels({ side, pixels }: VideoLimits): number {
  return Math.min(pixels, side ** 2) + 2 * block * wholeBlocks(side)
}

function wholeBlocks(side: number): number {
  return Math.ceil(side / block) * block
}

/* An MP4 consists of boxes: a length, four letters, and a content, which may be boxes again. */

interface Box {
  name: string
  /** The name of the box around it; empty at the top level. */
  parent: string
  /** Where its content starts and ends in the file. */
  start: number
  end: number
}

/**
 * The boxes that are entered: the parent of each, and how many bytes precede the boxes in it. Each has one parent, so
 * boxes nest no deeper than this list.
 */
const containers: Readonly<Record<string, { in: string; skip: number }>> = {
  moov: { in: '', skip: 0 },
  trak: { in: 'moov', skip: 0 },
  mdia: { in: 'trak', skip: 0 },
  minf: { in: 'mdia', skip: 0 },
  stbl: { in: 'minf', skip: 0 },
  stsd: { in: 'stbl', skip: 8 },
  avc1: { in: 'stsd', skip: 78 },
  avc3: { in: 'stsd', skip: 78 },
  moof: { in: '', skip: 0 },
  traf: { in: 'moof', skip: 0 },
}

/** Yields each box before the boxes in it. Throws `unsupported_output` if they are too many, misplaced or cut off. */
async function* walkBoxes(file: FileHandle, size: number, most: number): AsyncGenerator<Box> {
  let count = 0
  const levels = [{ name: '', at: 0, end: size }]
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    if (level.at + 8 > level.end) {
      levels.pop()
      continue
    }
    count += 1
    if (count > most) throw refusal(`It has more than ${most} boxes. Save it again without fragments.`)
    const box = await readBox(file, level.at, level)
    level.at = box.end
    yield box
    const container = containers[box.name]
    if (!container) continue
    if (container.in !== box.parent) throw refusal(`It is broken: it has a '${box.name}' box in the wrong place.`)
    levels.push({ name: box.name, at: box.start + container.skip, end: box.end })
  }
}

type Level = { name: string; end: number }

async function readBox(file: FileHandle, at: number, { name: parent, end }: Level): Promise<Box> {
  const header = await readBytes(file, at, 16)
  const short = header.readUInt32BE(0)
  // 0: to the end of the file. 1: the length needs more than four bytes, and follows in eight.
  const length = short === 0 ? end - at : short === 1 ? Number(header.readBigUInt64BE(8)) : short
  if (length < (short === 1 ? 16 : 8) || at + length > end)
    throw refusal(at === 0 ? 'It is cut off, or not an MP4 file.' : parent === '' ? 'It is cut off.' : 'It is broken.')
  const start = at + (short === 1 ? 16 : 8)
  return { name: header.toString('latin1', 4, 8), parent, start, end: at + length }
}

/** Bytes beyond the end of the file are zero. */
async function readBytes(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  await file.read(bytes, 0, length, at)
  return bytes
}
