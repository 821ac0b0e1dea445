/** The job that a film belongs to. */
export interface Mark {
  id: string
  prompt: string
  reference: string | null
}

/* A `free` box at the end of the film: players skip it, and it is stored with the other bytes. */
const label = 'filmgate-mark:'
const boxHead = 8

/** The film of one job: still playable, and different from that of every other job. */
export function markFilm(film: Uint8Array, { id, prompt, reference }: Mark): Uint8Array {
  // Only an MP4 has boxes.
  if (Buffer.from(film.subarray(4, boxHead)).toString('latin1') !== 'ftyp') return film
  const content = Buffer.from(label + JSON.stringify({ id, prompt, reference }))
  const head = Buffer.alloc(boxHead)
  head.writeUInt32BE(boxHead + content.length)
  head.write('free', 4)
  return Buffer.concat([film, head, content])
}

/** The mark of a stored film; undefined if it is not from a simulated job. */
export function markOf(film: Uint8Array): Mark | undefined {
  const begin = markAt(film)
  if (begin === undefined) return undefined
  return JSON.parse(Buffer.from(film.subarray(begin + boxHead + label.length)).toString()) as Mark
}

/** The film that all jobs share. Throws if there is no mark. */
export function withoutMark(film: Uint8Array): Buffer {
  const end = markAt(film)
  if (end === undefined) throw new Error(`these ${film.length} bytes are not from a simulated job`)
  return Buffer.from(film.subarray(0, end))
}

function markAt(film: Uint8Array): number | undefined {
  const bytes = Buffer.from(film.buffer, film.byteOffset, film.byteLength)
  for (let at = 0; at + boxHead <= bytes.length; ) {
    const size = bytes.readUInt32BE(at)
    if (size < boxHead) return undefined
    const isMark = bytes.toString('latin1', at + 4, at + boxHead + label.length) === `free${label}`
    if (isMark && at + size === bytes.length) return at
    at += size
  }
  return undefined
}
