import { connect } from 'node:net'

/** The bytes that came back, and how the connection ended within a second of silence. */
export interface Exchange {
  bytes: Buffer
  drops: number
  ending: 'closed' | 'reset' | 'refused' | 'silent' | 'endless'
}

const patienceMs = 1_000
/** More than any fault sends, except an endless one. */
const enoughBytes = 2 ** 23

/** Sends one request as bytes on its own connection, because a client library would hide details. */
export function exchange(port: number, request: string): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>()
  const chunks: Buffer[] = []
  let length = 0
  const socket = connect(port, '127.0.0.1', () => socket.write(request))
  const end = (ending: Exchange['ending']) => {
    socket.destroy()
    resolve({ bytes: Buffer.concat(chunks), drops: chunks.length, ending })
  }
  socket.setTimeout(patienceMs, () => end('silent'))
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    length += chunk.length
    if (length > enoughBytes) end('endless')
  })
  socket.on('end', () => end('closed'))
  socket.on('error', (error) => end('code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'reset'))
  return promise
}

export function requestOf(line: string, headers: Record<string, string> = {}, body = ''): string {
  const all = { host: 'simulator', connection: 'close', 'content-length': `${Buffer.byteLength(body)}`, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** An exchange in one line: status, some headers, whether Content-Length is true, the ending, and the first bytes. */
export function pictureOf({ bytes, drops, ending }: Exchange): string {
  const { status, header, body } = partsOf(bytes)
  if (status === undefined) return `${bytes} ${ending}`.trim()
  const promised = header('content-length')
  const missing = Number(promised) - body.length
  const headers = ['content-type', 'content-encoding', 'retry-after', 'location'].map(header)
  return [
    status,
    ...headers.filter((value) => value !== undefined),
    promised === undefined ? 'unmeasured' : missing === 0 ? 'whole' : missing > 0 ? 'less' : 'more',
    ...(drops > 20 && body.length < 10_000 ? ['in drops'] : []),
    ending,
    ...(body.length > 0 ? [body.toString('latin1', 0, 100)] : []),
  ].join(' ')
}

export function partsOf(bytes: Buffer): Parts {
  const at = bytes.indexOf('\r\n\r\n')
  const head = at < 0 ? '' : bytes.toString('latin1', 0, at)
  return {
    status: /^HTTP\/1\.1 (\d+)/.exec(head)?.[1],
    header: (name) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1],
    body: bytes.subarray(at + 4),
  }
}

export interface Parts {
  status: string | undefined
  header(name: string): string | undefined
  body: Buffer
}
