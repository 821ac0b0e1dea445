import { Problem } from './problem.ts'
import type { ImageType, Size } from './task.ts'

export const maxImageBytes = 20 * 2 ** 20
export const maxImagePixels = 40_000_000
/** Lossy WebP takes seven times as long per byte as JPEG: this much takes as long as the largest PNG. */
const maxLossyWebpBytes = 6 * 2 ** 20

export interface ImageFacts {
  type: ImageType
  size: Size
}

/** Images that cost more per pixel may have fewer pixels. */
interface PixelLimit {
  pixels: number
  /** With its article. */
  kind: string
  /** What the client can do. */
  fix: string
}

/** Reads type and size from the bytes: file names and declared types are not trusted. Throws `invalid_image`. */
export function examineImage(bytes: Uint8Array, param: string): ImageFacts {
  if (bytes.length > maxImageBytes) {
    throw new Problem('invalid_image', `The image is larger than ${maxImageBytes / 2 ** 20} MiB. Send a smaller one.`, {
      param,
    })
  }
  const facts = sniff(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (!facts || facts.size.width < 1 || facts.size.height < 1) {
    throw new Problem('invalid_image', 'The image is not a PNG, JPEG or WebP file, or it is broken.', { param })
  }
  refuseSlow(bytes, facts, param)
  if (carriesTooMuch(bytes, facts.type)) {
    throw new Problem(
      'invalid_image',
      'The image has too much data besides the picture. Save it again without metadata.',
      { param },
    )
  }
  return facts
}

/** The client waits while its image is decoded: no image may take longer than the largest plain one. */
function refuseSlow(image: Uint8Array, { type, size }: ImageFacts, param: string): void {
  const { pixels, kind, fix } = type === 'image/png' ? pngLimit(image) : plainLimit
  if (size.width * size.height > pixels) {
    const message = `The image has ${size.width}x${size.height} pixels. ${kind} may have up to ${pixels / 1e6} megapixels. ${fix}`
    throw new Problem('invalid_image', message, { param })
  }
  if (type === 'image/webp' && image.length > maxLossyWebpBytes && isLossy(image)) {
    const message = `The image is larger than ${maxLossyWebpBytes / 2 ** 20} MiB, which is the limit for lossy WebP. Send a smaller image, or a JPEG.`
    throw new Problem('invalid_image', message, { param })
  }
}

const plainLimit: PixelLimit = { pixels: maxImagePixels, kind: 'An image', fix: 'Send a smaller image.' }

/** Nanoseconds of CPU per pixel in `media/inspect.ts`, at worst: plain 32, interlaced 60, 16 bits 70, both 100. */
function pngLimit(image: Uint8Array): PixelLimit {
  const [deep, interlaced] = [image[24] === 16, image[28] !== 0]
  if (deep && interlaced) {
    const fix = 'Send a smaller image, or save it with 8 bits and without interlacing.'
    return { pixels: maxImagePixels / 4, kind: 'An interlaced PNG with 16 bits per channel', fix }
  }
  if (interlaced) {
    const fix = 'Send a smaller image, or save it without interlacing.'
    return { pixels: maxImagePixels / 2, kind: 'An interlaced PNG', fix }
  }
  if (!deep) return plainLimit
  const fix = 'Send a smaller image, or save it with 8 bits.'
  return { pixels: maxImagePixels / 2, kind: 'A PNG with 16 bits per channel', fix }
}

function isLossy(webp: Uint8Array): boolean {
  for (const { name } of chunksOf(webp, 'image/webp')) if (name === 'VP8 ') return true
  return false
}

/**
 * Chunks besides the picture make decoders very slow: one of 20 MiB, or 300 000 of a few bytes. Each counts with its
 * bytes, at least 4 KiB; a chunk of the picture counts little. The scans of a JPEG are counted by the child that
 * decodes it, because finding them takes a walk through all of its bytes.
 */
const maxBaggage = 4 * 2 ** 20

function carriesTooMuch(image: Uint8Array, type: ImageType): boolean {
  if (type === 'image/jpeg') return false
  let sum = 0
  for (const { name, length } of chunksOf(image, type)) {
    sum += pictureChunks.has(name) ? 200 : Math.max(length, 4_096)
    // A walk through millions of chunks would itself take long.
    if (sum > maxBaggage) return true
  }
  return false
}

interface Chunk {
  name: string
  /** Where its header begins. */
  at: number
  /** Of its data. */
  length: number
}

/** The chunks of a PNG or a WebP, up to the end of the image. */
function* chunksOf(image: Uint8Array, type: 'image/png' | 'image/webp'): Generator<Chunk> {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength)
  const png = type === 'image/png'
  for (let at = png ? 8 : 12; at + 8 <= bytes.length; ) {
    const length = png ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at + 4)
    const name = bytes.toString('latin1', png ? at + 4 : at, png ? at + 8 : at + 4)
    yield { name, at, length }
    // No decoder reads beyond it.
    if (png && name === 'IEND') return
    at += png ? 12 + length : 8 + length + (length % 2)
  }
}

