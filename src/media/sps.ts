import type { Size } from '../core/task.ts'
import { type Bits, openBits } from './bits.ts'

/** The profiles of H.264 whose header has a colour format and scaling tables. */
const withColours = new Set([44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244])

interface Sequence {
  id: number
  /** The frames that a decoder allocates, in whole blocks of 16 pixels. */
  size: Size
  /** How many bits the number of a frame has. */
  numberBits: number
  /** Numbers of frames may have gaps, fields may be frames of their own, or colours have slices of their own. */
  isUnusual: boolean
}

/** The size of the frames, from the header of the H.264 stream itself. Undefined if it is not valid. */
export function codedSize(sps: Buffer): Size | undefined {
  return readSequence(sps)?.size
}

/** A sequence parameter set (ITU-T H.264 section 7.3.2.1.1). Undefined if it is not valid. */
export function readSequence(sps: Buffer): Sequence | undefined {
  const bits = openBits(sps)
  try {
    bits.skip(8)
    const profile = bits.read(8)
    bits.skip(16)
    const id = bits.count()
    const hasPlanes = withColours.has(profile) && skipColours(bits)
    const numberBits = bits.count() + 4
    skipOrder(bits)
    bits.count()
    const hasGaps = bits.read(1) === 1
    const [width, height] = [bits.count() + 1, bits.count() + 1]
    const isWhole = bits.read(1) === 1
    const size = { width: width * 16, height: height * 16 * (isWhole ? 1 : 2) }
    return { id, size, numberBits, isUnusual: hasPlanes || hasGaps || !isWhole }
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined
    throw thrown
  }
}

/** Returns whether each colour is a plane of its own. */
function skipColours(bits: Bits): boolean {
  const format = bits.count()
  const hasPlanes = format === 3 && bits.read(1) === 1
  bits.count()
  bits.count()
  bits.skip(1)
  if (bits.read(1) === 0) return hasPlanes
  for (let table = 0; table < (format === 3 ? 12 : 8); table += 1)
    if (bits.read(1) === 1) skipTable(bits, table < 6 ? 16 : 64)
  return hasPlanes
}

function skipTable(bits: Bits, entries: number): void {
  let [last, next] = [8, 8]
  for (let entry = 0; entry < entries; entry += 1) {
    if (next !== 0) next = (last + bits.signed() + 256) % 256
    last = next === 0 ? last : next
  }
}

/** The display order of the frames. */
function skipOrder(bits: Bits): void {
  const type = bits.count()
  if (type === 0) bits.count()
  if (type !== 1) return
  bits.skip(1)
  bits.signed()
  bits.signed()
  for (let left = bits.count(); left > 0; left -= 1) bits.signed()
}
