/* MP4 files built box by box, for tests of hostile files. */

export function box(name: string, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(content.length + 8)
  head.write(name, 4, 'latin1')
  return Buffer.concat([head, content])
}

/** Numbers of four bytes each. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4)
  return bytes
}

const fileType = box('ftyp', Buffer.from('isom'), words(512), Buffer.from('isomiso2avc1mp41'))

/** `trak` boxes, each inside the one before it. */
export function nestedTracks(count: number): Buffer {
  const tracks = Buffer.alloc(count * 8)
  for (let at = 0; at < count; at += 1) {
    tracks.writeUInt32BE((count - at) * 8, at * 8)
    tracks.write('trak', at * 8 + 4, 'latin1')
  }
  return Buffer.concat([fileType, box('moov', tracks)])
}

export function manyTracks(count: number): Buffer {
  return Buffer.concat([fileType, box('moov', Buffer.concat(Array.from({ length: count }, () => box('trak'))))])
}

/** A film whose `udta` box has a fragment that claims to have this many frames: a demuxer allocates memory for each. */
export function hiddenFragment(film: Buffer, frames: number): Buffer {
  const mayHaveFragments = box('mvex', box('trex', words(0, 1, 1, 0, 0, 0)))
  const fragment = box('traf', box('tfhd', words(0, 1)), box('trun', words(0, frames)))
  return withinMovie(film, mayHaveFragments, box('udta', box('moof', box('mfhd', words(0, 1)), fragment)))
}

/** A film with more boxes at the end of its header, so that its frames are not where the header says. */
export function withinMovie(film: Buffer, ...more: readonly Buffer[]): Buffer {
  const at = film.indexOf('moov') - 4
  const end = at + film.readUInt32BE(at)
  return Buffer.concat([film.subarray(0, at), box('moov', film.subarray(at + 8, end), ...more), film.subarray(end)])
}

/** A film with metadata under this many names: a demuxer compares each with all before it. */
export function withNames(film: Buffer, count: number): Buffer {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const names = numbers.map((number) => box('mdta', Buffer.from(`name-${number}`)))
  const values = numbers.map((number) => {
    const value = box('    ', box('data', words(1, 0), Buffer.from('v')))
    value.writeUInt32BE(number, 4)
    return value
  })
  const handler = box('hdlr', words(0, 0), Buffer.from('mdta'), words(0, 0, 0), Buffer.alloc(1))
  return withinMovie(film, box('meta', handler, box('keys', words(0, count), ...names), box('ilst', ...values)))
}

/** A header of sound without compression, each number of which is a sample of 4 bytes, in a file that may have as much. */
export function describedWave(samples: number): { head: Buffer; bytes: number } {
  const table = box('stbl', box('stts', words(0, 1, samples, 1)), box('stsz', words(0, 4, samples)))
  const handler = box('hdlr', words(0, 0), Buffer.from('soun'), words(0, 0, 0))
  const head = Buffer.concat([fileType, box('moov', box('trak', box('mdia', handler, box('minf', table))))])
  const data = Buffer.alloc(8)
  data.writeUInt32BE(8 + 4 * samples)
  data.write('mdat', 4, 'latin1')
  return { head: Buffer.concat([head, data]), bytes: head.length + 8 + 4 * samples }
}

export interface Described {
  /** In the box around the header of the stream. */
  size: { width: number; height: number }
  /** In the header of the stream itself. */
  coded?: { width: number; height: number }
  seconds?: number
  frames?: number
}

/** A header without a video. It must be refused by what it claims. */
export function described({ size, coded = size, seconds = 1, frames = 24 }: Described): Buffer {
  const visual = Buffer.alloc(78)
  visual.writeUInt16BE(size.width, 24)
  visual.writeUInt16BE(size.height, 26)
  const samples = box('stbl', box('stsd', words(0, 1), box('avc1', visual, configuration(coded))), table(frames))
  const handler = box('hdlr', words(0, 0), Buffer.from('vide'), words(0, 0, 0))
  const length = box('mdhd', words(0, 0, 0, 1000, seconds * 1000, 0))
  const media = box('mdia', length, handler, box('minf', samples))
  return Buffer.concat([fileType, box('moov', box('trak', media)), Buffer.alloc(frames * 4)])
}

/** Each frame has one byte. */
function table(frames: number): Buffer {
  return box('stsz', words(0, 1, frames))
}

function configuration(size: { width: number; height: number }): Buffer {
  const sps = parameterSet(size)
  const head = Buffer.from([1, 66, 0, 62, 0xff, 0xe1, 0, sps.length])
  return box('avcC', head, sps, Buffer.from([0]))
}

/** A sequence parameter set of the baseline profile. */
export function parameterSet({ width, height }: { width: number; height: number }): Buffer {
  const count = (value: number) => {
    const digits = (value + 1).toString(2)
    return '0'.repeat(digits.length - 1) + digits
  }
  const fields = [count(0), count(0), count(2), count(1), '0', count(width / 16 - 1), count(height / 16 - 1), '11001']
  const bits = fields.join('')
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0')
  const body = (padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))
  return Buffer.from([0x67, 66, 0, 62, ...body])
}
