import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { Problem } from '../core/problem.ts'
import type { Exchange, Head } from './exchange.ts'

const FIRST_BUFFER_BYTES = 65_536
const WITHOUT_BODY = new Set([204, 205, 304])
const decoders = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
  rawDeflate: promisify(inflateRaw),
}

/** JSON.parse quotes what it can't read, and an upstream may send a key back to us: what was seen is said without that. */
function answerOf(body: ConstructorParameters<typeof Response>[0], { status, headers }: Head): Response {
  const answer = new Response(body, { status, headers })
  const json = async (): Promise<unknown> => {
    const text = await answer.text()
    try {
      return JSON.parse(text)
    } catch {
      const cause = new Error(`${status}, with ${text === '' ? 'nothing' : 'something else than JSON'} in it`)
      const message = 'The provider gave an answer that can not be read.'
      throw new Problem('provider_unavailable', message, { cause, retryable: true })
    }
  }
  return Object.assign(answer, { json })
}

/** The first bytes of a body, and whether that is all of it. Stops reading where it is not. */
export async function collect(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; whole: boolean }> {
  // Copied, not kept in pieces: each piece holds on to the whole read that it came in, so that tiny chunks with long
  // chunk extensions would cost many times the bytes that are counted here.
  let buffer = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, maxBytes))
  let length = 0
  for await (const chunk of body) {
    const needed = length + chunk.length
    if (needed > buffer.length) {
      const larger = new Uint8Array(Math.min(maxBytes, Math.max(needed, buffer.length * 2)))
      larger.set(buffer.subarray(0, length))
      buffer = larger
    }
    if (needed > maxBytes) {
      buffer.set(chunk.subarray(0, maxBytes - length), length)
      return { bytes: buffer, whole: false }
    }
    buffer.set(chunk, length)
    length = needed
  }
  return { bytes: buffer.slice(0, length), whole: true }
}

/** The whole answer in memory, decoded; fails if it is larger than that, encoded or decoded. */
export async function wholeAnswer(exchange: Exchange, maxBytes: number): Promise<Response> {
  const { status, headers } = await exchange.head()
  const { bytes, whole } = await collect(exchange.body(), maxBytes)
  if (!whole) throw new Error(`the answer is larger than ${maxBytes} bytes`)
  const decoded = await decode(bytes, headers.get('content-encoding') ?? '', maxBytes)
  headers.delete('content-encoding')
  return inMemory(status, headers, decoded)
}

/** An answer whose status says it all: whatever becomes of its body is no reason to lose that. */
export async function answerByStatus(
  exchange: Exchange,
  { status, headers }: Head,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Response> {
  return wholeAnswer(exchange, maxBytes).catch(() => {
    signal.throwIfAborted()
    headers.delete('content-encoding')
    return inMemory(status, headers, new Uint8Array())
  })
}

/** The beginning of an answer of which only the status matters: a body that breaks off is no reason to lose that. */
export async function startOfAnswer(
  exchange: Exchange,
  { status, headers }: Head,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Response> {
  const start = await collect(exchange.body(), maxBytes).catch(() => {
    signal.throwIfAborted()
    return { bytes: new Uint8Array() }
  })
  return inMemory(status, headers, start.bytes)
}

/** The answer with its body still to come: it is read from the connection only as fast as it is read from here. */
export function liveAnswer(
  exchange: Exchange,
  { status, headers }: Head,
  closeMs: number,
  explain: (thrown: unknown) => unknown,
): Response {
  const chunks = exchange.body(closeMs)
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        exchange.onAbort = (reason) => controller.error(explain(reason))
      },
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (thrown) {
          controller.error(explain(thrown))
        }
      },
      cancel(reason) {
        exchange.end(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return answerOf(stream, { status, headers })
}

function inMemory(status: number, headers: Headers, bytes: Uint8Array<ArrayBuffer>): Response {
  // They speak of the bytes as they were on the wire.
  headers.delete('content-length')
  headers.delete('transfer-encoding')
  return answerOf(WITHOUT_BODY.has(status) ? null : bytes, { status, headers })
}

async function decode(
  bytes: Uint8Array<ArrayBuffer>,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length === 0) return bytes
  const limit = { maxOutputLength: maxBytes }
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return bytes
    case 'gzip':
    case 'x-gzip':
      return await decoders.gzip(bytes, limit)
    case 'br':
      return await decoders.br(bytes, limit)
    case 'deflate':
      // Some servers leave out the wrapper that the standard wants; its first byte says 8, for deflate.
      return await ((bytes[0] ?? 0) % 16 === 8 ? decoders.deflate : decoders.rawDeflate)(bytes, limit)
    default:
      throw new Error('the answer is in an encoding that we did not ask for and can not read')
  }
}
