import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket, TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type OutboundOptions, openOutbound, type UpstreamDeadlines, type UpstreamSight } from '../outbound.ts'
import { type Answer, certificateFor, dialLoopback as dial, drip, listen, reply } from './loopback.fixture.ts'

const never = new AbortController().signal
const headers = { Authorization: 'Bearer secret', Range: 'bytes=1-' }
const failed = { name: 'Problem', code: 'provider_unavailable', retryable: true }
const late = { ...failed, message: /in time/ }
const refused = { name: 'Problem', code: 'output_unavailable', retryable: false }
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const MiB = 2 ** 20

function outboundOf(options: Partial<OutboundOptions> = {}) {
  return openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.2'], ...options })
}

/** Downloads from the upstream itself. */
async function fetchFrom(answer: Answer, upstreamDeadlines: Partial<UpstreamDeadlines> = {}, signal = never) {
  const server = await listen(answer)
  const outbound = outboundOf({ upstreamDeadlines })
  const response = await outbound.upstream(server.origin).download(`${server.origin}/film`, {}, signal)
  return { response, server, outbound, reader: response.body?.getReader() ?? assert.fail('no body') }
}

test('a result is streamed from the upstream itself, with our headers', async () => {
  await using server = await listen(() => reply(206, { 'content-type': 'video/mp4' }, 'film'))
  await using outbound = outboundOf()
  const answer = await outbound
    .upstream(`${server.origin}/v1`)
    .download(`${server.origin}/film?x=1#y`, { headers }, never)
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [206, 'video/mp4'])
  assert.equal(answer.headers.get('content-length'), '4')
  assert.equal(answer.url, `${server.origin}/film?x=1`)
  assert.equal(await answer.text(), 'film')
  assert.match(server.heads[0] ?? '', /^GET \/film\?x=1 HTTP.*authorization: Bearer secret\r\n.*range: bytes=1-\r\n/s)
})

test('another host gets no header of the caller but Range', async () => {
  await using upstream = await listen(() => '')
  await using other = await listen(() => reply(200, {}, 'film'), { host: '127.0.0.3' })
  await using outbound = outboundOf({ allow: ['127.0.0.3'] })
  const answer = await outbound.upstream(upstream.origin).download(`${other.origin}/film`, { headers }, never)
  assert.equal(await answer.text(), 'film')
  assert.deepEqual(other.heads[0]?.trim().split('\r\n').sort(), [
    'Connection: close',
    'GET /film HTTP/1.1',
    'accept-encoding: identity',
    'accept: */*',
    `host: 127.0.0.3:${other.port}`,
    'range: bytes=1-',
    'user-agent: filmgate',
  ])
})

