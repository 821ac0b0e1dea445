import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket, type TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { type OutboundOptions, openOutbound, type UpstreamRequest } from '../outbound.ts'
import { type Answer, certificateFor, dialLoopback as dial, drip, listen, reply, watching } from './loopback.fixture.ts'

const never = new AbortController().signal
const job: UpstreamRequest = { method: 'POST', headers: { Authorization: 'Bearer secret' }, body: '{"a":"ü"}' }
const poll: UpstreamRequest = { method: 'GET' }
const unreachable = { name: 'Problem', code: 'provider_unreachable', retryable: true }
const open = { name: 'Problem', code: 'provider_unavailable', retryable: true }
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const MiB = 2 ** 20

/** Nothing is allowed: only an upstream may have its base on loopback. */
function outboundOf(options: Partial<OutboundOptions> = {}) {
  return openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.1'], ...options })
}

function encoded(encoding: string, body: Uint8Array): Uint8Array {
  const head = reply(200, { 'content-encoding': encoding, 'content-length': body.length })
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

for (const kind of ['send', 'fetch'] as const) {
  test(`${kind}: a request goes out below the base URL, and its answer comes back`, async () => {
    await using server = await listen(() => reply(201, { 'x-id': 'é', 'content-type': 'text/plain' }, 'made'))
    await using outbound = outboundOf()
    const upstream = outbound.upstream(`${server.origin}/v1/`)
    const answer = await upstream[kind]("/jobs/a%20b?x=it's&y=..", job, never)
    assert.deepEqual([answer.status, answer.headers.get('x-id'), await answer.text()], [201, 'Ã©', 'made'])
    assert.deepEqual(server.heads[0]?.trim().split('\r\n').sort(), [
      'Connection: close',
      'POST /v1/jobs/a%20b?x=it%27s&y=.. HTTP/1.1',
      'accept-encoding: identity',
      'accept: */*',
      'authorization: Bearer secret',
      'content-length: 10',
      `host: 127.0.0.1:${server.port}`,
      'user-agent: filmgate',
    ])
    assert.equal(server.bodies[0], Buffer.from('{"a":"ü"}').toString('latin1'))
  })

  test(`${kind}: each request other than a poll has a connection of its own, which is closed with the answer`, async () => {
    await using server = await listen((_path, socket) => void socket.write(reply(200, {}, 'x')))
    const sockets: Socket[] = []
    await using outbound = outboundOf({ dial: watching(sockets) })
    const upstream = outbound.upstream(server.origin)
    for (const method of ['POST', 'DELETE', 'PUT'] as const) await upstream[kind]('/', { method }, never)
    assert.deepEqual([server.connections, sockets.map((socket) => socket.destroyed)], [3, [true, true, true]])
    const lengths = server.heads.map((head) => /content-length: \d+|transfer-encoding/.exec(head)?.[0])
    assert.deepEqual(lengths, ['content-length: 0', undefined, 'content-length: 0'])
  })
}

const answers: [title: string, answer: string | Uint8Array, status: number, body: string][] = [
  ['a redirect', reply(302, { location: 'http://127.0.0.2/' }, 'there'), 302, 'there'],
  ['a refusal', reply(429, { 'retry-after': 3 }, 'busy'), 429, 'busy'],
  ['a fault', reply(500, {}, 'oops'), 500, 'oops'],
  ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
  ['chunks', `${CHUNKED}2\r\nab\r\n1;e=f\r\nc\r\n0\r\n\r\n`, 200, 'abc'],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\nabc', 200, 'abc'],
  ['an unrequested Continue', `HTTP/1.1 100 Continue\r\n\r\n${reply(200, {}, 'abc')}`, 200, 'abc'],
  ['early hints', `HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n${reply(200, {}, 'abc')}`, 200, 'abc'],
  ['more bytes than announced', reply(200, { 'content-length': 3 }, 'abcdef'), 200, 'abc'],
  ['gzip', encoded('gzip', gzipSync('abc')), 200, 'abc'],
  ['x-gzip', encoded('X-GZip', gzipSync('abc')), 200, 'abc'],
  ['br', encoded('br', brotliCompressSync('abc')), 200, 'abc'],
  ['deflate', encoded('deflate', deflateSync('abc')), 200, 'abc'],
  ['raw deflate', encoded('deflate', deflateRawSync('abc')), 200, 'abc'],
  ['gzip of nothing at all', encoded('gzip', new Uint8Array()), 200, ''],
  ['4 MiB', reply(200, {}, 'x'.repeat(4 * MiB)), 200, 'x'.repeat(4 * MiB)],
]

for (const [title, bytes, status, body] of answers) {
  test(`a response with ${title} is returned`, async () => {
    await using server = await listen(() => bytes)
    await using outbound = outboundOf()
    const answer = await outbound.upstream(server.origin).send('/', job, never)
    assert.equal(answer.status, status)
    const polled = await outbound.upstream(server.origin).fetch('/', poll, never)
    assert.ok(polled.status === status && (await polled.text()) === body)
    assert.ok((await answer.text()) === body)
    assert.equal(answer.headers.get('content-encoding'), null)
    assert.equal(server.connections, 2)
  })
}

// Every failure after the request was sent leaves the outcome unknown, even if it looks certain.
const mishaps: [title: string, answer: Answer][] = [
  ['hangs', () => undefined],
  ['closes the connection', () => ''],
  ['resets the connection', (_path, socket) => void socket.resetAndDestroy()],
  ['answers with garbage', () => 'SSH-2.0-OpenSSH_9.6\r\nroot:x'],
  ['switches protocols', () => 'HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['answers with an unknown status', () => reply(600)],
  ['sends early hints for ever', (_path, socket) => drip(socket, 'HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n')],
  ['sends headers over 16 KiB', () => `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}\r\n`],
  ['sends fewer bytes than announced', () => reply(200, { 'content-length': 10 }, 'abc')],
  ['announces two lengths', () => 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ['breaks off between chunks', () => `${CHUNKED}2\r\nab\r\n`],
  ['stops within a body', (_path, socket) => void socket.write(reply(200, { 'content-length': 9 }, 'x'))],
  [
    'drips a body for ever',
    (_path, socket) => {
      socket.write(CHUNKED)
      return drip(socket, '1\r\na\r\n')
    },
  ],
  ['sends more than 4 MiB', () => reply(200, {}, 'x'.repeat(4 * MiB + 1))],
  ['sends more than 4 MiB in chunks', () => `${CHUNKED}fffffff\r\n${'x'.repeat(5 * MiB)}`],
  ['sends a gzip bomb', () => encoded('gzip', gzipSync(Buffer.alloc(200 * MiB)))],
  ['sends a brotli bomb', () => encoded('br', brotliCompressSync(Buffer.alloc(200 * MiB)))],
  ['sends a deflate bomb', () => encoded('deflate', deflateRawSync(Buffer.alloc(200 * MiB)))],
  ['sends broken gzip', () => encoded('gzip', gzipSync('abc').subarray(0, 15))],
  ['sends an unknown encoding', () => encoded('zstd', Buffer.from('abc'))],
  ['sends two encodings', () => encoded('gzip, br', Buffer.from('abc'))],
]
const quick = { headersMs: 300, bodyIdleMs: 300, totalMs: 5_000 }

for (const [title, answer] of mishaps) {
  test(`a server that accepts the request and ${title} leaves the outcome unknown`, async () => {
    await using server = await listen(answer)
    const totalMs = title.includes('drips') ? 500 : quick.totalMs
    await using outbound = outboundOf({ upstreamDeadlines: { ...quick, totalMs } })
    const sending = outbound.upstream(server.origin).send('/', job, never)
    const thrown = await sending.then(
      () => assert.fail('it was accepted as a response'),
      (error) => error,
    )
    assert.deepEqual({ name: thrown.name, code: thrown.code, retryable: thrown.retryable }, open, thrown.cause)
    assert.doesNotMatch(thrown.message, /root|SSH|127/)
    assert.deepEqual([server.heads.length, server.connections], [1, 1])
    await assert.rejects(outbound.upstream(server.origin).fetch('/', poll, never), open)
  })
}

test('a server that reads nothing leaves the outcome unknown, for a small and for a large body', async () => {
  const server = createServer({ pauseOnConnect: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await using outbound = outboundOf({ upstreamDeadlines: { headersMs: 100 } })
  for (const body of ['small', new Uint8Array(50 * MiB)]) {
    const sending = outbound.upstream(`http://127.0.0.1:${port}`).send('/', { method: 'POST', body }, never)
    await assert.rejects(sending, open)
  }
  server.close()
})

test('over TLS only a request that was written leaves the outcome unknown', async () => {
  const tls = certificateFor('provider.test')
  await using server = await listen(
    (path, socket) => {
      if (path === '/ok') return reply(200, {}, 'ok')
      socket.destroy()
      return undefined
    },
    { tls },
  )
  await using outbound = outboundOf()
  const send = (host: string) => outbound.upstream(`https://${host}:${server.port}`).send('/lost', job, never)
  await assert.rejects(send('provider.test'), unreachable)
  setDefaultCACertificates([...getCACertificates('default'), tls.cert])
  await assert.rejects(send('other.test'), unreachable)
  await assert.rejects(send('127.0.0.1'), unreachable)
  assert.equal(server.heads.length, 0)
  await assert.rejects(send('provider.test.'), open)
  assert.equal(server.heads.length, 1)
  const answer = await outbound.upstream(`https://provider.test:${server.port}`).send('/ok', job, never)
  assert.equal(await answer.text(), 'ok')
})

for (const kind of ['send', 'fetch'] as const) {
  test(`${kind}: what fails before the connection is up is ${kind === 'send' ? 'unreachable' : 'unavailable, because it may be repeated'}`, async () => {
    await using silent = await listen(() => undefined)
    await using closing = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(closing, 'listening')
    const { port } = closing.address() as { port: number }
    const gone = await listen(() => '')
    await gone[Symbol.asyncDispose]()
    const hang = () => new Promise<string[]>(() => {})
    const cases: [base: string, options: Partial<OutboundOptions>][] = [
      [gone.origin, {}],
      ['http://name.test', { resolve: async () => [] }],
      ['http://name.test', { resolve: async () => Promise.reject(new Error('ENOTFOUND')) }],
      ['http://name.test', { resolve: hang, upstreamDeadlines: { connectMs: 20 } }],
      ['http://name.test', { resolve: hang, upstreamDeadlines: { totalMs: 20 } }],
      [`https://127.0.0.1:${silent.port}`, { upstreamDeadlines: { connectMs: 50 } }],
      [`https://127.0.0.1:${port}`, {}],
      // The connection leads elsewhere than the name was resolved to.
      [
        `http://name.test:${silent.port}`,
        { resolve: async () => ['127.0.0.9'], dial: (o) => dial({ ...o, host: '127.0.0.1' }) },
      ],
    ]
    for (const [base, options] of cases) {
      await using outbound = outboundOf(options)
      await assert.rejects(outbound.upstream(base)[kind]('/', job, never), kind === 'send' ? unreachable : open, base)
    }
    assert.equal(silent.heads.length, 0)
  })
}

test('a connection that is lost on the way to the request is unreachable exactly if nothing was written', async () => {
  await using server = await listen(() => undefined)
  const seen = new Set<string>()
  for (let step = 0; step < 40; step += 1) {
    const sockets: Socket[] = []
    const fragile = (options: TcpNetConnectOpts) => {
      const socket = dial(options)
      sockets.push(socket)
      const lose = (left: number) => queueMicrotask(() => (left === 0 ? socket.destroy() : lose(left - 1)))
      return socket.once('connect', () => lose(step))
    }
    await using outbound = outboundOf({ dial: fragile })
    await assert.rejects(outbound.upstream(server.origin).send('/', job, never), (thrown: { code: string }) => {
      seen.add(thrown.code)
      return thrown.code === (sockets[0]?.bytesWritten === 0 ? unreachable : open).code
    })
    assert.equal(sockets.length, 1)
  }
  assert.ok(seen.has(unreachable.code))
})

test('the signal of the caller before the request: unreachable for send, its reason for fetch, and no connection', async () => {
  await using outbound = outboundOf({ dial: () => assert.fail('it was dialled'), resolve: () => new Promise(() => {}) })
  const upstream = outbound.upstream('http://name.test')
  for (const early of [true, false]) {
    const signal = () => {
      const stop = new AbortController()
      if (early) stop.abort('enough')
      else setImmediate(() => stop.abort('enough'))
      return stop.signal
    }
    await assert.rejects(upstream.send('/', job, signal()), { ...unreachable, cause: 'enough' })
    await assert.rejects(upstream.fetch('/', job, signal()), (thrown) => thrown === 'enough')
  }
})

for (const part of ['headers', 'body']) {
  test(`the signal of the caller ends a request that waits for its ${part} with its reason, and the connection`, async () => {
    const stop = new AbortController()
    const closed = Promise.withResolvers<void>()
    await using server = await listen((_path, socket) => {
      socket.once('close', () => closed.resolve())
      if (part === 'body') socket.write(reply(200, { 'content-length': 100 }, 'x'))
      setImmediate(() => stop.abort('enough'))
      return undefined
    })
    await using outbound = outboundOf()
    await assert.rejects(outbound.upstream(server.origin).send('/', job, stop.signal), (thrown) => thrown === 'enough')
    await closed.promise
  })
}

test('closing ends a request that is under way, and lets no other begin', async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await listen(() => asked.resolve() as undefined)
  const sockets: Socket[] = []
  const outbound = outboundOf({ dial: watching(sockets) })
  const upstream = outbound.upstream(server.origin)
  const sending = assert.rejects(upstream.send('/', job, never), open)
  await asked.promise
  await outbound[Symbol.asyncDispose]()
  assert.equal(sockets[0]?.destroyed, true)
  await sending
  await assert.rejects(upstream.send('/', job, never), unreachable)
  assert.equal(sockets.length, 1)
})

test('a private name is resolved once for each connection, and reached at that address only', async () => {
  await using server = await listen(() => reply(200, {}, 'x'))
  const asked: string[] = []
  const resolve = async (host: string) => {
    asked.push(host)
    return ['127.0.0.1']
  }
  await using outbound = outboundOf({ resolve })
  const upstream = outbound.upstream(`http://localhost:${server.port}`)
  assert.equal((await upstream.fetch('/', { method: 'GET' }, never)).status, 200)
  assert.deepEqual(asked, ['localhost'])
})
