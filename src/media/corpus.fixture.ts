import { readFile } from 'node:fs/promises'
import { FF_ENCODER_LIBSVTAV1, FF_ENCODER_LIBVPX_VP9, FF_ENCODER_LIBX265 } from 'node-av/constants'
import {
  anyByte,
  changed,
  cut,
  cutAt,
  duration,
  type EncodedFilm,
  flip,
  flipAt,
  flipLastKey,
  fragmentsOf,
  lastOf,
  lastWord,
  later,
  overwrite,
  parameters,
  type Random,
  repairedCut,
  repeatBlock,
  type Sample,
  scrambledHalf,
  withoutFragment,
  withoutLastFragment,
  withoutLastSound,
  word,
  zero,
} from './damage.fixture.ts'
import { black, type Encoding, encode, moving, repeatable, still } from './encode.fixture.ts'
import { isVideo, openVideo } from './video.ts'

/*
 * Kinds of broken videos, and how many of each `full` and `smart` refuse. docs/verification.md has them as a table:
 * run node docs/verification-table.ts after a change here.
 */

const usual: Encoding = { size: { width: 192, height: 108 }, frames: 48, gop: 12, picture: moving }
/** Only H.264 is accepted, so these are never decoded. */
const short: Encoding = { ...usual, frames: 6, gop: 3 }
const fragments = '+frag_keyframe+empty_moov+default_base_moof'

const films = {
  'H.264': usual,
  'H.264, header at the end': { ...usual, movflags: '-faststart' },
  'H.264, fragmented': { ...usual, movflags: fragments },
  'H.264, fragmented, with an index': { ...usual, movflags: `${fragments}+global_sidx` },
  'H.264 with sound': { ...usual, hasSound: true },
  'H.264, 4 slices a frame': { ...usual, options: { ...repeatable, slices: 4 } },
  'H.264, one key frame': { ...usual, gop: 250, options: { ...repeatable, sc_threshold: 0 } },
  'H.264, interlaced': { ...usual, options: { ...repeatable, 'x264-params': 'mbtree=0:rc-lookahead=0:interlaced=1' } },
  'H.264, black': { ...usual, picture: black },
  'H.264, frozen': { ...usual, picture: still },
  'H.264, frozen, one key frame': { ...usual, picture: still, gop: 250 },
  HEVC: { ...short, encoder: FF_ENCODER_LIBX265, options: { 'x265-params': 'log-level=none' } },
  VP9: { ...short, encoder: FF_ENCODER_LIBVPX_VP9, options: { deadline: 'realtime', 'cpu-used': 8 } },
  AV1: { ...short, encoder: FF_ENCODER_LIBSVTAV1, options: { preset: 12 } },
} satisfies Record<string, Encoding>

export type FilmName = keyof typeof films

export async function openFilm(name: FilmName, path: string): Promise<EncodedFilm> {
  await encode(path, films[name])
  await using input = await openVideo(path)
  const video = input.streams.find(isVideo)?.index
  const samples: Sample[] = []
  for (const packet of input.packetsSync()) {
    if (!packet) break
    using sample = packet
    const kind = sample.streamIndex !== video ? 'sound' : sample.isKeyframe ? 'key' : 'other'
    samples.push({ at: Number(sample.pos), size: sample.size, kind })
  }
  return { bytes: await readFile(path), samples }
}

export interface Kind {
  what: string
  film: FilmName
  /** A copy of the film with the damage. */
  damage(film: EncodedFilm, random: Random): Buffer
  /** How often it is tried, each time at another place. Default: 1. */
  tries?: number
  /** How many of them are refused. */
  full: number
  smart: number
  /** What is reported instead, by each mode that notices it. */
  looks?: { full: 'black' | 'frozen'; smart?: 'black' | 'frozen' }
}

const many = 40