test('a refused certificate is reported with the host of the result, and so is a connection that works', async () => {
  await using bad = await listen(() => '', { host: '127.0.0.3', tls: certificateFor('127.0.0.3') })
  await using upstream = await listen((path) =>
    path === '/moved' ? reply(302, { location: `${bad.origin}/film` }) : reply(200, {}, 'film'),
  )
  const seen: UpstreamSight[] = []
  await using outbound = outboundOf({ allow: ['127.0.0.3'], see: (sight) => void seen.push(sight) })
  const client = outbound.upstream(upstream.origin)
  await (await client.download(`${upstream.origin}/film`, {}, never)).text()
  await assert.rejects(client.download(`${bad.origin}/film`, {}, never), failed)
  await assert.rejects(client.download(`${upstream.origin}/moved`, {}, never), failed)
  const [own, other] = [`127.0.0.1:${upstream.port}`, `127.0.0.3:${bad.port}`]
  assert.deepEqual(
    seen.map(({ host, certificateFault }) => [host, certificateFault]),
    [
      [own, undefined],
      [other, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      [own, undefined],
      [other, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ],
  )
})

test('a redirect keeps our headers for the upstream only, and not after another host', async () => {
  await using other = await listen(() => reply(307, { location: `${upstream.origin}/third` }), { host: '127.0.0.3' })
  await using upstream = await listen((path) => {
    if (path === '/first') return reply(302, { location: 'second' })
    return path === '/second' ? reply(301, { location: `${other.origin}/away` }) : reply(200, {}, 'film')
  })
  await using outbound = outboundOf({ allow: ['127.0.0.3'] })
  const answer = await outbound.upstream(upstream.origin).download(`${upstream.origin}/first`, { headers }, never)
  assert.equal(await answer.text(), 'film')
  const told = [...upstream.heads, ...other.heads].map((head) => [head.split(' ')[1], /secret/.test(head)])
  assert.deepEqual(told, [
    ['/first', true],
    ['/second', true],
    ['/third', false],
    ['/away', false],
  ])
  assert.ok([...upstream.heads, ...other.heads].every((head) => /range: bytes=1-/.test(head)))
})

test('a private address other than the upstream is refused, at once and after a redirect', async () => {
  await using secret = await listen(() => reply(200, {}, 'secret'), { host: '127.0.0.2' })
  const { port } = secret
  for (const url of [
    secret.origin,
    `http://localhost:${port}/`,
    `http://name.test:${port}/`,
    `http://2130706434:${port}/`,
    `http://[::ffff:127.0.0.2]:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    'http://1.1.1.1:22/',
    'file:///etc/passwd',
    'not a url',
  ]) {
    await using server = await listen(() => reply(302, { location: url }))
    await using outbound = outboundOf()
    const upstream = outbound.upstream(server.origin)
    await assert.rejects(upstream.download(url, { headers }, never), refused, url)
    // Another scheme or port of the upstream's host is not the upstream.
    await assert.rejects(upstream.download(`http://127.0.0.1:${port}/`, {}, never), refused)
    await assert.rejects(upstream.download(`https://127.0.0.1:${server.port}/`, {}, never), refused)
    assert.equal(server.connections, 0)
    if (url !== 'not a url') await assert.rejects(upstream.download(server.origin, {}, never), refused, url)
  }
  assert.equal(secret.connections, 0)
})

test('three redirects are followed, and not a fourth', async () => {
  await using server = await listen((path) => {
    const left = Number(path.slice(1))
    return left === 0 ? reply(200, {}, 'film') : reply(302, { location: `/${left - 1}` }, 'moved')
  })
  await using outbound = outboundOf()
  const upstream = outbound.upstream(server.origin)
  const followed = await upstream.download(`${server.origin}/3`, {}, never)
  assert.deepEqual([await followed.text(), followed.url], ['film', `${server.origin}/0`])
  await assert.rejects(upstream.download(`${server.origin}/4`, {}, never), { ...refused, message: /more than 3/ })
})

const whole: [title: string, answer: Answer][] = [
  ['a length', () => reply(200, {}, 'film')],
  ['chunks', () => `${CHUNKED}2\r\nfi\r\n2\r\nlm\r\n0\r\n\r\n`],
  ['the end of the connection', () => 'HTTP/1.1 200 OK\r\n\r\nfilm'],
  ['a length on a connection that stays open', (_path, socket) => void socket.write(reply(200, {}, 'film'))],
  [
    'a length before a reset',
    (_path, socket) => void socket.write(reply(200, {}, 'film'), () => socket.resetAndDestroy()),
  ],
]

for (const [title, answer] of whole) {
  test(`a result that ends with ${title} is whole`, async () => {
    const { response, reader, ...rest } = await fetchFrom(answer, { downloadCloseMs: 50 })
    await using _server = rest.server
    await using _outbound = rest.outbound
    assert.equal(response.status, 200)
    const first = await reader.read()
    assert.equal(
      Buffer.from(first.value ?? [])
        .toString()
        .slice(0, 2),
      'fi',
    )
    while (!(await reader.read()).done);
  })
}

const broken: [title: string, answer: Answer][] = [
  ['fewer bytes than announced', () => reply(200, { 'content-length': 10 }, 'film')],
  ['more bytes than announced', () => reply(200, { 'content-length': 3 }, 'film')],
  ['more bytes than announced by far', () => reply(200, { 'content-length': MiB }, 'x'.repeat(3 * MiB))],
  ['more bytes after the last chunk', () => `${CHUNKED}4\r\nfilm\r\n0\r\n\r\nmore`],
  ['chunks that break off', () => `${CHUNKED}4\r\nfilm\r\n`],
  [
    'a reset',
    (_path, socket) => void socket.write(reply(200, { 'content-length': 10 }, 'film'), () => socket.resetAndDestroy()),
  ],
]

for (const [title, answer] of broken) {
  test(`a result with ${title} is an error of its stream`, async () => {
    await using server = await listen(answer)
    await using outbound = outboundOf()
    // The head may come with the fault or before it; either way no whole body comes out.
    const film = async () => (await outbound.upstream(server.origin).download(server.origin, {}, never)).bytes()
    await assert.rejects(film(), failed)
  })
}

test('bytes that come after all that was announced has been read are still noticed', async () => {
  const taken = Promise.withResolvers<Socket>()
  const { reader, ...rest } = await fetchFrom((_path, socket) => {
    taken.resolve(socket)
    socket.write(reply(200, {}, 'film'))
    return undefined
  })
  await using _server = rest.server
  await using _outbound = rest.outbound
  assert.equal((await reader.read()).value?.length, 4)
  const socket = await taken.promise
  setImmediate(() => socket.end('more'))
  await assert.rejects(reader.read(), failed)
})

test('an answer other than 2xx is returned with its status and the start of its body', async () => {
  await using server = await listen((path, socket) => {
    if (path === '/large') return reply(404, { 'x-a': 'b' }, 'x'.repeat(MiB))
    if (path === '/hang') return void socket.write(reply(403, { 'content-length': 9 }, 'x'))
    return path === '/nowhere' ? reply(302, {}, 'lost') : reply(503, {}, 'busy')
  })
  await using outbound = outboundOf({ upstreamDeadlines: { downloadIdleMs: 500 } })
  const download = async (path: string) => {
    const answer = await outbound.upstream(server.origin).download(server.origin + path, {}, never)
    return [answer.status, (await answer.text()).length, answer.headers.get('x-a')]
  }
  assert.deepEqual(await download('/large'), [404, 65_536, 'b'])
  assert.deepEqual(await download('/hang'), [403, 0, null])
  assert.deepEqual(await download('/nowhere'), [302, 4, null])
  assert.deepEqual(await download('/busy'), [503, 4, null])
})

test('a compressed result is refused', async () => {
  const film = gzipSync('film').toString('latin1')
  await using server = await listen(() => Buffer.from(reply(200, { 'content-encoding': 'gzip' }, film), 'latin1'))
  await using outbound = outboundOf()
  await assert.rejects(outbound.upstream(server.origin).download(server.origin, {}, never), refused)
})

test('a port without a server, and a server that does not respond, are retryable failures', async () => {
  const gone = await listen(() => '')
  await gone[Symbol.asyncDispose]()
  await using hangs = await listen(() => undefined)
  await using outbound = outboundOf({ upstreamDeadlines: { downloadHeadersMs: 100 } })
  await assert.rejects(outbound.upstream(gone.origin).download(gone.origin, {}, never), failed)
  await assert.rejects(outbound.upstream(hangs.origin).download(hangs.origin, {}, never), late)
})

test('a result that falls silent, sends no bytes but chunk extensions, or comes too slowly ends', async () => {
  for (const [piece, deadlines] of [
    ['', { downloadIdleMs: 60 }],
    ['1;', { downloadIdleMs: 60 }],
    ['1\r\na\r\n', { downloadPaceMs: 60, downloadPaceBytes: 100 * MiB }],
  ] as const) {
    const { reader, ...rest } = await fetchFrom((_path, socket) => {
      socket.write(`${CHUNKED}1\r\na\r\n`)
      return piece === '' ? undefined : drip(socket, piece)
    }, deadlines)
    await using _server = rest.server
    await using _outbound = rest.outbound
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, late)
  }
})

test('a result is read no faster than its reader reads, even if that takes longer than any deadline', async () => {
  const sockets: Socket[] = []
  const watched = (options: TcpNetConnectOpts) => {
    const socket = dial(options)
    sockets.push(socket)
    return socket
  }
  const size = 32 * MiB
  await using server = await listen((path) => (path === '/hang' ? undefined : reply(200, {}, 'x'.repeat(size))))
  const deadlines = { downloadHeadersMs: 2_000, downloadIdleMs: 500, downloadPaceMs: 500, downloadPaceBytes: 1 }
  await using outbound = outboundOf({ dial: watched, upstreamDeadlines: deadlines })
  const upstream = outbound.upstream(server.origin)
  const answer = await upstream.download(server.origin, {}, never)
  const reader = answer.body?.getReader() ?? assert.fail('no body')
  let bytes = (await reader.read()).value?.length ?? 0
  // By the time another download has been given up, several deadlines of this one have passed.
  await assert.rejects(upstream.download(`${server.origin}/hang`, {}, never), late)
  assert.ok((sockets[0]?.bytesRead ?? size) < MiB, `${sockets[0]?.bytesRead} bytes were read ahead`)
  for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.length
  assert.equal(bytes, size)
})

for (const waiting of [true, false]) {
  test(`the signal ends a stream at once, ${waiting ? 'with' : 'without'} a reader waiting, and its connection`, async () => {
    const stop = new AbortController()
    const closed = Promise.withResolvers<void>()
    const { reader, ...rest } = await fetchFrom(
      (_path, socket) => {
        socket.once('close', () => closed.resolve())
        socket.write(reply(200, { 'content-length': 9 }, 'x'))
        return undefined
      },
      {},
      stop.signal,
    )
    await using _server = rest.server
    await using _outbound = rest.outbound
    await reader.read()
    const next = waiting ? reader.read() : reader.closed
    setImmediate(() => stop.abort('enough'))
    await assert.rejects(next, (thrown) => thrown === 'enough')
    await assert.rejects(reader.read(), (thrown) => thrown === 'enough')
    await closed.promise
  })
}

test('the signal ends a download that waits for its headers, and lets none begin', async () => {
  const stop = new AbortController()
  await using server = await listen(() => void setImmediate(() => stop.abort('enough')))
  await using outbound = outboundOf()
  const upstream = outbound.upstream(server.origin)
  for (let tries = 0; tries < 2; tries += 1) {
    await assert.rejects(upstream.download(server.origin, {}, stop.signal), (thrown) => thrown === 'enough')
  }
  assert.equal(server.connections, 1)
})

test('a stream that is cancelled closes its connection', async () => {
  const taken = Promise.withResolvers<Socket>()
  const { reader, ...rest } = await fetchFrom((_path, socket) => {
    taken.resolve(socket)
    socket.write(reply(200, { 'content-length': 9 }, 'x'))
    return undefined
  })
  await using _server = rest.server
  await using _outbound = rest.outbound
  const closed = once(await taken.promise, 'close')
  await reader.cancel()
  await closed
})

test('closing ends a stream that is under way, and waits for none that has ended', async () => {
  const { reader, server, outbound } = await fetchFrom((_path, socket) => {
    socket.write(reply(200, { 'content-length': 9 }, 'x'))
    return undefined
  })
  await using done = await listen(() => reply(200, {}, 'film'))
  await (await outbound.upstream(done.origin).download(done.origin, {}, never)).text()
  await reader.read()
  const next = assert.rejects(reader.read(), failed)
  await outbound[Symbol.asyncDispose]()
  await next
  await server[Symbol.asyncDispose]()
})
