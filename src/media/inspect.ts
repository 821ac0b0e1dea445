import type { FFDecoderCodec } from 'node-av/constants'
import { FF_DECODER_MJPEG, FF_DECODER_PNG, FF_DECODER_WEBP } from 'node-av/constants'
import { Codec, CodecContext, Dictionary, FFmpegError, Frame, Packet } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { ImageType, Size } from '../core/task.ts'
import type { ImageBytes } from './media.ts'
import { loadPicture, shortageOf } from './shortage.ts'

const decoders: Record<ImageType, FFDecoderCodec> = {
  'image/png': FF_DECODER_PNG,
  'image/jpeg': FF_DECODER_MJPEG,
  'image/webp': FF_DECODER_WEBP,
}

/** The decoder counts the pixels of a row that it pads to its own step, which is 64 at most. */
const rowPadding = 63

/**
 * Decodes the whole image, and strictly. The canvas alone would not do: it takes a PNG of which 5 % are left and shows the rest
 * as black. Moving images are refused: which of their pictures was meant, each provider would decide for itself.
 */
export async function inspect(image: ImageBytes): Promise<void> {
  const bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength)
  if (isAnimated(bytes, image.type)) throw refusal('It is animated; send a still.')
  if (image.type === 'image/jpeg') refuseSegments(bytes)
  const size = await decode(bytes, image)
  if (size.width !== image.size.width || size.height !== image.size.height) {
    throw refusal('Its pixels are not of the size that its header says.')
  }
  // The renderer's own decoder has the last word: it knows fewer kinds, and what it refuses would fail as a film.
  await loadPicture(bytes, (thrown) =>
    refusal('It is of a kind that is not supported; save it as a plain PNG or JPEG.', thrown),
  )
}

function refusal(reason: string, cause?: unknown): Problem {
  return new Problem('invalid_image', `The image cannot be used. ${reason}`, { cause })
}

async function decode(bytes: Buffer, { type, size }: ImageBytes): Promise<Size> {
  try {
    const codec = Codec.findDecoderByName(decoders[type])
    if (!codec) throw new Problem('internal', 'Something went wrong on our side.', { cause: `no decoder for ${type}` })
    using context = new CodecContext()
    context.allocContext3(codec)
    // One file is one packet. Checksums count, and the first error ends it.
    using options = Dictionary.fromObject({
      err_detect: 'crccheck+bitstream+buffer+explode',
      threads: 1,
      // What lies behind the header may say that it is larger: it ends there, before its memory is taken.
      max_pixels: (size.width + rowPadding) * size.height,
    })
    FFmpegError.throwIfError(await context.open2(codec, options), 'open')
    using packet = new Packet()
    packet.alloc()
    packet.data = bytes
    FFmpegError.throwIfError(await context.sendPacket(packet), 'decode')
    using frame = new Frame()
    frame.alloc()
    FFmpegError.throwIfError(await context.receiveFrame(frame), 'decode')
    if (frame.decodeErrorFlags !== 0) throw refusal('It is broken.')
    return { width: frame.width, height: frame.height }
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown
    throw shortageOf(thrown) ?? refusal('It is broken or cut off.', thrown)
  }
}

/** An animation says so in front of its pixels: PNG by a chunk of its own, WebP by a flag in its extended header. */
function isAnimated(bytes: Buffer, type: ImageType): boolean {
  if (type === 'image/webp') return bytes.toString('latin1', 12, 16) === 'VP8X' && ((bytes[20] ?? 0) & 2) !== 0
  if (type !== 'image/png') return false
  for (let at = 8; at + 8 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const chunk = bytes.toString('latin1', at + 4, at + 8)
    if (chunk === 'acTL') return true
    if (chunk === 'IDAT') return false
  }
  return false
}

/** Each scan goes over all pixels again: more would cost more than a plain image of that size. Encoders write up to 18. */
const maxScans = 20
const unusualSegment = 'It has a segment that is broken or not supported; save it as a plain PNG or JPEG.'

function refuseSegments(jpeg: Buffer): void {
  const counted = countSegments(jpeg)
  // The decoder makes up a missing end.
  if (!counted) throw refusal('It is cut off.')
  const { frames, scans } = counted
  if (frames !== 1 || scans < 1)
    throw refusal(`It has ${frames} frames and ${scans} scans. Save it as a plain PNG or JPEG.`)
  if (scans > maxScans)
    throw refusal(`It has ${scans} scans, and ${maxScans} is the limit. Save it as a baseline JPEG.`)
}

/**
 * Walks a JPEG to its end marker and counts; null if there is no end. In coded data 0xff is followed by 0 or a restart
 * marker, so nothing misleads the walk but a segment that decoders do not skip whole: it could hide scans.
 */
function countSegments(bytes: Buffer): { frames: number; scans: number } | null {
  let [frames, scans] = [0, 0]
  let at = 2
  while (at + 1 < bytes.length) {
    const marker = bytes[at + 1] ?? 0
    const coded = bytes[at] !== 0xff || marker === 0x00 || (marker >= 0xd0 && marker <= 0xd7)
    if (coded || marker === 0xff) {
      // To the next 0xff; indexOf is native, and a byte after it may be one again.
      at = bytes.indexOf(0xff, at + 1)
      if (at < 0) return null
    } else if (marker === 0xd9) {
      return { frames, scans }
    } else {
      if (at + 3 >= bytes.length) return null
      const end = at + 2 + bytes.readUInt16BE(at + 2)
      if (!isSkippedWhole(marker, bytes.subarray(at + 4, end))) throw refusal(unusualSegment)
      if (marker >= 0xc0 && marker <= 0xc2) frames += 1
      if (marker === 0xda) scans += 1
      at = end
    }
  }
  return null
}

/** Whether decoders skip all of a segment. What they leave of it they read as segments again. */
function isSkippedWhole(marker: number, segment: Buffer): boolean {
  if (marker === 0xdb) return hasWholeTables(segment)
  // Frames, Huffman tables, scans, restart intervals and comments; the others are of no usual encoder.
  return (marker >= 0xe0 && marker <= 0xef) || [0xc0, 0xc1, 0xc2, 0xc4, 0xda, 0xdd, 0xfe].includes(marker)
}

function hasWholeTables(tables: Buffer): boolean {
  let at = 0
  while (at < tables.length) at += 1 + 64 * ((tables[at] ?? 0) < 16 ? 1 : 2)
  return at === tables.length
}
