import type { FFDecoderCodec } from 'node-av/constants'
import { FF_DECODER_MJPEG, FF_DECODER_PNG, FF_DECODER_WEBP } from 'node-av/constants'
import { Codec, CodecContext, Dictionary, FFmpegError, Frame, Packet } from 'node-av/lib'
import { Problem } from '../core/problem.ts'
import type { ImageType } from '../core/task.ts'
import type { ImageBytes } from './media.ts'
import { loadPicture, shortageOf } from './shortage.ts'

const decoders: Record<ImageType, FFDecoderCodec> = {
  'image/png': FF_DECODER_PNG,
  'image/jpeg': FF_DECODER_MJPEG,
  'image/webp': FF_DECODER_WEBP,
}

/**
 * Decodes the whole image, and strictly. The canvas alone would not do: it takes a PNG of which 5 % are left and shows the rest
 * as black. Moving images are refused: which of their pictures was meant, each provider would decide for itself.
 */
export async function inspect(image: ImageBytes): Promise<void> {
  const bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength)
  if (isAnimated(bytes, image.type)) throw refusal('It is animated; send a still.')
  if (image.type === 'image/jpeg') refuseScans(bytes)
  const size = await decode(bytes, image.type)
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

async function decode(bytes: Buffer, type: ImageType): Promise<{ width: number; height: number }> {
  try {
    const codec = Codec.findDecoderByName(decoders[type])
    if (!codec) throw new Problem('internal', 'Something went wrong on our side.', { cause: `no decoder for ${type}` })
    using context = new CodecContext()
    context.allocContext3(codec)
    // One file is one packet. Checksums count, and the first error ends it.
    using options = Dictionary.fromObject({ err_detect: 'crccheck+bitstream+buffer+explode', threads: 1 })
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

function refuseScans(jpeg: Buffer): void {
  const scans = scansOf(jpeg)
  // The decoder makes up a missing end.
  if (scans === null) throw refusal('It is cut off.')
  if (scans > maxScans)
    throw refusal(`It has ${scans} scans, and ${maxScans} is the limit. Save it as a baseline JPEG.`)
}

/**
 * Walks a JPEG to its end marker and counts the scans; null if there is no end. In coded data 0xff is followed by 0 or a
 * restart marker, so the walk cannot be misled.
 */
function scansOf(bytes: Buffer): number | null {
  let scans = 0
  let at = 2
  while (at + 1 < bytes.length) {
    const marker = bytes[at + 1] ?? 0
    const coded = bytes[at] !== 0xff || marker === 0x00 || (marker >= 0xd0 && marker <= 0xd7)
    if (coded || marker === 0xff) {
      // To the next 0xff; indexOf is native, and a byte after it may be one again.
      at = bytes.indexOf(0xff, at + 1)
      if (at < 0) return null
    } else if (marker === 0xd9) {
      return scans
    } else {
      if (at + 3 >= bytes.length) return null
      if (marker === 0xda) scans += 1
      at += 2 + bytes.readUInt16BE(at + 2)
    }
  }
  return null
}
