import { Problem } from '../core/problem.ts'
import { otherNames } from './spellings/table.ts'

const [quote, backslash] = [0x22, 0x5c]

/** Longer than a prompt of 32 000 characters, each escaped as two `\u....`. */
const longBytes = 512 * 2 ** 10
/** The limit of everything but the long texts. It is parsed at once, and so is a whole body of this size. */
export const maxRestBytes = 2 ** 20
/** Searching for a million quotes takes longer than all other steps. */
const mostQuotes = 200_000
/** Enough for a prompt of escaped backslashes alone. Counting millions would take long. */
const mostBackslashes = 128 * 2 ** 10
/** A piece of this size is read in a few milliseconds. */
const pieceBytes = 64 * 2 ** 10

/**
 * The text of a reference image, as it was sent. `JSON.parse` and the decoder of a form would block every other request
 * while they read it, so it is read in pieces.
 */
export class LongText {
  // Private, so that no message and no log shows megabytes.
  readonly #bytes: Buffer
  /** Whether it has the escapes of JSON. */
  readonly #isEscaped: boolean

  constructor(bytes: Buffer, { isEscaped }: { isEscaped: boolean }) {
    this.#bytes = bytes
    this.#isEscaped = isEscaped
  }

  /** Whether the bytes are the same. One client writes the same text in the same way. */
  equals(other: LongText): boolean {
    return this.#isEscaped === other.#isEscaped && this.#bytes.equals(other.#bytes)
  }

  /** At least the length of all pieces together. */
  get length(): number {
    return this.#bytes.length
  }

  /**
   * Exact for ASCII. Other text may be decoded wrongly, but never to ASCII. Throws a `SyntaxError` for invalid escapes.
   */
  *pieces(): Generator<Buffer> {
    for (let from = 0, to = 0; from < this.#bytes.length; from = to) {
      to = Math.min(from + pieceBytes, this.#bytes.length)
      const piece = this.#bytes.subarray(from, to)
      if (this.#isEscaped && to < this.#bytes.length) to = from + wholeEscapes(piece)
      yield this.#isEscaped ? Buffer.from(JSON.parse(`"${piece.toString('latin1', 0, to - from)}"`)) : piece
    }
  }
}

/** The length of a piece without an escape that is cut at its end. The longest escape is `\uffff`. */
function wholeEscapes(piece: Buffer): number {
  const last = piece.lastIndexOf(backslash)
  if (last < piece.length - 6) return piece.length
  return backslashesBefore(piece, last) % 2 === 0 ? last : piece.length
}

/** Two backslashes are one escape. An odd number escapes the next character. */
function backslashesBefore(bytes: Buffer, at: number): number {
  let first = at
  while (at - first < mostBackslashes && bytes[first - 1] === backslash) first -= 1
  return at - first
}

/** JSON without its long texts, each of which is replaced by a short one. */
interface Lifted {
  rest: Buffer
  texts: readonly LongText[]
}

/** Throws `invalid_json`. */
export function liftTexts(json: Buffer): Lifted {
  if (json.length <= maxRestBytes) return { rest: json, texts: [] }
  const rest: Buffer[] = []
  const texts: LongText[] = []
  let from = 0
  let lifted = 0
  for (const { start, end } of literalsOf(json)) {
    // Already more than is accepted, so the other texts don't matter.
    if (start - lifted > maxRestBytes) break
    if (end - start < longBytes) continue
    rest.push(json.subarray(from, start), Buffer.from(JSON.stringify(nameOf(texts.length))))
    texts.push(new LongText(json.subarray(start + 1, end), { isEscaped: true }))
    lifted += end - start
    from = end + 1
  }
  rest.push(json.subarray(from))
  return { rest: from === 0 ? json : Buffer.concat(rest), texts }
}

/**
 * Puts the texts back where a reference image may be. Throws `body_too_large` if one is elsewhere. `name` is that of
 * the value.
 */
export function returnTexts(value: unknown, name: string, { texts }: Lifted): unknown {
  if (texts.length === 0) return value
  const missing = new Map(texts.map((text, at) => [nameOf(at), text]))
  const put = (field: unknown, name: string, levels: number): unknown => {
    if (typeof field === 'string' && isImageName(name)) {
      const text = missing.get(field)
      missing.delete(field)
      return text ?? field
    }
    if (levels === 0 || typeof field !== 'object' || field === null) return field
    if (Array.isArray(field)) return field.map((one) => put(one, name, levels - 1))
    return Object.fromEntries(Object.entries(field).map(([key, inner]) => [key, put(inner, key, levels - 1)]))
  }
  const whole = put(value, name, deepest)
  if (missing.size > 0) throw tooMuchRest()
  return whole
}

/** As deep as `images: [{image_url: {url}}]` in the object of the body. */
const deepest = 5

export function isImageName(name: string): boolean {
  if (['image', 'input_reference', 'url'].includes(name)) return true
  return Object.hasOwn(otherNames, name) && otherNames[name]?.means === 'first frame'
}

/** A client that sends such a text itself can only refer to its own texts. */
function nameOf(text: number): string {
  return `\0${text}`
}

/** The start and end of each string in JSON, by its quotes. */
function* literalsOf(json: Buffer): Generator<{ start: number; end: number }> {
  let quotes = 0
  let start = -1
  for (let at = json.indexOf(quote); at >= 0; at = json.indexOf(quote, at + 1)) {
    quotes += 1
    if (quotes > mostQuotes) throw new Problem('invalid_json', 'The body has too many values.')
    if (start < 0) start = at
    else {
      const before = backslashesBefore(json, at)
      if (before === mostBackslashes) throw new Problem('invalid_json', 'The body has too many backslashes in a row.')
      if (before % 2 === 1) continue
      yield { start, end: at }
      start = -1
    }
  }
  if (start >= 0) throw new Problem('invalid_json', 'The body is not valid JSON.')
}

export function tooMuchRest(): Problem {
  const message = `The request is too large: everything except the reference image may have up to ${maxRestBytes / 2 ** 20} MiB.`
  return new Problem('body_too_large', message)
}
