import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { connect as connectTls } from 'node:tls'

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
  /** Any certificate is accepted. */
  isTls?: boolean
  /** Additional load from the same process. It is not counted. */
  beside?: { connections: number; requests: readonly string[] }
}

export interface LoadResult {
  perSecond: number
  /** Of bodies, also of those that are not complete at the end. */
  bytesPerSecond: number
  p50Ms: number
  p99Ms: number
  /** Responses other than 2xx. */
  refused: number
}

async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { connections, seconds, requests, beside } = options
  const latencies: number[] = []
  let [bytes, refused] = [0, 0]
  const begin = performance.now()
  const end = begin + seconds * 1000
  // The first tenth warms up and is not counted.
  const counted = begin + seconds * 100

  const runConnection = async (number: number, encoded: readonly Buffer[], count: boolean) => {
    const socket = await openSocket(options)
    const read = reader(socket, (received) => {
      const now = performance.now()
      if (count && now >= counted && now < end) bytes += received
    })
    for (let turn = number * 7919; performance.now() < end; turn += 1) {
      const from = performance.now()
      socket.write(encoded[turn % encoded.length] as Buffer)
      const answer = await read()
      if (from < counted || !count) continue
      latencies.push(performance.now() - from)
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
  const bytesPerSecond = (bytes * 1000) / (end - counted)
  return { perSecond: latencies.length / took, bytesPerSecond, p50Ms: at(0.5), p99Ms: at(0.99), refused }
}

async function openSocket({ port, isTls }: LoadOptions): Promise<Socket> {
  const host = '127.0.0.1'
  const socket = isTls ? connectTls({ port, host, rejectUnauthorized: false }) : connect({ port, host, noDelay: true })
  await new Promise((resolve, reject) =>
    socket.once(isTls ? 'secureConnect' : 'connect', resolve).once('error', reject),
  )
  return socket
}

/** Reads one response at a time. Every server here sends Content-Length. */
function reader(socket: Socket, onBody: (bytes: number) => void): () => Promise<{ status: number }> {
  let head = ''
  let left = -1
  let answer = { status: 0 }
  let done: (answer: { status: number }) => void = () => {}
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
      answer = { status: Number(text.slice(9, 12)) }
      body = chunk.length - (split + 4 - head.length)
      left = length
      head = ''
    }
    onBody(body)
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
