import { type Fields, fieldsOf, problems, unclear } from './responses.ts'

/*
 * Some providers put the film itself into the JSON of a poll: one string of base64, tens of MiB long. It is read from
 * the connection piece by piece, so that neither a poll nor a download ever has the whole of it in memory.
 */

/** Where in a JSON document a value is, by the names of members and the places in lists. */
export type Path = readonly (string | number)[]

type Body = ReadableStream<Uint8Array> | null

/** What a poll needs is short: what is longer is a film, or nothing that we asked for. */
const maxStringBytes = 16_384
const maxKeptBytes = 2 ** 20
const maxReadBytes = 2 ** 29
/** Of the answer, before its film begins. */
const maxBeforeBytes = 2 ** 24
const maxDepth = 100

/** The JSON of an answer, in which every long string is cut off. Throws `provider_unavailable` where it is none. */
export async function readOutline(body: Body): Promise<Fields> {
  const scanner = new Scanner()
  const kept = new Kept()
  let length = 0
  let read = 0
  for await (const chunk of body ?? []) {
    read += chunk.length
    if (read > maxReadBytes) throw unclear('an answer without end')
    for (const { is, bytes } of scanner.read(chunk)) {
      length = is === 'text' || is === 'escape' ? length + bytes.length : 0
      if (length <= maxStringBytes) kept.add(bytes)
      // Half of an escape would be no JSON.
      else if (is === 'text') kept.add(bytes.subarray(0, Math.max(0, bytes.length - length + maxStringBytes)))
    }
  }
  return kept.fields()
}

/**
 * The film that is a string of base64 at that place of the answer, decoded as it comes; `output_unavailable` where
 * there is none any more. What follows it in the answer is not waited for.
 */
export async function filmAt(body: Body, path: Path): Promise<Response> {
  const reader = body?.getReader()
  const films = reader ? decoded(reader, new Finder(path)) : undefined
  let first = await films?.next()
  if (reader === undefined || films === undefined || first?.value === undefined)
    throw problems.gone('an answer in which there is no film')
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = first ?? (await films.next())
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
      if (before > maxBeforeBytes) throw unclear('an answer in which no film begins')
      for (const piece of scanner.read(chunk)) {
        rest += finder.take(piece)
        if (finder.state === 'after') break
      }
      const whole = finder.state === 'after' ? rest.length : rest.length - (rest.length % 4)
      if (whole > 0) yield fromBase64(rest.slice(0, whole))
      if (finder.state === 'after') return
      rest = rest.slice(whole)
    }
    if (finder.state === 'in') throw unclear('an answer that ends within its film')
  } finally {
    // Not waited for: the bytes are there, and what becomes of the rest is no matter.
    reader.cancel().catch(() => {})
  }
}

/** Node reads over what is no base64, and the film would be another. */
function fromBase64(text: string): Uint8Array {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw unclear('a film that is no base64')
  return Buffer.from(text, 'base64')
}

const [quote, backslash, letterU] = [0x22, 0x5c, 0x75]

/** A part of the text: between strings, a quote that opens or closes one, and in one its text and each whole escape. */
interface Piece {
  is: 'between' | 'open' | 'close' | 'text' | 'escape'
  bytes: Uint8Array
}

/** Tells what is a string and what is not, wherever the chunks are cut. All pieces together are what was read. */
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

/** Follows the pieces of a document to the string at one place of it. */
class Finder {
  state: 'before' | 'in' | 'after' = 'before'
  readonly #path: Path
  /** The way to where we are: for each open object the name that was read last, for each list the place. */
  readonly #way: (string | number)[] = []
  #nameIsNext = false
  #name: string | undefined

  constructor(path: Path) {
    this.#path = path
  }

  /** The text of the wanted string that is in this piece. */
  take({ is, bytes }: Piece): string {
    if (is === 'between') for (const byte of bytes) this.#step(String.fromCharCode(byte))
    else if (is === 'open') this.#open()
    else if (is === 'close') this.#close()
    else if (this.state === 'in') return is === 'text' ? latin(bytes) : unescaped(latin(bytes))
    else if (this.#name !== undefined && this.#name.length <= maxStringBytes) this.#name += latin(bytes)
    return ''
  }

  #step(mark: string): void {
    const way = this.#way
    const last = way.at(-1)
    if (mark === '{') way.push('')
    else if (mark === '[') way.push(0)
    else if (mark === '}' || mark === ']') way.pop()
    else if (mark === ',' && typeof last === 'number') way[way.length - 1] = last + 1
    if (way.length > maxDepth) throw unclear('an answer that is too deep')
    if ('{}[],'.includes(mark)) this.#nameIsNext = mark === '{' || (mark === ',' && typeof last === 'string')
  }

  #open(): void {
    if (this.#nameIsNext) this.#name = ''
    else if (this.#way.length === this.#path.length && this.#way.every((step, at) => step === this.#path[at]))
      this.state = 'in'
  }

  #close(): void {
    if (this.state === 'in') this.state = 'after'
    if (this.#name === undefined) return
    this.#way[this.#way.length - 1] = unescaped(this.#name)
    this.#name = undefined
    this.#nameIsNext = false
  }
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** "=" may come as "\u003d", and "/" as "\/". */
function unescaped(text: string): string {
  try {
    return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text
  } catch {
    throw unclear('an answer that is no JSON')
  }
}

/** Copies, because a piece holds on to the whole read that it came in. */
class Kept {
  #bytes = new Uint8Array(4_096)
  #length = 0

  add(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length
    if (needed > maxKeptBytes) throw unclear('an answer that is too long')
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
      throw unclear('an answer that is no JSON')
    }
  }
}
