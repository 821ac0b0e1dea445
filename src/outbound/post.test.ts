import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Deadlines, openOutbound } from '../outbound.ts'
import { certificateFor, dialLoopback as dial, drip, listen, reply } from './loopback.fixture.ts'
import { startNameServer } from './name-server.fixture.ts'

const never = new AbortController().signal
const request = { headers: { 'content-type': 'application/json', 'webhook-id': 'wh_1' }, body: '{"a":"é"}' }

function open(deadlines: Partial<Deadlines> = {}, allow = ['127.0.0.1']) {
  return openOutbound({ dial, allow, resolve: async () => ['127.0.0.1'], deadlines, ownAddresses: () => [] })
}

test('sends the body and the headers once, and returns the status', async () => {
  await using server = await listen(() => reply(202, { 'retry-after': '7' }, 'thanks'))
  await using outbound = open()
  const posted = await outbound.of('alice').post(`${server.origin}/hook?a=b`, request, never)
  assert.deepEqual(posted, { status: 202, retryAfter: '7' })
  assert.match(server.heads[0] ?? '', /^POST \/hook\?a=b HTTP\/1\.1\r\n/)
  assert.match(server.heads[0] ?? '', /\r\nwebhook-id: wh_1\r\n/i)
  assert.equal(Buffer.from(server.bodies[0] ?? '', 'latin1').toString(), request.body)
  assert.equal(server.connections, 1)
})

test('follows no redirect', async () => {
  await using other = await listen(() => reply(200))
  await using server = await listen(() => reply(307, { location: other.origin }))
  await using outbound = open()
  assert.deepEqual(await outbound.of('alice').post(server.origin, request, never), { status: 307, retryAfter: null })
  assert.equal(other.connections, 0)
})

test('refuses an address that is private and not allowed, also behind a public name', async () => {
  await using server = await listen(() => reply(200))
  await using outbound = open({}, [])
  for (const url of [server.origin, `http://rebound.test:${server.port}/`, 'http://localhost/', 'ftp://x.test/', 'x'])
    assert.deepEqual(await outbound.of('alice').post(url, request, never), { error: 'url_refused' }, url)
  assert.equal(server.connections, 0)
})

test('a response that never ends, or arrives slowly, counts by its status', async () => {
  const endless = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  await using flood = await listen((_path, socket) => {
    socket.write(endless)
    return drip(socket, `10000\r\n${'x'.repeat(65_536)}\r\n`)
  })
  await using slow = await listen((_path, socket) => {
    socket.write(`${endless}1\r\nx\r\n`)
    return undefined
  })
  await using outbound = open()
  for (const { origin } of [flood, slow])
    assert.deepEqual(await outbound.of('alice').post(origin, request, never), { status: 200, retryAfter: null })
})

test('an interim response is skipped', async () => {
  await using server = await listen(() => `HTTP/1.1 100 Continue\r\n\r\n${reply(204)}`)
  await using outbound = open()
  assert.deepEqual(await outbound.of('alice').post(server.origin, request, never), { status: 204, retryAfter: null })
})

test('each failure has its error code', async () => {
  await using garbage = await listen(() => 'I am no HTTP\r\n\r\n')
  await using huge = await listen(() => reply(200, { 'x-large': 'x'.repeat(40_000) }))
  await using broken = await listen((_path, socket) => void socket.destroy())
  await using silent = await listen(() => undefined)
  await using headers = await listen((_path, socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'))
  await using tls = await listen(() => reply(200), { tls: certificateFor('name.test') })
  await using patient = open()
  await using hasty = open({ postMs: 100 })
  const word = async (url: string, outbound = patient) => {
    const posted = await outbound.of('alice').post(url, request, never)
    return 'error' in posted ? posted.error : posted.status
  }
  assert.equal(await word(garbage.origin), 'answer_unreadable')
  assert.equal(await word(huge.origin), 'answer_unreadable')
  assert.equal(await word(headers.origin), 'answer_unreadable')
  assert.equal(await word(broken.origin), 'connection_failed')
  assert.equal(await word('http://127.0.0.1:1/'), 'connection_failed')
  assert.equal(await word(`https://name.test:${tls.port}/`), 'certificate_refused')
  assert.equal(await word(silent.origin, hasty), 'timed_out')
  await using names = await startNameServer((name) => (name === 'failed.test' ? 'failed' : 'unknown'))
  await using nameless = openOutbound({ dial, allow: [], nameServers: [names.address] })
  assert.equal(await word('https://gone.test/', nameless), 'name_not_found')
  assert.equal(await word('https://failed.test/', nameless), 'name_lookup_failed')
})

test('a connection that hangs ends at its deadline', async () => {
  await using _keepsTheLoopAlive = await listen(() => '')
  const resolve = () => new Promise<string[]>(() => {})
  await using outbound = openOutbound({ dial, allow: [], resolve, deadlines: { connectMs: 20 } })
  assert.deepEqual(await outbound.of('alice').post('https://slow.test/', request, never), { error: 'timed_out' })
})

test('an aborted POST throws, and so does one that is closed', async () => {
  await using server = await listen(() => undefined)
  const outbound = open()
  const stop = new AbortController()
  const stopped = outbound.of('alice').post(server.origin, request, stop.signal)
  const closed = outbound.of('alice').post(server.origin, request, never)
  stop.abort(new Error('enough'))
  await assert.rejects(stopped, /enough/)
  await Promise.all([assert.rejects(closed, /closing/), outbound[Symbol.asyncDispose]()])
})

test('a URL is checked before it is stored, and the message says how an operator allows it', async () => {
  await using outbound = open({}, [])
  const check = (url: string) => outbound.of('alice').checkReceiver(url, 'url', never)
  const refused = (message: RegExp) => ({ name: 'Problem', code: 'invalid_webhook_url', param: 'url', message })
  for (const url of ['http://10.0.0.7/', 'https://hooks.internal/', 'https://rebound.test/', 'http://8.8.8.8:22/'])
    await assert.rejects(check(url), refused(/^The webhook URL was refused: .* outbound\.allow in filmgate\.yaml/), url)
  for (const url of ['nonsense', 'ftp://example.com/', 'https://a:b@example.com/', 'https://exa mple.com/'])
    await assert.rejects(check(url), refused(/^The webhook URL was refused: (?!.*(filmgate\.yaml|image))/), url)
  await using allowing = open({}, ['10.0.0.0/8', 'hooks.internal:8443'])
  await allowing.of('alice').checkReceiver('http://10.0.0.7:9000/', 'url', never)
  await allowing.of('alice').checkReceiver('https://hooks.internal:8443/x', 'url', never)
})

test("the operator's own URL may be private, for these requests only, and no redirect is followed", async () => {
  await using server = await listen(() => reply(204))
  await using moved = await listen(() => reply(307, { location: server.origin }))
  await using outbound = open({}, [])
  const accepted = { status: 204, retryAfter: null }
  for (const origin of [server.origin, `http://meter.internal:${server.port}`]) {
    assert.deepEqual(await outbound.postTrusted(`${origin}/events?key=k`, request, never), accepted)
    assert.deepEqual(await outbound.of('alice').post(`${origin}/events`, request, never), { error: 'url_refused' })
  }
  assert.equal(server.connections, 2)
  assert.deepEqual(await outbound.postTrusted(moved.origin, request, never), { status: 307, retryAfter: null })
  assert.equal(server.connections, 2)
  for (const url of ['ftp://meter.internal/', 'http://a:b@meter.internal/', 'x'])
    assert.deepEqual(await outbound.postTrusted(url, request, never), { error: 'url_refused' }, url)
})
