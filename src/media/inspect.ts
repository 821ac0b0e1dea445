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

/** The decoder pads each row, at most to a multiple of 64 pixels. */
const rowPadding = 63

/**
 * Decodes the whole image strictly. The canvas is not enough: it accepts a PNG of which 5 % is left and draws the rest
 * black. Animated images are refused, because each provider would use a different frame.
 */
export async function inspect(image: ImageBytes): Promise<void> {
  const bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength)
  if (isAnimated(bytes, image.type)) throw refusal('It is animated. Send a still image.')
  if (image.type === 'image/jpeg') refuseSegments(bytes)
  const size = await decode(bytes, image)
  if (size.width !== image.size.width || size.height !== image.size.height) {
    throw refusal('Its pixels do not have the size that its header states.')
  }
  // The renderer's decoder supports fewer kinds. An image that it refuses would fail later, as a film.
  await loadPicture(bytes, (thrown) => refusal('Its format is not supported. Save it as a plain PNG or JPEG.', thrown))
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
    // One file is one packet. Checksums are verified, and the first error ends the decoding.
    using options = Dictionary.fromObject({
      err_detect: 'crccheck+bitstream+buffer+explode',
      threads: 1,
      // The pixel data may claim a larger size. Decoding ends there, before memory is allocated.
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

/** An animation is marked before its pixels: in PNG by a chunk, in WebP by a flag in the extended header. */
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

/** Each scan decodes all pixels again. Encoders write up to 18. */
const maxScans = 20
const unusualSegment = 'It has a segment that is broken or not supported. Save it as a plain PNG or JPEG.'

function refuseSegments(jpeg: Buffer): void {
  const counted = countSegments(jpeg)
  // The decoder would accept a missing end.
  if (!counted) throw refusal('It is cut off.')
  const { frames, scans } = counted
  if (frames !== 1 || scans < 1)
    throw refusal(`It has ${frames} frames and ${scans} scans. Save it as a plain PNG or JPEG.`)
  if (scans > maxScans)
    throw refusal(`It has ${scans} scans, and ${maxScans} is the limit. Save it as a baseline JPEG.`)
}

/**
 * Counts frames and scans up to the end marker of a JPEG; null without an end marker. In coded data 0xff is followed by 0
 * or a restart marker, so only a segment that decoders do not skip as a whole could hide scans.
 */
function countSegments(bytes: Buffer): { frames: number; scans: number } | null {
  let [frames, scans] = [0, 0]
  let at = 2
  while (at + 1 < bytes.length) {
    const marker = bytes[at + 1] ?? 0
    const coded = bytes[at] !== 0xff || marker === 0x00 || (marker >= 0xd0 && marker <= 0xd7)
    if (coded || marker === 0xff) {
      // To the next 0xff. The byte after it may be 0xff again.
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

/** Whether decoders skip the whole segment. They parse the rest of a partly skipped one as segments again. */
function isSkippedWhole(marker: number, segment: Buffer): boolean {
  if (marker === 0xdb) return hasWholeTables(segment)
  // Frames, Huffman tables, scans, restart intervals and comments. Usual encoders write no others.
  return (marker >= 0xe0 && marker <= 0xef) || [0xc0, 0xc1, 0xc2, 0xc4, 0xda, 0xdd, 0xfe].includes(marker)
}

function hasWholeTables(tables: Buffer): boolean {
  let at = 0
  while (at < tables.length) at += 1 + 64 * ((tables[at] ?? 0) < 16 ? 1 : 2)
  return at === tables.length
}
