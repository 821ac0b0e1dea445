import assert from 'node:assert/strict'
import { Socket, type TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { certificateFor, dialLoopback as dial, listen, reply } from './outbound/loopback.fixture.ts'
import { startNameServer } from './outbound/name-server.fixture.ts'
import { openOutbound } from './outbound.ts'

const never = new AbortController().signal
const limits = { maxBytes: 1000 }
const neverResolve = async (): Promise<string[]> => assert.fail('the resolver must not be asked')

/** Only 127.0.0.1 is allowed; the rest of loopback stands for the private network that must not be reached. */
function open(deadlines = {}) {
  return openOutbound({ dial, allow: ['127.0.0.1'], resolve: neverResolve, deadlines })
}

function unavailable(retryable: boolean, message: RegExp) {
  return { name: 'Problem', code: 'image_unavailable', retryable, message }
}

test('an image is downloaded with its type, and the request has no other headers', async () => {
  await using server = await listen(() => reply(200, { 'content-type': 'image/png' }, 'pixels'))
  await using outbound = open()
  const image = await outbound.of('alice').download(`${server.origin}/a%20b.png?x=1#secret`, limits, never)
  assert.equal(Buffer.from(image.bytes).toString(), 'pixels')
  assert.equal(image.contentType, 'image/png')
  assert.deepEqual(server.heads[0]?.toLowerCase().trim().split('\r\n').sort(), [
    'accept-encoding: identity',
    'accept: */*',
    'connection: close',
    'get /a%20b.png?x=1 http/1.1',
    `host: 127.0.0.1:${server.port}`,
    'user-agent: filmgate',
  ])
})

test('bodies in chunks, without a length, without a type and without a byte are read whole', async () => {
  const large = 'x'.repeat(200_000)
  const heads = '\r\n\r\nHTTP/1.1 103 Early Hints'.repeat(20)
  await using server = await listen((path) => {
    if (path === '/chunks')
      return 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;e=f\r\nc\r\n0\r\n\r\n'
    if (path === '/close') return `HTTP/1.1 200 OK\r\n\r\n${large}`
    if (path === '/heads') return `HTTP/1.1 200 OK\r\n\r\n${heads}`
    if (path === '/hints')
      return `${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(16)}${reply(200, {}, 'abc')}`
    return reply(200)
  })
  await using outbound = open()
  for (const [path, body] of [
    ['/chunks', 'abc'],
    ['/close', large],
    ['/hints', 'abc'],
    ['/heads', heads],
    ['/empty', ''],
  ]) {
    const image = await outbound.of('alice').download(server.origin + path, { maxBytes: 200_000 }, never)
    assert.equal(Buffer.from(image.bytes).toString(), body)
    assert.equal(image.contentType, null)
  }
})

test('a name is fetched from its address, and over TLS by its name', async () => {
  const tls = certificateFor('images.test')
  await using plain = await listen(() => reply(200, {}, 'plain'))
  await using secure = await listen(() => reply(200, {}, 'secure'), { tls })
  await using outbound = openOutbound({ dial, allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] })
  const fetchText = async (url: string) =>
    Buffer.from((await outbound.of('alice').download(url, limits, never)).bytes).toString()
  assert.equal(await fetchText(`http://images.test.:${plain.port}/`), 'plain')
  await assert.rejects(fetchText(`https://images.test:${secure.port}/`), unavailable(true, /certificate/))
  setDefaultCACertificates([...getCACertificates('default'), tls.cert])
  assert.equal(await fetchText(`https://images.test.:${secure.port}/`), 'secure')
  await assert.rejects(fetchText(`https://other.test:${secure.port}/`), unavailable(true, /certificate/))
  await assert.rejects(fetchText(`https://127.0.0.1:${secure.port}/`), unavailable(true, /certificate/))
  assert.equal(secure.heads.length, 1)
  assert.equal(secure.serverNames.at(-1), 'images.test')
})

test('an IPv6 address is fetched from', async (t) => {
  const server = await listen(() => reply(200, {}, 'six'), { host: '::1' }).catch(() => undefined)
  if (server === undefined) return t.skip('this machine has no IPv6')
  await using _server = server
  await using outbound = openOutbound({ dial, allow: [`[::1]:${server.port}`], resolve: neverResolve })
  assert.equal((await outbound.of('alice').download(server.origin, limits, never)).bytes.length, 3)
})

