import type { Size } from '../core/task.ts'

/** The profiles of H.264 whose header has a colour format and scaling tables. */
const withColours = new Set([44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244])

/**
 * The size of the frames that a decoder allocates, in whole blocks of 16 pixels, from the header of the H.264 stream
 * itself (a sequence parameter set, ITU-T H.264 section 7.3.2.1.1). Undefined if it is not valid.
 */
export function codedSize(sps: Buffer): Size | undefined {
  const bits = openBits(sps)
  try {
    bits.skip(8)
    const profile = bits.read(8)
    bits.skip(16)
    bits.count()
    if (withColours.has(profile)) skipColours(bits)
    bits.count()
    skipOrder(bits)
    bits.count()
    bits.skip(1)
    const [width, height] = [bits.count() + 1, bits.count() + 1]
    const isWhole = bits.read(1) === 1
    return { width: width * 16, height: height * 16 * (isWhole ? 1 : 2) }
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined
    throw thrown
  }
}

type Bits = ReturnType<typeof openBits>

/** Reads bits. Throws a RangeError at the end of the unit. */
function openBits(unit: Buffer) {
  // An escape byte 3 follows two zero bytes if the next byte is 0 to 3. It is not part of the data.
  const bytes = unit.filter((byte, at) => !(byte === 3 && at >= 2 && unit[at - 1] === 0 && unit[at - 2] === 0))
  let at = 0
  const read = (length: number): number => {
    let value = 0
    for (let left = length; left > 0; left -= 1, at += 1) {
      const byte = bytes[at >> 3]
      if (byte === undefined) throw new RangeError('the header ends too early')
      value = value * 2 + ((byte >> (7 - (at & 7))) & 1)
    }
    return value
  }
  /** An unsigned Exp-Golomb number: as many zeros as it has digits after the first. */
  const count = (): number => {
    let zeros = 0
    while (read(1) === 0) zeros += 1
    return 2 ** zeros - 1 + read(zeros)
  }
  const signed = (): number => {
    const value = count()
    return value % 2 === 1 ? (value + 1) / 2 : -value / 2
  }
  return { read, count, signed, skip: (length: number) => void read(length) }
}

function skipColours(bits: Bits): void {
  const format = bits.count()
  if (format === 3) bits.skip(1)
  bits.count()
  bits.count()
  bits.skip(1)
  if (bits.read(1) === 0) return
  for (let table = 0; table < (format === 3 ? 12 : 8); table += 1)
    if (bits.read(1) === 1) skipTable(bits, table < 6 ? 16 : 64)
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
