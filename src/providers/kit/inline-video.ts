import { type Fields, fieldsOf, problems, unclear } from './responses.ts'

/*
 * Some providers put the video itself into the JSON of a poll, as one base64 string of tens of MiB. It is read from the
 * connection in chunks, so that neither a poll nor a download ever holds all of it in memory.
 */

/** Where a value is in a JSON document, by member names and list indexes. */
export type Path = readonly (string | number)[]

/** The path in a stored output. */
export function readPath(value: unknown): Path {
  const isStep = (step: unknown) => typeof step === 'string' || typeof step === 'number'
  if (Array.isArray(value) && value.every(isStep)) return value
  throw problems.gone('an output without a path')
}

type Body = ReadableStream<Uint8Array> | null

/** Every string that a poll needs is shorter. A longer one is the video, or irrelevant. */
const maxStringBytes = 16_384
const maxKeptBytes = 2 ** 20
const maxReadBytes = 2 ** 29
/** Of the response, before its video begins. */
const maxBeforeBytes = 2 ** 24
const maxDepth = 100

/** The JSON of a response, with every long string cut off. Throws `provider_unavailable` if it is not JSON. */
export async function readOutline(body: Body): Promise<Fields> {
  const scanner = new Scanner()
  const kept = new Kept()
  let length = 0
  let read = 0
  for await (const chunk of body ?? []) {
    read += chunk.length
    if (read > maxReadBytes) throw unclear('a response longer than 512 MiB')
    for (const { is, bytes } of scanner.read(chunk)) {
      length = is === 'text' || is === 'escape' ? length + bytes.length : 0
      if (length <= maxStringBytes) kept.add(bytes)
      // Half of an escape would not be JSON.
      else if (is === 'text') kept.add(bytes.subarray(0, Math.max(0, bytes.length - length + maxStringBytes)))
    }
  }
  return kept.fields()
}

/**
 * The video that is a base64 string at that path of the response, decoded as it arrives. Throws `output_unavailable` if it
 * is not there any more. The rest of the response is not waited for.
 */
export async function videoAt(body: Body, path: Path): Promise<Response> {
  const reader = body?.getReader()
  const pieces = reader ? decoded(reader, new Finder(path)) : undefined
  let first = await pieces?.next()
  if (reader === undefined || pieces === undefined || first?.value === undefined)
    throw problems.gone('a response without a video')
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = first ?? (await pieces.next())
        first = undefined
        if (value) controller.enqueue(value)
        else controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: { 'content-type': 'video/mp4' } })
}

async function* decoded(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  finder: Finder,
): AsyncGenerator<Uint8Array, undefined> {
  const scanner = new Scanner()
  let rest = ''
  let before = 0
  try {
    for (let { value: chunk } = await reader.read(); chunk; { value: chunk } = await reader.read()) {
      if (finder.state === 'before') before += chunk.length
      if (before > maxBeforeBytes) throw unclear('a response without a video in its first 16 MiB')
      for (const piece of scanner.read(chunk)) {
        rest += finder.take(piece)
        if (finder.state === 'after') break
      }
      const whole = finder.state === 'after' ? rest.length : rest.length - (rest.length % 4)
      if (whole > 0) yield fromBase64(rest.slice(0, whole))
      if (finder.state === 'after') return
      rest = rest.slice(whole)
    }
    if (finder.state === 'in') throw unclear('a response that ends inside its video')
  } finally {
    // Not awaited: all bytes of the video are read, and the rest does not matter.
    reader.cancel().catch(() => {})
  }
}

/** Node silently skips characters that are not base64, which would change the video. */
function fromBase64(text: string): Uint8Array {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw unclear('a video that is not base64')
  return Buffer.from(text, 'base64')
}

const [quote, backslash, letterU] = [0x22, 0x5c, 0x75]

/** A part of the document: text between strings, an opening or closing quote, text inside a string, or a whole escape. */
interface Piece {
  is: 'between' | 'open' | 'close' | 'text' | 'escape'
  bytes: Uint8Array
}

/** Splits a document into pieces, wherever the chunks are cut. All pieces together are the bytes that were read. */
class Scanner {
  #inString = false
  #escape: number[] = [];

  *read(chunk: Uint8Array): Generator<Piece> {
    let at = 0
    while (at < chunk.length) {
      const byte = chunk[at] ?? 0
      if (this.#escape.length > 0 || (this.#inString && byte === backslash)) {
        this.#escape.push(byte)
        at += 1
        if (this.#escape.length !== (this.#escape[1] === letterU ? 6 : 2)) continue
        yield { is: 'escape', bytes: Uint8Array.from(this.#escape) }
        this.#escape = []
      } else if (byte === quote) {
        this.#inString = !this.#inString
        at += 1
        yield { is: this.#inString ? 'open' : 'close', bytes: Uint8Array.of(quote) }
      } else {
        const start = at
        while (at < chunk.length && chunk[at] !== quote && !(this.#inString && chunk[at] === backslash)) at += 1
        yield { is: this.#inString ? 'text' : 'between', bytes: chunk.subarray(start, at) }
      }
    }
  }
}

/** Follows the pieces of a document to the string at one path. */
class Finder {
  state: 'before' | 'in' | 'after' = 'before'
  readonly #path: Path
  /** The current path: for each open object the last member name, for each open list the index. */
  readonly #current: (string | number)[] = []
  #nameIsNext = false
  #name: string | undefined

  constructor(path: Path) {
    this.#path = path
  }

  /** The part of the wanted string that this piece has. */
  take({ is, bytes }: Piece): string {
    if (is === 'between') for (const byte of bytes) this.#step(String.fromCharCode(byte))
    else if (is === 'open') this.#open()
    else if (is === 'close') this.#close()
    else if (this.state === 'in') return is === 'text' ? latin(bytes) : unescaped(latin(bytes))
    else if (this.#name !== undefined && this.#name.length <= maxStringBytes) this.#name += latin(bytes)
    return ''
  }

  #step(mark: string): void {
    const current = this.#current
    const last = current.at(-1)
    if (mark === '{') current.push('')
    else if (mark === '[') current.push(0)
    else if (mark === '}' || mark === ']') current.pop()
    else if (mark === ',' && typeof last === 'number') current[current.length - 1] = last + 1
    if (current.length > maxDepth) throw unclear('a response with more than 100 levels')
    if ('{}[],'.includes(mark)) this.#nameIsNext = mark === '{' || (mark === ',' && typeof last === 'string')
  }

  #open(): void {
    if (this.#nameIsNext) this.#name = ''
    else if (this.#current.length === this.#path.length && this.#current.every((step, at) => step === this.#path[at]))
      this.state = 'in'
  }

  #close(): void {
    if (this.state === 'in') this.state = 'after'
    if (this.#name === undefined) return
    this.#current[this.#current.length - 1] = unescaped(this.#name)
    this.#name = undefined
    this.#nameIsNext = false
  }
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** "=" may be written as "\u003d", and "/" as "\/". */
function unescaped(text: string): string {
  try {
    return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text
  } catch {
    throw unclear('a response that is not JSON')
  }
}

/** Keeps copies, because a piece keeps its whole chunk in memory. */
class Kept {
  #bytes = new Uint8Array(4_096)
  #length = 0

  add(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length
    if (needed > maxKeptBytes) throw unclear('a response longer than 1 MiB, not counting its video')
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = needed
  }

  fields(): Fields {
    try {
      return fieldsOf(JSON.parse(new TextDecoder().decode(this.#bytes.subarray(0, this.#length))))
    } catch {
      throw unclear('a response that is not JSON')
    }
  }
}