const pictureChunks = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'VP8 ', 'VP8L', 'VP8X', 'ALPH'])

function sniff(bytes: Buffer): ImageFacts | undefined {
  if (bytes.length < 30) return undefined
  if (bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))) return sniffPng(bytes)
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return sniffJpeg(bytes)
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return sniffWebp(bytes)
  return undefined
}

function sniffPng(bytes: Buffer): ImageFacts | undefined {
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  const needsPalette = bytes[25] === 3
  if (needsPalette && !hasPalette(bytes)) return undefined
  return { type: 'image/png', size: { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } }
}

/** Without a palette some decoders invent colours and others fail, so providers would show different pictures. */
function hasPalette(bytes: Buffer): boolean {
  let before = 0
  for (const { name } of chunksOf(bytes, 'image/png')) {
    if (name === 'PLTE') return true
    before += 1
    // More chunks are refused anyway, by `carriesTooMuch`.
    if (name === 'IDAT' || before > maxBaggage / 4_096) return false
  }
  return false
}

/**
 * Walks the segments to the frame header: SOF0…2, baseline and progressive. Most decoders, ours included, can't read
 * the lossless, hierarchical and arithmetic kinds.
 */
function sniffJpeg(bytes: Buffer): ImageFacts | undefined {
  let at = 2
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1
      continue
    }
    if (marker >= 0xc3 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return undefined
    if (marker >= 0xc0 && marker <= 0xc2) {
      return { type: 'image/jpeg', size: { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) } }
    }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

/** The frame of a still must fill its canvas: a larger frame would evade the limit of pixels. */
function sniffWebp(bytes: Buffer): ImageFacts | undefined {
  const type = 'image/webp'
  if (bytes.toString('latin1', 12, 16) !== 'VP8X') {
    const size = frameSize(bytes, 12)
    return size && { type, size }
  }
  const canvas = { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  const isAnimated = ((bytes[20] ?? 0) & 2) !== 0
  // Its frames may be smaller. The decoder refuses it with a message of its own.
  if (isAnimated) return { type, size: canvas }
  let before = 0
  for (const { at } of chunksOf(bytes, type)) {
    const size = frameSize(bytes, at)
    if (size) return size.width === canvas.width && size.height === canvas.height ? { type, size } : undefined
    before += 1
    if (before > maxBaggage / 4_096) return undefined
  }
  return undefined
}

/** The size of a WebP frame, if the chunk at that position is one. */
function frameSize(bytes: Buffer, at: number): Size | undefined {
  if (at + 18 > bytes.length) return undefined
  const name = bytes.toString('latin1', at, at + 4)
  if (name === 'VP8 ')
    return { width: bytes.readUInt16LE(at + 14) & 0x3fff, height: bytes.readUInt16LE(at + 16) & 0x3fff }
  if (name !== 'VP8L') return undefined
  const bits = bytes.readUInt32LE(at + 9)
  return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 }
}