test('when the first address of a name is dead, the next one is used', async () => {
  await using server = await listen(() => reply(200, {}, 'x'))
  await using outbound = openOutbound({ dial, allow: ['127.0.0.0/8'], resolve: async () => ['127.0.0.3', '127.0.0.1'] })
  assert.equal(
    (await outbound.of('alice').download(`http://images.test:${server.port}/`, limits, never)).bytes.length,
    1,
  )
})

test('a name that was public at the check and is private at the download is not connected to', async () => {
  await using server = await listen(() => reply(200, {}, 'secret'))
  for (const scheme of ['http', 'https']) {
    const answers = [['1.1.1.1'], ['127.0.0.1']]
    const resolve = async () => answers.shift() ?? assert.fail('asked a third time')
    await using outbound = openOutbound({ dial, allow: [`1.1.1.1:${server.port}`], resolve })
    const url = `${scheme}://rebind.test:${server.port}/`
    await outbound.of('alice').check(url, 'image_url', never)
    await assert.rejects(outbound.of('alice').download(url, limits, never), (thrown: Error) => {
      assert.match(thrown.message, /not at a public address/)
      assert.doesNotMatch(thrown.message, /\d+\.\d+/)
      return true
    })
  }
  assert.equal(server.connections, 0)
})

test('a connection to an address that was not checked is closed before any byte is sent, TLS included', async () => {
  await using elsewhere = await listen(() => reply(200, {}, 'secret'), { host: '127.0.0.2' })
  for (const scheme of ['http', 'https']) {
    const sockets: Socket[] = []
    const astray = (options: TcpNetConnectOpts) => {
      const socket = dial({ ...options, host: '127.0.0.2' })
      sockets.push(socket)
      return socket
    }
    await using outbound = openOutbound({ dial: astray, allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] })
    const url = `${scheme}://images.test:${elsewhere.port}/`
    await assert.rejects(
      outbound.of('alice').download(url, limits, never),
      unavailable(false, /not at a public address/),
    )
    assert.deepEqual([sockets.length, sockets[0]?.destroyed, sockets[0]?.bytesWritten], [1, true, 0])
  }
})

test('a connection that is lost before the request is not replaced by another', async () => {
  await using server = await listen(() => reply(200, {}, 'x'))
  // Lost at each step of the way from the open connection to the request.
  for (let step = 0; step < 30; step += 1) {
    let dials = 0
    const fragile = (options: TcpNetConnectOpts) => {
      dials += 1
      const socket = dial(options)
      const lose = (left: number) => queueMicrotask(() => (left === 0 ? socket.destroy() : lose(left - 1)))
      return socket.once('connect', () => lose(step))
    }
    await using outbound = openOutbound({ dial: fragile, allow: ['127.0.0.1'] })
    await assert.rejects(
      outbound.of('alice').download(server.origin, limits, never),
      unavailable(true, /connection failed/),
    )
    assert.equal(dials, 1)
  }
})

test('the resolver is asked once for each connection', async () => {
  await using server = await listen(() => reply(200, {}, 'x'))
  const answers = [['127.0.0.1']]
  const resolve = async () => answers.shift() ?? assert.fail('asked twice')
  await using outbound = openOutbound({ dial, allow: ['127.0.0.1'], resolve })
  await outbound.of('alice').download(`http://images.test:${server.port}/`, limits, never)
})

test('a proxy in the environment is not used', async (t) => {
  await using proxy = await listen(() => reply(200, {}, 'proxied'))
  await using server = await listen(() => reply(200, {}, 'direct'))
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) {
    const before = process.env[name]
    process.env[name] = name.startsWith('NODE') ? '1' : proxy.origin
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  await using outbound = open()
  const image = await outbound.of('alice').download(server.origin, limits, never)
  assert.equal(Buffer.from(image.bytes).toString(), 'direct')
  assert.equal(proxy.connections, 0)
})

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect with ${status} is followed, relative or absolute, without cookies or credentials`, async () => {
    await using last = await listen(() => reply(200, {}, 'moved'))
    await using first = await listen((path) =>
      path === '/dir/a'
        ? reply(status, { location: 'b?c', 'set-cookie': 'id=1' })
        : reply(status, { location: `${last.origin}/c#d` }),
    )
    await using outbound = open()
    const image = await outbound.of('alice').download(`${first.origin}/dir/a`, limits, never)
    assert.equal(Buffer.from(image.bytes).toString(), 'moved')
    assert.match(first.heads[1] ?? '', /^GET \/dir\/b\?c /)
    assert.match(last.heads[0] ?? '', /^GET \/c /)
    assert.doesNotMatch([...first.heads, ...last.heads].join(), /cookie|authorization|referer/i)
  })
}

