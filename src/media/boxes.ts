import { type FileHandle, open } from 'node:fs/promises'
import { refusal } from './video.ts'

/*
 * An MP4 is made of boxes: a length, four letters, and what is in it. Some are looked at before the decoder sees the file,
 * since it believes what they say.
 */

interface Box {
  name: string
  /** Where what is in it begins and ends. */
  start: number
  end: number
}

/** The way to a track's table of samples. */
const parents = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl'])

/** Two minutes of sound have that many at most; the decoder takes 50 bytes for each that a file claims to have. */
const mostSamples = 2_000_000

/**
 * The outermost boxes must end within the file: the decoder does not miss the last bytes of a header at the end. And no
 * track may claim more samples than the file has bytes for: a few kilobytes could make the decoder take gigabytes.
 */
export async function checkBoxes(path: string): Promise<void> {
  await using file = await open(path)
  const { size } = await file.stat()
  await walk(file, { name: '', start: 0, end: size }, size)
}

async function walk(file: FileHandle, parent: Box, size: number): Promise<void> {
  for (let at = parent.start; at + 8 <= parent.end; ) {
    const box = await readBox(file, at, parent)
    if (parents.has(box.name)) await walk(file, box, size)
    if (box.name === 'stsz' || box.name === 'stz2') await checkSamples(file, box, size)
    at = box.end
  }
}

async function readBox(file: FileHandle, at: number, { name: parent, end }: Box): Promise<Box> {
  const header = Buffer.alloc(16)
  await file.read(header, 0, 16, at)
  const short = header.readUInt32BE(0)
  // 0: to the end of the file. 1: the size is too large for four bytes, and follows in eight.
  const length = short === 0 ? end - at : short === 1 ? Number(header.readBigUInt64BE(8)) : short
  if (length < 8 || at + length > end)
    throw refusal(at === 0 ? 'It is cut off, or not an MP4 file.' : parent === '' ? 'It is cut off.' : 'It is broken.')
  return { name: header.toString('latin1', 4, 8), start: at + (short === 1 ? 16 : 8), end: at + length }
}

/** Either one size for all, or a table of sizes; together they can't be more than there is. */
async function checkSamples(file: FileHandle, { name, start, end }: Box, size: number): Promise<void> {
  const head = Buffer.alloc(12)
  await file.read(head, 0, 12, start)
  const each = name === 'stsz' ? head.readUInt32BE(4) : 0
  const count = head.readUInt32BE(8)
  if (count > mostSamples) throw refusal(`It claims to have ${count} pictures or pieces of sound.`)
  if (each > 0) return refuseMore(each * count, size)
  if (name === 'stz2') return
  const table = Buffer.alloc(Math.min(count * 4, Math.max(0, end - start - 12)))
  await file.read(table, 0, table.length, start + 12)
  let sum = 0
  for (let at = 0; at + 4 <= table.length; at += 4) sum += table.readUInt32BE(at)
  refuseMore(sum, size)
}

function refuseMore(claimed: number, size: number): void {
  if (claimed > size) throw refusal('It claims to have more in it than there is.')
}
