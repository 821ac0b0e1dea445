import assert from 'node:assert/strict'
import { createSign, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { BlockList, connect, createServer, isIP, type Server, type Socket, type TcpNetConnectOpts } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'

/** A local server that writes raw bytes, so that it can send wrong lengths, hang and close early. */
export interface Loopback extends AsyncDisposable {
  readonly origin: string
  readonly port: number
  /** How many connections were opened, with or without a request. */
  readonly connections: number
  /** The heads of all requests: request line and headers. */
  readonly heads: string[]
  /** The bodies of all requests, as long as their Content-Length says. */
  readonly bodies: string[]
  /** The host names that clients gave in their TLS handshakes. */
  readonly serverNames: unknown[]
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** The dial of every test: if the guard breaks, the test fails, and no byte leaves this machine. */
export function dialLoopback(options: TcpNetConnectOpts): Socket {
  const go = (address: string) => {
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    assert.ok(isIP(address) !== 0 && loopback.check(address, family), `a test must not connect to ${address}`)
  }
  const { host = '', lookup } = options
  if (isIP(host) !== 0) go(host)
  else if (lookup === undefined) assert.fail('a test must not ask the resolver of this machine')
  else
    lookup(host, { all: true }, (_error, found) => {
      for (const it of [found].flat()) go(typeof it === 'string' ? it : it.address)
    })
  return connect(options)
}

/** Dials and records the sockets. */
export function watching(sockets: Socket[]) {
  return (options: TcpNetConnectOpts) => {
    const socket = dialLoopback(options)
    sockets.push(socket)
    return socket
  }
}

/** Called with each whole request. Its result is written and the connection closed; undefined hangs. */
export type Answer = (path: string, socket: Socket) => string | Uint8Array | undefined

export async function listen(answer: Answer, where: { host?: string; tls?: Certificate } = {}): Promise<Loopback> {
  const host = where.host ?? '127.0.0.1'
  const heads: string[] = []
  const bodies: string[] = []
  const serverNames: unknown[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const serve = (socket: Socket) => {
    let received = ''
    if (socket instanceof TLSSocket) serverNames.push('servername' in socket ? socket.servername : undefined)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received += data.toString('latin1')
      const [head = '', ...rest] = received.split(/(?<=\r\n\r\n)/)
      const body = rest.join('')
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (!head.endsWith('\r\n\r\n') || body.length < length) return
      heads.push(head)
      bodies.push(body)
      received = ''
      const bytes = answer(head.split(' ')[1] ?? '', socket)
      if (bytes !== undefined) socket.end(bytes)
    })
  }
  const server: Server = where.tls ? createTlsServer(where.tls, serve) : createServer(serve)
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    origin: `${where.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    heads,
    bodies,
    serverNames,
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A whole response. Its Content-Length is right unless the headers set another. */
export function reply(status: number, headers: Record<string, string | number> = {}, body = ''): string {
  const all = { 'content-length': Buffer.byteLength(body), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Any\r\n${lines.join('')}\r\n${body}`
}

/** Writes again each time the last bytes were sent, so that no idle deadline can fire. */
export function drip(socket: Socket, bytes: string): undefined {
  if (socket.destroyed) return
  socket.write(bytes, () => setImmediate(() => drip(socket, bytes)))
}

export interface Certificate {
  key: string
  cert: string
}

/** A new self-signed certificate, encoded here so that the repository needs no private key. */
export function certificateFor(name: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex')) // ecdsa-with-SHA256
  const subject = der(0x30)
  const body = der(
    0x30,
    der(0xa0, Buffer.from('020102', 'hex')), // version 3
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x18, Buffer.from('21200101000000Z'))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, der(0x30, Buffer.from('0603551d110101ff', 'hex'), subjectAltName(name)))), // critical
  )
  const signature = createSign('SHA256').update(body).sign(privateKey)
  const whole = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}

function subjectAltName(name: string): Buffer {
  return der(0x04, der(0x30, der(0x82, Buffer.from(name))))
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