test('a redirect to a private address is refused before anything connects there', async () => {
  await using secret = await listen(() => reply(200, {}, 'secret'), { host: '127.0.0.2' })
  const { port } = secret
  for (const location of [
    secret.origin,
    `//127.0.0.2:${port}/`,
    `http://2130706434:${port}/`,
    `http://[::ffff:127.0.0.2]:${port}/`,
    `http://[::127.0.0.2]:${port}/`,
    `http://0:${port}/`,
    `http://localhost:${port}/`,
    `http://name.test:${port}/`,
    `http://user:pass@127.0.0.1:${port}/`,
    'file:///etc/passwd',
    'data:image/png;base64,AA==',
    'gopher://127.0.0.1/',
    'http://1.1.1.1:22/',
    'http://[broken/',
    `/${'a'.repeat(8192)}`,
  ]) {
    await using server = await listen(() => reply(302, { location }))
    await using outbound = openOutbound({
      dial,
      allow: [`127.0.0.1:${server.port}`],
      resolve: async () => ['127.0.0.2'],
    })
    await assert.rejects(outbound.of('alice').download(server.origin, limits, never), (thrown: Error) => {
      assert.match(thrown.message, /redirects to a URL that was refused/, location)
      assert.doesNotMatch(thrown.message, /127|passwd/)
      assert.equal('retryable' in thrown && thrown.retryable, false)
      return true
    })
    assert.equal(server.heads.length, 1)
  }
  assert.equal(secret.connections, 0)
})

test('three redirects are followed, and not a fourth', async () => {
  await using server = await listen((path) => {
    const left = Number(path.slice(1))
    return left === 0 ? reply(200, {}, 'x') : reply(302, { location: `/${left - 1}` })
  })
  await using outbound = open()
  await outbound.of('alice').download(`${server.origin}/3`, limits, never)
  await assert.rejects(
    outbound.of('alice').download(`${server.origin}/4`, limits, never),
    unavailable(false, /more than 3 times/),
  )
  assert.equal(server.heads.length, 8)
})

test('a redirect to itself ends', async () => {
  await using server = await listen(() => reply(302, { location: '/' }))
  await using outbound = open()
  await assert.rejects(
    outbound.of('alice').download(server.origin, limits, never),
    unavailable(false, /more than 3 times/),
  )
})

test('bytes after the announced length are not part of the image', async () => {
  await using server = await listen(() => reply(200, { 'content-length': 3, 'content-encoding': 'identity' }, 'abcdef'))
  await using outbound = open()
  assert.equal(Buffer.from((await outbound.of('alice').download(server.origin, limits, never)).bytes).toString(), 'abc')
})

test('a port without a server is a retryable failure', async () => {
  const server = await listen(() => '')
  await server[Symbol.asyncDispose]()
  await using outbound = open()
  await assert.rejects(
    outbound.of('alice').download(server.origin, limits, never),
    unavailable(true, /connection failed/),
  )
})

test('a host without an address is a retryable failure', async () => {
  await using names = await startNameServer((name) => (name === 'failed.test' ? 'failed' : 'unknown'))
  await using asking = openOutbound({ dial, allow: [], nameServers: [names.address] })
  const fetchFrom = (host: string) => asking.of('alice').download(`https://${host}/`, limits, never)
  await assert.rejects(fetchFrom('gone.test'), unavailable(true, /does not exist in the DNS/))
  await assert.rejects(fetchFrom('failed.test'), unavailable(true, /could not be resolved/))
  for (const resolve of [async () => [], async () => Promise.reject(new Error('ENOTFOUND'))]) {
    await using outbound = openOutbound({ dial, allow: [], resolve })
    await assert.rejects(
      outbound.of('alice').download('http://name.test/', limits, never),
      unavailable(true, /connection failed/),
    )
  }
})

test('if this machine cannot open more connections, the code is not that of a faulty image', async () => {
  for (const code of ['EMFILE', 'ENFILE', 'ENOMEM']) {
    const full = (): Socket => {
      const socket = new Socket()
      process.nextTick(() => socket.destroy(Object.assign(new Error('no more of these'), { code })))
      return socket
    }
    await using outbound = openOutbound({ dial: full, allow: ['127.0.0.1'], resolve: neverResolve })
    const failed = outbound.of('alice').download('http://127.0.0.1:1/x.png', limits, never)
    await assert.rejects(failed, { name: 'Problem', code: 'storage_unavailable', retryable: true })
  }
})
