/* How videos break. Each damage works on a copy. */

export interface Sample {
  at: number
  size: number
  kind: 'key' | 'other' | 'sound'
}

export interface EncodedFilm {
  bytes: Buffer
  samples: readonly Sample[]
}

/** A number from 0 to below this. */
export type Random = (below: number) => number

export const cut = (share: number) => (film: EncodedFilm) =>
  film.bytes.subarray(0, Math.floor(film.bytes.length * share))
export const cutAt =
  (name: string, more: number) =>
  ({ bytes }: EncodedFilm) =>
    bytes.subarray(0, bytes.lastIndexOf(name) + more)

export const changed = ({ bytes }: EncodedFilm, change: (copy: Buffer) => void): Buffer => {
  const copy = Buffer.from(bytes)
  change(copy)
  return copy
}

/** A number of four bytes, this many bytes after the name of a box. */
export const word =
  (box: string, after: number, value: (now: number) => number) =>
  (film: EncodedFilm): Buffer =>
    changed(film, (copy) => {
      const at = film.bytes.indexOf(box) + 4 + after
      copy.writeUInt32BE(value(copy.readUInt32BE(at)), at)
    })

/** The same for the last box of that name: of the sound, or of the last fragment. */
export const lastWord =
  (box: string, after: number, value: (now: number) => number) =>
  (film: EncodedFilm): Buffer =>
    changed(film, (copy) => {
      const at = film.bytes.lastIndexOf(box) + 4 + after
      copy.writeUInt32BE(value(copy.readUInt32BE(at)), at)
    })

/** All fragments are later by this many units of time, as in a part of a longer video. */
export const later =
  (units: number) =>
  ({ bytes }: EncodedFilm): Buffer => {
    const copy = Buffer.from(bytes)
    for (let at = copy.indexOf('tfdt'); at >= 0; at = copy.indexOf('tfdt', at + 4))
      copy.writeUInt32BE(copy.readUInt32BE(at + 12) + units, at + 12)
    return copy
  }

/** What follows the last frame is cut off: only sound. The length of the box is corrected. */
export const withoutLastSound = (film: EncodedFilm): Buffer => {
  const end = Math.max(...film.samples.filter(({ kind }) => kind !== 'sound').map(({ at, size }) => at + size))
  const rest = Buffer.from(film.bytes.subarray(0, end))
  const at = rest.indexOf('mdat') - 4
  rest.writeUInt32BE(rest.length - at, at)
  return rest
}

const pick = ({ samples }: EncodedFilm, kind: Sample['kind'], random: Random): Sample => {
  const chosen = samples.filter((sample) => sample.kind === kind)
  const sample = chosen[random(chosen.length)]
  if (!sample) throw new Error(`the film has no ${kind} sample`)
  return sample
}

/** The length before each unit, its header, and most of a slice header. */
const headBytes = 8

/** One byte of a sample, behind its headers. */
export const flip =
  (kind: Sample['kind'], mask: (random: Random) => number = (random) => 1 + random(255)) =>
  (film: EncodedFilm, random: Random): Buffer =>
    changed(film, (copy) => {
      const { at, size } = pick(film, kind, random)
      const place = at + headBytes + random(Math.max(1, size - headBytes))
      copy[place] = (copy[place] ?? 0) ^ mask(random)
    })

/** One byte at this place of a sample. */
export const flipAt =
  (place: number) =>
  (film: EncodedFilm, random: Random): Buffer =>
    changed(film, (copy) => {
      const { at } = pick(film, 'other', random)
      copy[at + place] = (copy[at + place] ?? 0) ^ (1 + random(255))
    })

export const overwrite =
  (kind: Sample['kind'], bytes: number, value: (random: Random) => number) =>
  (film: EncodedFilm, random: Random): Buffer =>
    changed(film, (copy) => {
      const { at, size } = pick(film, kind, random)
      const length = Math.min(bytes, size - headBytes)
      const from = at + headBytes + random(size - headBytes - length + 1)
      for (let place = from; place < from + length; place += 1) copy[place] = value(random)
    })

export const zero = () => 0
export const anyByte = (random: Random) => random(256)

export const lastOf = ({ samples }: EncodedFilm, kind: Sample['kind']): Sample => {
  const sample = samples.findLast((each) => each.kind === kind)
  if (!sample) throw new Error(`the film has no ${kind} sample`)
  return sample
}

/** Where each fragment begins, and where the last one ends. */
export const fragmentsOf = ({ bytes }: EncodedFilm): number[] => {
  const starts: number[] = []
  for (let at = bytes.indexOf('moof'); at >= 0; at = bytes.indexOf('moof', at + 4)) starts.push(at - 4)
  const end = bytes.indexOf('mfra')
  return [...starts, end < 0 ? bytes.length : end - 4]
}

export const withoutLastFragment = (film: EncodedFilm) => film.bytes.subarray(0, fragmentsOf(film).at(-2))

export const withoutFragment = (film: EncodedFilm): Buffer => {
  const [, from, to] = fragmentsOf(film)
  return Buffer.concat([film.bytes.subarray(0, from), film.bytes.subarray(to)])
}

/** The samples are cut off, and the box around them is as long as what is left. */
export const repairedCut = (film: EncodedFilm): Buffer => {
  const rest = Buffer.from(cut(0.7)(film))
  const at = rest.indexOf('mdat') - 4
  rest.writeUInt32BE(rest.length - at, at)
  return rest
}

/** The parameter sets in `avcC`: after its version, profile, level, length and number of sets, and the length of the first. */
export const parameters = (film: EncodedFilm, change: (copy: Buffer, at: { record: number; pps: number }) => void) =>
  changed(film, (copy) => {
    const record = film.bytes.indexOf('avcC') + 4
    change(copy, { record, pps: record + 8 + copy.readUInt16BE(record + 6) + 3 })
  })

export const flipLastKey = (film: EncodedFilm, random: Random): Buffer =>
  flip('key')({ ...film, samples: [lastOf(film, 'key')] }, random)

/** As a cache that mixes up its blocks. */
export const repeatBlock = (film: EncodedFilm, random: Random): Buffer =>
  changed(film, (copy) => {
    const from = copy.indexOf('mdat') + 4
    const at = from + 512 * random(Math.floor((copy.length - from) / 512) - 2)
    copy.copy(copy, at + 512, at, at + 512)
  })

/** The same length, and other bytes. */
export const scrambledHalf = (film: EncodedFilm): Buffer =>
  changed(film, (copy) => {
    for (let at = Math.floor(copy.length / 2); at < copy.length; at += 1) copy[at] = (film.bytes[at] ?? 0) ^ 0x5a
  })

/** In the headers of the film and of its track. */
export const duration = (film: EncodedFilm): Buffer =>
  changed(film, (copy) => {
    for (const [box, scale] of [
      ['mvhd', 12],
      ['mdhd', 12],
    ] as const) {
      const at = copy.indexOf(box) + 4
      copy.writeUInt32BE(20 * copy.readUInt32BE(at + scale), at + scale + 4)
    }
  })
