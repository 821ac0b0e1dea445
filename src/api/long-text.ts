import { Problem } from '../core/problem.ts'
import { otherNames } from './spellings/table.ts'

const [quote, backslash] = [0x22, 0x5c]

/** A prompt of 32 000 characters, each escaped as two of `\u....`, is shorter. */
const longBytes = 512 * 2 ** 10
/** Of all that is not a long text. It is parsed at once, as is a whole body of this size. */
export const maxRestBytes = 2 ** 20
/** A search for each of a million quotes takes longer than all other steps. */
const mostQuotes = 200_000
/** A prompt may be all backslashes, each of them escaped. To count millions takes long itself. */
const mostBackslashes = 128 * 2 ** 10
/** Read in a few milliseconds. */
const pieceBytes = 64 * 2 ** 10

/**
 * The text of a reference image, as it came. `JSON.parse` and the decoder of a form would block every other request
 * while they read it, so that it is read in pieces.
 */
export class LongText {
  // Private, so that no message and no log shows megabytes.
  readonly #bytes: Buffer
  /** Whether it is written as in JSON. */
  readonly #isEscaped: boolean

  constructor(bytes: Buffer, { isEscaped }: { isEscaped: boolean }) {
    this.#bytes = bytes
    this.#isEscaped = isEscaped
  }

  /** Whether it is written in the same way, which the same client does. */
  equals(other: LongText): boolean {
    return this.#isEscaped === other.#isEscaped && this.#bytes.equals(other.#bytes)
  }

  /** At least as long as what the pieces have together. */
  get length(): number {
    return this.#bytes.length
  }

  /** Right as long as it is ASCII, and else not ASCII. Throws a `SyntaxError` where it can't be part of JSON. */
  *pieces(): Generator<Buffer> {
    for (let from = 0, to = 0; from < this.#bytes.length; from = to) {
      to = Math.min(from + pieceBytes, this.#bytes.length)
      const piece = this.#bytes.subarray(from, to)
      if (this.#isEscaped && to < this.#bytes.length) to = from + wholeEscapes(piece)
      yield this.#isEscaped ? Buffer.from(JSON.parse(`"${piece.toString('latin1', 0, to - from)}"`)) : piece
    }
  }
}

/** How much of a piece is left without an escape that goes on behind it. The longest is `\uffff`. */
function wholeEscapes(piece: Buffer): number {
  const last = piece.lastIndexOf(backslash)
  if (last < piece.length - 6) return piece.length
  return backslashesBefore(piece, last) % 2 === 0 ? last : piece.length
}

/** Two of them are one escape: an odd number escapes what follows. */
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
    // More than is accepted: the others make no difference.
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

/** Puts them where a reference image may be. Throws `body_too_large` if one is elsewhere. `name`: of the value itself. */
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

/** `images: [{image_url: {url}}]` in the object of the body. */
const deepest = 5

export function isImageName(name: string): boolean {
  if (['image', 'input_reference', 'url'].includes(name)) return true
  return Object.hasOwn(otherNames, name) && otherNames[name]?.means === 'first frame'
}

/** A client that writes it itself names only its own text. */
function nameOf(text: number): string {
  return `\0${text}`
}

/** Where the texts of JSON begin and end, by their quotes. */
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
  const message = `The request is too large: all that is not the reference image may have up to ${maxRestBytes / 2 ** 20} MiB.`
  return new Problem('body_too_large', message)
}
