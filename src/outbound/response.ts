import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { Problem } from '../core/problem.ts'
import type { Exchange, Head } from './exchange.ts'

/** Most responses are shorter. A larger buffer grows by doubling. */
const FIRST_BUFFER_BYTES = 4_096
const WITHOUT_BODY = new Set([204, 205, 304])
const decoders = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
  rawDeflate: promisify(inflateRaw),
}

/** Unlike JSON.parse, its `json` does not quote the body in errors: an upstream may echo a key. */
function responseOf(body: ConstructorParameters<typeof Response>[0], { status, headers }: Head): Response {
  const response = new Response(body, { status, headers })
  const json = async (): Promise<unknown> => {
    const text = await response.text()
    try {
      return JSON.parse(text)
    } catch {
      const cause = new Error(`status ${status} with ${text === '' ? 'an empty body' : 'a body that is not JSON'}`)
      const message = 'The provider returned a response that cannot be read.'
      throw new Problem('provider_unavailable', message, { cause, retryable: true })
    }
  }
  return Object.assign(response, { json })
}

/** The first `maxBytes` of a body, and whether that is all of it. Stops reading if it is not. */
export async function collect(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; whole: boolean }> {
  // Copied, because each chunk keeps the whole read buffer that it came in: tiny chunks with long chunk extensions
  // would take many times the memory that is counted here.
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

/** The whole response in memory, decoded. Fails if it is larger than `maxBytes`, encoded or decoded. */
export async function bufferedResponse(exchange: Exchange, maxBytes: number): Promise<Response> {
  const { status, headers } = await exchange.head()
  const { bytes, whole } = await collect(exchange.body(), maxBytes)
  if (!whole) throw new Error(`the response is larger than ${maxBytes} bytes`)
  const decoded = await decode(bytes, headers.get('content-encoding') ?? '', maxBytes)
  headers.delete('content-encoding')
  return inMemory(status, headers, decoded)
}

/** For a response whose status decides: if its body cannot be read, the status is returned with an empty body. */
export async function responseByStatus(
  exchange: Exchange,
  { status, headers }: Head,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Response> {
  return bufferedResponse(exchange, maxBytes).catch(() => {
    signal.throwIfAborted()
    headers.delete('content-encoding')
    return inMemory(status, headers, new Uint8Array())
  })
}

/** The same with only the first `maxBytes` of the body, not decoded. */
export async function truncatedResponse(
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

/** The response with its body as a stream: the connection is read only as fast as the stream is. It has its `url`. */
export function streamedResponse(
  exchange: Exchange,
  { status, headers }: Head,
  { url, closeMs }: { url: URL; closeMs: number },
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
  // As `fetch` sets it: the address after redirects.
  return Object.defineProperty(responseOf(stream, { status, headers }), 'url', { value: url.href })
}

function inMemory(status: number, headers: Headers, bytes: Uint8Array<ArrayBuffer>): Response {
  // They describe the bytes as they were on the wire.
  headers.delete('content-length')
  headers.delete('transfer-encoding')
  return responseOf(WITHOUT_BODY.has(status) ? null : bytes, { status, headers })
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
      // Some servers omit the zlib wrapper that the standard requires. Its first byte ends with 8, for deflate.
      return await ((bytes[0] ?? 0) % 16 === 8 ? decoders.deflate : decoders.rawDeflate)(bytes, limit)
    default:
      throw new Error('the response has a content-encoding that was not requested and cannot be decoded')
  }
}