export const kinds: readonly Kind[] = [
  { what: 'none', film: 'H.264', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, header at the end', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, fragmented', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, fragmented, with an index', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264 with sound', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, 4 slices a frame', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, interlaced', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'none', film: 'H.264, one key frame', damage: ({ bytes }) => bytes, full: 0, smart: 0 },
  { what: 'cut in the first box', film: 'H.264', damage: cutAt('ftyp', 6), full: 1, smart: 1 },
  { what: 'cut in the header', film: 'H.264', damage: cutAt('stsz', 40), full: 1, smart: 1 },
  { what: 'cut behind the header', film: 'H.264', damage: cutAt('mdat', -4), full: 1, smart: 1 },
  { what: 'cut in the middle', film: 'H.264', damage: cut(0.5), full: 1, smart: 1 },
  { what: 'the last byte is missing', film: 'H.264', damage: ({ bytes }) => bytes.subarray(0, -1), full: 1, smart: 1 },
  {
    what: 'cut at any byte',
    film: 'H.264',
    damage: ({ bytes }, random) => bytes.subarray(0, random(bytes.length)),
    tries: many,
    full: 40,
    smart: 40,
  },
  {
    what: 'cut at any byte',
    film: 'H.264, header at the end',
    damage: ({ bytes }, random) => bytes.subarray(0, random(bytes.length)),
    tries: many,
    full: 40,
    smart: 40,
  },
  { what: 'the header is missing', film: 'H.264, header at the end', damage: cutAt('moov', -4), full: 1, smart: 1 },
  { what: 'cut, and the length of the box corrected', film: 'H.264', damage: repairedCut, full: 1, smart: 1 },
  {
    what: 'the last fragment is missing',
    film: 'H.264, fragmented, with an index',
    damage: withoutLastFragment,
    full: 1,
    smart: 1,
  },
  { what: 'the last fragment is missing', film: 'H.264, fragmented', damage: withoutLastFragment, full: 0, smart: 0 },
  {
    what: 'a fragment in the middle is missing',
    film: 'H.264, fragmented, with an index',
    damage: withoutFragment,
    full: 1,
    smart: 1,
  },
  {
    what: 'a fragment in the middle is missing',
    film: 'H.264, fragmented',
    damage: withoutFragment,
    full: 0,
    smart: 0,
  },
  {
    what: 'cut in the last fragment',
    film: 'H.264, fragmented',
    damage: (film) => film.bytes.subarray(0, (fragmentsOf(film).at(-1) ?? 0) - 100),
    full: 1,
    smart: 1,
  },
  {
    what: '64 bytes are zero, in a key frame',
    film: 'H.264',
    damage: overwrite('key', 64, zero),
    tries: many,
    full: 35,
    smart: 35,
  },
  {
    what: '64 bytes are zero, in another frame',
    film: 'H.264',
    damage: overwrite('other', 64, zero),
    tries: many,
    full: 17,
    smart: 17,
  },
  {
    what: '64 bytes are zero, in another frame',
    film: 'H.264, one key frame',
    damage: overwrite('other', 64, zero),
    tries: many,
    full: 17,
    smart: 17,
  },
  {
    what: '4 bytes are zero, in another frame',
    film: 'H.264',
    damage: overwrite('other', 4, zero),
    tries: many,
    full: 14,
    smart: 14,
  },
  {
    what: 'the second half is zero',
    film: 'H.264',
    damage: (film) => changed(film, (copy) => copy.fill(0, copy.length / 2)),
    full: 1,
    smart: 1,
  },
  {
    what: 'the last frame is zero',
    film: 'H.264',
    damage: (film) =>
      changed(film, (copy) =>
        copy.fill(0, lastOf(film, 'other').at, lastOf(film, 'other').at + lastOf(film, 'other').size),
      ),
    full: 1,
    smart: 1,
  },
  {
    what: '64 random bytes, in a key frame',
    film: 'H.264',
    damage: overwrite('key', 64, anyByte),
    tries: many,
    full: 32,
    smart: 32,
  },
  {
    what: '64 random bytes, in another frame',
    film: 'H.264',
    damage: overwrite('other', 64, anyByte),
    tries: many,
    full: 11,
    smart: 0,
  },
  { what: 'one byte, in a key frame', film: 'H.264', damage: flip('key'), tries: many, full: 31, smart: 31 },
  { what: 'one byte, in the last key frame', film: 'H.264', damage: flipLastKey, tries: many, full: 32, smart: 32 },
  { what: 'one byte, in another frame', film: 'H.264', damage: flip('other'), tries: many, full: 6, smart: 0 },
  {
    what: 'one byte, in another frame',
    film: 'H.264, 4 slices a frame',
    damage: flip('other'),
    tries: many,
    full: 28,
    smart: 0,
  },
  {
    what: 'one byte, in another frame',
    film: 'H.264, fragmented',
    damage: flip('other'),
    tries: many,
    full: 6,
    smart: 0,
  },
  {
    what: 'one bit, in another frame',
    film: 'H.264',
    damage: flip('other', (random) => 1 << random(8)),
    tries: many,
    full: 9,
    smart: 0,
  },
  { what: 'the length of a unit', film: 'H.264', damage: flipAt(3), tries: many, full: 40, smart: 40 },
  { what: 'the type of a unit', film: 'H.264', damage: flipAt(4), tries: many, full: 40, smart: 40 },
  { what: 'the first byte of a slice header', film: 'H.264', damage: flipAt(5), tries: many, full: 39, smart: 38 },
  { what: 'the second byte of a slice header', film: 'H.264', damage: flipAt(6), tries: many, full: 12, smart: 12 },
  {
    what: 'a block of 512 bytes is repeated in place of the next one',
    film: 'H.264',
    damage: repeatBlock,
    tries: many,
    full: 15,
    smart: 5,
  },
  { what: 'the second half is scrambled', film: 'H.264', damage: scrambledHalf, full: 1, smart: 1 },
  {
    what: 'the parameters are those of another size',
    film: 'H.264',
    damage: (film) =>
      parameters(film, (copy, { record }) => copy.writeUInt8(copy.readUInt8(record + 8 + 5) ^ 0x40, record + 8 + 5)),
    full: 1,
    smart: 1,
  },
  {
    what: 'the parameters select another entropy coder',
    film: 'H.264',
    damage: (film) => parameters(film, (copy, { pps }) => copy.writeUInt8(copy.readUInt8(pps + 1) ^ 0x20, pps + 1)),
    full: 1,
    smart: 1,
  },
  {
    what: 'the parameters have another id',
    film: 'H.264',
    damage: (film) => parameters(film, (copy, { pps }) => copy.writeUInt8(copy.readUInt8(pps + 1) ^ 0xc0, pps + 1)),
    full: 1,
    smart: 1,
  },
  {
    what: 'the parameters give lengths of 2 bytes instead of 4',
    film: 'H.264',
    damage: (film) => parameters(film, (copy, { record }) => copy.writeUInt8(0xfd, record + 4)),
    full: 1,
    smart: 1,
  },
  {
    what: 'the parameters are missing',
    film: 'H.264',
    damage: (film) => changed(film, (copy) => copy.write('free', copy.indexOf('avcC'), 'latin1')),
    full: 1,
    smart: 1,
  },
  {
    what: 'the codec is named HEVC',
    film: 'H.264',
    damage: (film) => changed(film, (copy) => copy.write('hvc1', copy.indexOf('avc1', copy.indexOf('stsd')), 'latin1')),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes: one is a byte too small',
    film: 'H.264',
    damage: word('stsz', 20, (now) => now - 1),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes: one is larger than the file',
    film: 'H.264',
    damage: word('stsz', 20, () => 0x7fffffff),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes: 60 million samples',
    film: 'H.264',
    damage: word('stsz', 8, () => 60_000_000),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes: half of the samples',
    film: 'H.264',
    damage: word('stsz', 8, (now) => now / 2),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of times: more frames than there are',
    film: 'H.264',
    damage: word('stts', 8, (now) => now * 2),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of times: frames are hours apart',
    film: 'H.264',
    damage: word('stts', 12, () => 0x7fffffff),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of places: a byte too far',
    film: 'H.264',
    damage: word('stco', 8, (now) => now + 1),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of places: outside of the file',
    film: 'H.264',
    damage: word('stco', 8, (now) => now + 0x10000000),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of chunks: fewer samples in each',
    film: 'H.264',
    damage: word('stsc', 12, (now) => now - 1),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of key frames: a wrong one',
    film: 'H.264',
    damage: word('stss', 12, (now) => now + 1),
    full: 0,
    smart: 0,
  },
  {
    what: 'the table of key frames is missing',
    film: 'H.264',
    damage: (film) => changed(film, (copy) => copy.write('free', copy.indexOf('stss'), 'latin1')),
    full: 0,
    smart: 0,
  },
  {
    what: 'the header of a fragment: more samples than there are',
    film: 'H.264, fragmented',
    damage: word('trun', 4, (now) => now + 5),
    full: 1,
    smart: 1,
  },
  {
    what: 'the header of the last fragment: the place of its samples',
    film: 'H.264, fragmented',
    damage: lastWord('trun', 8, (now) => now ^ 0x08000000),
    full: 1,
    smart: 1,
  },
  {
    what: 'none, but the times are those of a part of a longer video',
    film: 'H.264, fragmented',
    damage: later(20 * 12_288),
    full: 0,
    smart: 0,
  },
  {
    what: 'the duration in the header of a fragmented file: ten times as long',
    film: 'H.264, fragmented',
    damage: duration,
    full: 1,
    smart: 1,
  },
  { what: 'one byte, in the sound', film: 'H.264 with sound', damage: flip('sound'), tries: many, full: 15, smart: 15 },
  {
    what: '64 bytes are zero, in the sound',
    film: 'H.264 with sound',
    damage: overwrite('sound', 64, zero),
    tries: many,
    full: 40,
    smart: 40,
  },
  {
    what: 'the sound after the last frame is cut off, and the length of the box corrected',
    film: 'H.264 with sound',
    damage: withoutLastSound,
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes of the sound: half of the samples',
    film: 'H.264 with sound',
    damage: lastWord('stsz', 8, (now) => now >> 1),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of sizes of the sound: no samples',
    film: 'H.264 with sound',
    damage: lastWord('stsz', 8, () => 0),
    full: 1,
    smart: 1,
  },
  {
    what: 'the table of places of the sound: outside of the file',
    film: 'H.264 with sound',
    damage: lastWord('stco', 8, (now) => now + 0x10000000),
    full: 1,
    smart: 1,
  },
  {
    what: 'a web page instead of the video',
    film: 'H.264',
    damage: () => Buffer.from('<!doctype html><title>502 Bad Gateway</title>'.repeat(100)),
    full: 1,
    smart: 1,
  },
  {
    what: 'a web page behind the video',
    film: 'H.264',
    damage: ({ bytes }) => Buffer.concat([bytes, Buffer.from('<!doctype html><title>502 Bad Gateway</title>')]),
    full: 1,
    smart: 1,
  },
  {
    what: 'every frame is black',
    film: 'H.264, black',
    damage: ({ bytes }) => bytes,
    full: 0,
    smart: 0,
    looks: { full: 'black', smart: 'black' },
  },
  {
    what: 'every frame is the same',
    film: 'H.264, frozen',
    damage: ({ bytes }) => bytes,
    full: 0,
    smart: 0,
    looks: { full: 'frozen', smart: 'frozen' },
  },
  {
    what: 'every frame is the same',
    film: 'H.264, frozen, one key frame',
    damage: ({ bytes }) => bytes,
    full: 0,
    smart: 0,
    looks: { full: 'frozen' },
  },
  { what: 'none', film: 'HEVC', damage: ({ bytes }) => bytes, full: 1, smart: 1 },
  { what: 'cut in the middle', film: 'HEVC', damage: cut(0.5), full: 1, smart: 1 },
  { what: 'one byte, in another frame', film: 'HEVC', damage: flip('other'), tries: 10, full: 10, smart: 10 },
  { what: 'none', film: 'VP9', damage: ({ bytes }) => bytes, full: 1, smart: 1 },
  { what: 'cut in the middle', film: 'VP9', damage: cut(0.5), full: 1, smart: 1 },
  { what: 'one byte, in another frame', film: 'VP9', damage: flip('other'), tries: 10, full: 10, smart: 10 },
  { what: 'none', film: 'AV1', damage: ({ bytes }) => bytes, full: 1, smart: 1 },
  { what: 'cut in the middle', film: 'AV1', damage: cut(0.5), full: 1, smart: 1 },
  { what: 'one byte, in another frame', film: 'AV1', damage: flip('other'), tries: 10, full: 10, smart: 10 },
]
