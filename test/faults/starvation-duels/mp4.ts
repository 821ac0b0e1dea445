import { box, parameterSet, words } from '../../../src/media/boxes.fixture.ts'

/*
 * H.264 by hand: a grey picture and then pictures that repeat it. Each repeat has a few bytes, whatever its size, and the
 * decoder copies the whole picture for it. So a small file costs a decoder as much as its author likes.
 */
export interface Mp4Options {
  width: number
  height: number
  frames: number
  framesPerSecond?: number
}

/** An MP4 of one track. Width and height have to be multiples of 16. */
export function greyMp4({ width, height, frames, framesPerSecond = 24 }: Mp4Options): Buffer {
  const macroblocks = (width / 16) * (height / 16)
  const parameters = { sps: parameterSet({ width, height }), pps: pictureParameters() }
  const samples = Array.from({ length: frames }, (_, at) =>
    withLength(at === 0 ? key(macroblocks) : repeat(macroblocks, at)),
  )
  const type = box('ftyp', Buffer.from('isom'), words(512), Buffer.from('isomavc1'))
  const mdat = box('mdat', ...samples)
  const header = (offset: number) => movie({ width, height, framesPerSecond, samples, offset, ...parameters })
  const offset = type.length + header(0).length + 8
  return Buffer.concat([type, header(offset), mdat])
}

interface Movie {
  width: number
  height: number
  framesPerSecond: number
  samples: readonly Buffer[]
  /** Of the first sample in the file. */
  offset: number
  sps: Buffer
  pps: Buffer
}

const matrix = Buffer.concat([words(0x10000), words(0, 0, 0), words(0x10000), words(0, 0, 0), words(0x40000000)])

function movie(film: Movie): Buffer {
  const { width, height, framesPerSecond, samples } = film
  const length = samples.length
  const mvhd = full(
    'mvhd',
    0,
    words(0, 0, framesPerSecond, length, 0x10000, 0x01000000, 0, 0),
    matrix,
    words(0, 0, 0, 0, 0, 0, 2),
  )
  const tkhd = full('tkhd', 3, words(0, 0, 1, 0, length, 0, 0, 0, 0), matrix, words(width * 65_536, height * 65_536))
  const mdhd = full('mdhd', 0, words(0, 0, framesPerSecond, length, 0x55c40000))
  const hdlr = full('hdlr', 0, words(0), Buffer.from('vide'), words(0, 0, 0), Buffer.from([0]))
  const dinf = box('dinf', full('dref', 0, words(1), full('url ', 1)))
  const minf = box('minf', full('vmhd', 1, words(0, 0)), dinf, sampleTable(film))
  return box('moov', mvhd, box('trak', tkhd, box('mdia', mdhd, hdlr, minf)))
}

function sampleTable({ width, height, samples, offset, sps, pps }: Movie): Buffer {
  const avcC = box(
    'avcC',
    Buffer.from([1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe1]),
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  )
  const avc1 = box(
    'avc1',
    words(0),
    u16(0, 1),
    words(0, 0, 0, 0),
    u16(width, height),
    words(0x480000, 0x480000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    avcC,
  )
  return box(
    'stbl',
    full('stsd', 0, words(1), avc1),
    full('stts', 0, words(1, samples.length, 1)),
    full('stss', 0, words(1, 1)),
    full('stsc', 0, words(1, 1, samples.length, 1)),
    full('stsz', 0, words(0, samples.length, ...samples.map((sample) => sample.length))),
    full('stco', 0, words(1, offset)),
  )
}

function pictureParameters(): Buffer {
  const bits = new Bits()
  bits.ue(0).ue(0).fixed(0, 2).ue(0).ue(0).ue(0).fixed(0, 3).ue(0).ue(0).ue(0)
  // The deblocking filter is controlled by the slice, which turns it off.
  bits.fixed(0b100, 3)
  return bits.unit(0x68)
}

function key(macroblocks: number): Buffer {
  const bits = new Bits()
  bits.ue(0).ue(7).ue(0).fixed(0, 4).ue(0)
  bits.fixed(0, 2).ue(0).ue(1)
  // Predicted from its neighbours without a correction: mb_type 3, chroma prediction 0, QP delta 0, no coefficients.
  for (let at = 0; at < macroblocks; at += 1) bits.fixed(0b00100111, 8)
  return bits.unit(0x65)
}

function repeat(macroblocks: number, frame: number): Buffer {
  const bits = new Bits()
  bits
    .ue(0)
    .ue(5)
    .ue(0)
    .fixed(frame % 16, 4)
  bits.fixed(0, 3).ue(0).ue(1)
  return bits.ue(macroblocks).unit(0x41)
}

class Bits {
  #bytes: number[] = []
  #last = 0
  #count = 0

  fixed(value: number, width: number): this {
    for (let at = width - 1; at >= 0; at -= 1) {
      this.#last = (this.#last << 1) | ((value >> at) & 1)
      this.#count += 1
      if (this.#count % 8 === 0) this.#bytes.push(this.#last & 0xff)
    }
    return this
  }

  /** Exponential-Golomb, and the signed kind for zero. */
  ue(value: number): this {
    const width = Math.floor(Math.log2(value + 1))
    return this.fixed(0, width).fixed(value + 1, width + 1)
  }

  /** Ended, with that header, and with no start code within. */
  unit(header: number): Buffer {
    this.fixed(1, 1)
    while (this.#count % 8 !== 0) this.fixed(0, 1)
    const escaped = [header]
    let zeros = 0
    for (const byte of this.#bytes) {
      if (zeros >= 2 && byte <= 3) {
        escaped.push(3)
        zeros = 0
      }
      escaped.push(byte)
      zeros = byte === 0 ? zeros + 1 : 0
    }
    return Buffer.from(escaped)
  }
}

function full(name: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(name, words(flags), ...parts)
}

function withLength(unit: Buffer): Buffer {
  return Buffer.concat([words(unit.length), unit])
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2)
  return bytes
}
