import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/*
 * A closed-loop load generator over bare sockets: each connection sends its next request when the last response is
 * complete. It runs in a process of its own and uses little CPU, so that the server is measured, and not the client.
 */
export interface LoadOptions {
  port: number
  connections: number
  seconds: number
  /** Whole requests, head and body. Each connection sends them in turn, beginning at another one. */
  requests: readonly string[]
  /** Additional load from the same process. It is not counted. */
  beside?: { connections: number; requests: readonly string[] }
}

export interface LoadResult {
  perSecond: number
  bytesPerSecond: number
  p50Ms: number
  p99Ms: number
  /** Responses other than 2xx. */
  refused: number
}

export async function runLoad({ port, connections, seconds, requests, beside }: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  let [bytes, refused] = [0, 0]
  const begin = performance.now()
  const end = begin + seconds * 1000
  // The first tenth warms up and is not counted.
  const counted = begin + seconds * 100

  const runConnection = async (number: number, encoded: readonly Buffer[], count: boolean) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    const read = reader(socket)
    for (let turn = number * 7919; performance.now() < end; turn += 1) {
      const from = performance.now()
      socket.write(encoded[turn % encoded.length] as Buffer)
      const answer = await read()
      if (from < counted || !count) continue
      latencies.push(performance.now() - from)
      bytes += answer.bytes
      if (answer.status < 200 || answer.status > 299) refused += 1
    }
    socket.destroy()
  }
  const group = (size: number, texts: readonly string[], count: boolean) => {
    const encoded = texts.map((text) => Buffer.from(text))
    return Array.from({ length: size }, (_, number) => runConnection(number, encoded, count))
  }
  const others = beside ? group(beside.connections, beside.requests, false) : []
  await Promise.all([...group(connections, requests, true), ...others])
  const took = (performance.now() - counted) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  return { perSecond: latencies.length / took, bytesPerSecond: bytes / took, p50Ms: at(0.5), p99Ms: at(0.99), refused }
}

/** Reads one response at a time. Every server here sends Content-Length. */
function reader(socket: Socket): () => Promise<{ status: number; bytes: number }> {
  let head = ''
  let left = -1
  let answer = { status: 0, bytes: 0 }
  let done: (answer: { status: number; bytes: number }) => void = () => {}
  let fail: (error: Error) => void = () => {}
  socket.on('data', (chunk: Buffer) => {
    let body = chunk.length
    if (left < 0) {
      const text = head + chunk.toString('latin1', 0, 4096)
      const split = text.indexOf('\r\n\r\n')
      if (split < 0) {
        head = text
        return
      }
      const length = Number(/content-length: *(\d+)/i.exec(text)?.[1])
      answer = { status: Number(text.slice(9, 12)), bytes: length }
      body = chunk.length - (split + 4 - head.length)
      left = length
      head = ''
    }
    left -= body
    if (left > 0) return
    left = -1
    done(answer)
  })
  socket.on('error', (error) => fail(error))
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return () =>
    new Promise((resolve, reject) => {
      done = resolve
      fail = reject
    })
}

if (process.send) {
  process.once('message', async (options: LoadOptions) => {
    process.send?.(await runLoad(options))
    process.disconnect()
  })
}
