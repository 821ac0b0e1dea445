import type { FileHandle } from 'node:fs/promises'
import { refusal } from './video.ts'

/* An MP4 is made of boxes: a length, four letters, and what is in it, which may be boxes again. */

export interface Box {
  name: string
  /** The box that it is in; empty for an outermost one. */
  parent: string
  /** Where its content begins and ends. */
  start: number
  end: number
}

/**
 * The containers on the way to what is read of a track: where each belongs, and how many bytes of its content come before
 * its boxes. Since each has one place, boxes nest no deeper than this list.
 */
const containers: Readonly<Record<string, { in: string; skip: number }>> = {
  moov: { in: '', skip: 0 },
  trak: { in: 'moov', skip: 0 },
  mdia: { in: 'trak', skip: 0 },
  minf: { in: 'mdia', skip: 0 },
  stbl: { in: 'minf', skip: 0 },
  stsd: { in: 'stbl', skip: 8 },
  avc1: { in: 'stsd', skip: 78 },
  avc3: { in: 'stsd', skip: 78 },
  moof: { in: '', skip: 0 },
  traf: { in: 'moof', skip: 0 },
}

/** Each box before those in it. Throws `unsupported_output` where they are more than that, misplaced, or cut off. */
export async function* walkBoxes(file: FileHandle, size: number, most: number): AsyncGenerator<Box> {
  let count = 0
  const open = [{ name: '', at: 0, end: size }]
  for (let level = open.at(-1); level; level = open.at(-1)) {
    if (level.at + 8 > level.end) {
      open.pop()
      continue
    }
    count += 1
    if (count > most) throw refusal(`It has more than ${most} boxes. Save it anew, without fragments.`)
    const box = await readBox(file, level.at, level)
    level.at = box.end
    yield box
    const container = containers[box.name]
    if (!container) continue
    if (container.in !== box.parent) throw refusal(`It is broken: it has a '${box.name}' box in the wrong place.`)
    open.push({ name: box.name, at: box.start + container.skip, end: box.end })
  }
}

type Level = { name: string; end: number }

async function readBox(file: FileHandle, at: number, { name: parent, end }: Level): Promise<Box> {
  const header = await readBytes(file, at, 16)
  const short = header.readUInt32BE(0)
  // 0: to the end of the file. 1: the size is too large for four bytes, and follows in eight.
  const length = short === 0 ? end - at : short === 1 ? Number(header.readBigUInt64BE(8)) : short
  if (length < (short === 1 ? 16 : 8) || at + length > end)
    throw refusal(at === 0 ? 'It is cut off, or not an MP4 file.' : parent === '' ? 'It is cut off.' : 'It is broken.')
  const start = at + (short === 1 ? 16 : 8)
  return { name: header.toString('latin1', 4, 8), parent, start, end: at + length }
}

/** What the file does not have of them is zero. */
export async function readBytes(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  await file.read(bytes, 0, length, at)
  return bytes
}
