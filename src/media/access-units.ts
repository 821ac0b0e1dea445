import { type Bits, openBits } from './bits.ts'
import { readSequence } from './sps.ts'

/*
 * The structure of H.264 samples (ITU-T H.264 section 7.3), read without decoding. A sample is one access unit: NAL units,
 * each with its length before it, that fill the sample exactly.
 */

/** Thrown for a sample whose structure is wrong, or so unusual that only a decoder can judge it. */
export class Doubt extends Error {}

/** How many bytes of a unit have all of the fields that are read here. */
const headBytes = 16

const [slice, keySlice, sequenceParameters, pictureParameters] = [1, 5, 7, 8]
/** Supplemental data, delimiters, filler, and what scalable and stereo streams add. */
const otherTypes: ReadonlySet<number> = new Set([6, 9, 10, 11, 12, 13, 14, 15, 19, 20])

/** Reads the samples of a track in their order, and returns whether each is a key frame. Throws a `Doubt`. */
export function openAccessUnits(record: Buffer | null): (sample: Buffer) => boolean {
  const parameters = openParameters()
  const numbers = openNumbers()
  const lengthBytes = readRecord(record, parameters.add)
  return (sample) => {
    const slices: Slice[] = []
    for (const unit of unitsOf(sample, lengthBytes)) {
      const type = readType(unit)
      if (type === slice || type === keySlice) slices.push(readSlice(unit, parameters.bitsOf))
      else if (type === sequenceParameters || type === pictureParameters) parameters.add(unit)
      else if (!otherTypes.has(type)) throw new Doubt(`a unit of type ${type}`)
    }
    const first = firstOf(slices)
    numbers.add(first)
    return first.isKey
  }
}

/** Reads the box `avcC` (ISO/IEC 14496-15 section 5.3.3.1). Returns how many bytes the length before each unit has. */
function readRecord(record: Buffer | null, add: (unit: Buffer) => void): number {
  if (!record || record.length < 7 || record[0] !== 1) throw new Doubt('no parameter sets')
  let at = 5
  for (const mask of [31, 0xff]) {
    const count = (record[at] ?? 0) & mask
    at += 1
    for (let left = count; left > 0; left -= 1) {
      const end = at + 2 + (at + 2 > record.length ? record.length : record.readUInt16BE(at))
      if (end > record.length) throw new Doubt('parameter sets that are cut off')
      add(record.subarray(at + 2, end))
      at = end
    }
  }
  return ((record[4] ?? 0) & 3) + 1
}

/** The parameter sets by their ids. Samples may add more. */
function openParameters() {
  const sequences = new Map<number, number>()
  const pictures = new Map<number, number>()
  return {
    add(unit: Buffer): void {
      if (((unit[0] ?? 0) & 31) === pictureParameters) {
        const [id, sequence] = read(unit, (bits) => [bits.count(), bits.count()] as const)
        pictures.set(id, sequence)
        return
      }
      const sequence = readSequence(unit)
      if (!sequence || sequence.isUnusual) throw new Doubt('sequence parameters that are broken or unusual')
      sequences.set(sequence.id, sequence.numberBits)
    },
    /** How many bits the numbers of frames have. */
    bitsOf(picture: number): number {
      const bits = sequences.get(pictures.get(picture) ?? -1)
      if (bits === undefined) throw new Doubt('a slice without its parameter sets')
      return bits
    },
  }
}

/** Each frame has the number after that of the last frame that others refer to. So a missing or wrong one is noticed. */
function openNumbers() {
  let last = 0
  return {
    add({ isKey, isReference, number, numberBits }: Slice): void {
      const expected = isKey ? 0 : (last + 1) % 2 ** numberBits
      if (number !== expected) throw new Doubt(`frame ${number} instead of ${expected}`)
      if (isReference) last = number
    },
  }
}

function* unitsOf(sample: Buffer, lengthBytes: number): Generator<Buffer> {
  let at = 0
  while (at < sample.length) {
    const start = at + lengthBytes
    if (start > sample.length) throw new Doubt('a length that is cut off')
    at = start + sample.readUIntBE(at, lengthBytes)
    if (at === start || at > sample.length) throw new Doubt('units that do not fill their sample')
    yield sample.subarray(start, at)
  }
}

function readType(unit: Buffer): number {
  const head = unit[0] ?? 0
  const [isForbidden, isReference, type] = [head >> 7 === 1, (head & 0x60) !== 0, head & 31]
  if (isForbidden || (type === keySlice && !isReference)) throw new Doubt('a unit with a wrong header')
  // A unit ends with a stop bit and zero bits up to the end of its byte.
  if (unit.at(-1) === 0) throw new Doubt('a unit that ends with zeros')
  if (hasForbiddenZeros(unit)) throw new Doubt('a unit with zeros that no encoder writes')
  return type
}

const zeros = Buffer.alloc(2)

/** An encoder writes a 3 after two zero bytes, if a byte of 0 to 3 follows. So a range that was zeroed is noticed. */
function hasForbiddenZeros(unit: Buffer): boolean {
  for (let at = unit.indexOf(zeros); at >= 0; at = unit.indexOf(zeros, at + 3)) {
    const [third = 4, fourth = 0] = [unit[at + 2], unit[at + 3]]
    if (third < 3 || (third === 3 && fourth > 3)) return true
  }
  return false
}

interface Slice {
  isKey: boolean
  /** Other frames refer to its frame. */
  isReference: boolean
  firstBlock: number
  number: number
  numberBits: number
}

function readSlice(unit: Buffer, bitsOf: (picture: number) => number): Slice {
  const head = unit[0] ?? 0
  const isKey = (head & 31) === keySlice
  return read(unit, (bits) => {
    const [firstBlock, type, picture] = [bits.count(), bits.count(), bits.count()]
    // 5 to 9 are the same types as 0 to 4, if all slices of the frame have that type. 2 and 4 need no other frame.
    if (type > 9 || (isKey && type % 5 !== 2 && type % 5 !== 4)) throw new Doubt(`a slice of type ${type}`)
    const numberBits = bitsOf(picture)
    return { isKey, isReference: (head & 0x60) !== 0, firstBlock, number: bits.read(numberBits), numberBits }
  })
}

function read<Value>(unit: Buffer, fields: (bits: Bits) => Value): Value {
  try {
    return fields(openBits(unit.subarray(1, headBytes)))
  } catch (thrown) {
    throw thrown instanceof RangeError ? new Doubt('a unit that ends too early', { cause: thrown }) : thrown
  }
}

/** The slices of a frame begin with its first block, follow each other, and have the same number. */
function firstOf(slices: readonly Slice[]): Slice {
  const [first] = slices
  if (first?.firstBlock !== 0) throw new Doubt('a frame without its beginning')
  let block = -1
  for (const { isKey, isReference, number, firstBlock } of slices) {
    const isSame = isKey === first.isKey && isReference === first.isReference && number === first.number
    if (!isSame || firstBlock <= block) throw new Doubt('slices that do not belong together')
    block = firstBlock
  }
  return first
}
