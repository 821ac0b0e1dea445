import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOutbound } from '../outbound.ts'
import { listen } from './loopback.fixture.ts'
import { startNameServer } from './name-server.fixture.ts'

const never = new AbortController().signal
const neverResolve = async (): Promise<string[]> => assert.fail('the resolver must not be asked')
const dial = (): never => assert.fail('nothing may be connected to')
const at =
  (...addresses: string[]) =>
  async () =>
    addresses

type Case = [url: string, reason: RegExp]
const address = /not at a public address/
const name = /belongs to a private network/
const scheme = /does not start with/
const character = /control character/
const invalid = /not a valid URL/
const port = /its port/
const user = /user name or a password/

const refused: Case[] = [
  ...[
    'http://127.0.0.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http:127.0.0.1',
    'http:/127.0.0.1',
    'http:////127.0.0.1',
    'http://0/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://168.63.129.16/',
    'http://100.64.0.1/',
    'http://192.0.0.1/',
    'http://198.18.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://10.0.0.1:8080/',
    'https://192.168.1.1/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://127.0.0.1:22/',
  ].map((url): Case => [url, address]),
  ...[
    'http://localhost/',
    'http://LOCALHOST/',
    'http://localhost./',
    'http://%6cocalhost/',
    'http://ⓛocalhost/',
    'http://a.localhost:8080/',
    'http://printer.local/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://metadata.google.internal./',
    'http://db.svc.cluster.local/',
    'http://host.localdomain/',
    'http://router.home.arpa/',
    'http://metadata/',
  ].map((url): Case => [url, name]),
  ...[
    'ftp://example.com/a.png',
    'file:///etc/passwd',
    'data:image/png;base64,AA==',
    'gopher://example.com/',
    'javascript:alert(1)',
    'ws://example.com/',
    'blob:https://example.com/1',
    'localhost:8080/x',
  ].map((url): Case => [url, scheme]),
  ...[
    ' ',
    '   ',
    ' https://example.com/',
    'https://example.com/a b.png',
    'https://exa\r\nmple.com/',
    'https://example.com/\r\nHost: x',
    'https://example.com/\0',
    'http://example.com\t/',
    'http:\\\\127.0.0.1\\',
    'http://example.com\\@127.0.0.1/',
    'https://example.com/\u2028',
  ].map((url): Case => [url, character]),
  ...[
    '',
    'example.com/a.png',
    '//example.com/a.png',
    '/etc/passwd',
    'http://',
    'http://[fe80::1%25eth0]/',
    'http://[::1/',
    'http://256.256.256.256/',
    'http://example.com:99999/',
    'http://example.com:-1/',
    'http://a..b/',
    'http://./',
    'http://example.com../',
    'http://exa%00mple.com/',
    'not a url'.replaceAll(' ', ''),
  ].map((url): Case => [url, invalid]),
  ...['http://user:pass@example.com/', 'http://user@example.com/', 'http://:x@example.com/', 'http://a@b@c.com/'].map(
    (url): Case => [url, user],
  ),
  ...['http://1.1.1.1:22/', 'http://1.1.1.1:6379/', 'https://[2606:4700::1111]:25/', 'http://1.1.1.1:0/'].map(
    (url): Case => [url, port],
  ),
  [`https://example.com/${'a'.repeat(8192)}`, /longer than 8192/],
  [`https://example.com/${'é'.repeat(2000)}`, /longer than 8192/],
]

for (const [url, reason] of refused) {
  test(`${JSON.stringify(url.slice(0, 60))} is refused without a question to the network`, async () => {
    await using outbound = openOutbound({ dial, allow: [], resolve: neverResolve })
    await assert.rejects(outbound.of('alice').check(url, 'image_url', never), {
      name: 'Problem',
      code: 'invalid_image_url',
      param: 'image_url',
      retryable: false,
      message: reason,
    })
    await assert.rejects(outbound.of('alice').download(url, { maxBytes: 1 }, never), {
      name: 'Problem',
      code: 'image_unavailable',
      retryable: false,
      message: reason,
    })
  })
}

for (const url of [
  'http://1.1.1.1/a.png',
  'https://8.8.8.8:8443/',
  'http://[2606:4700::1111]:8080/',
  'https://example.com/a.png?x=1#y',
  'HTTPS://EXAMPLE.COM./',
  'https://bücher.example/ä.png',
  'https://localhost.example.com/',
  'https://mylocal/',
]) {
  test(`${url} may be fetched where its host is at a public address`, async () => {
    await using outbound = openOutbound({ dial, allow: [], resolve: at('93.184.216.34', '2606:4700::1111') })
    await outbound.of('alice').check(url, 'image_url', never)
  })
}

test('a name with one public and one private address is refused, and the message names no address', async () => {
  for (const addresses of [
    ['1.1.1.1', '10.0.0.7'],
    ['10.0.0.7', '1.1.1.1'],
    ['2606:4700::1111', '::ffff:10.0.0.7'],
  ]) {
    await using outbound = openOutbound({ dial, allow: [], resolve: at(...addresses) })
    await assert.rejects(outbound.of('alice').check('https://example.com/', 'p', never), (thrown: Error) => {
      assert.match(thrown.message, address)
      assert.doesNotMatch(thrown.message, /10\.0/)
      return true
    })
  }
})

test('a result of the resolver that is not an address is refused', async () => {
  await using outbound = openOutbound({ dial, allow: [], resolve: at('127.1') })
  await assert.rejects(outbound.of('alice').check('https://example.com/', 'p', never), { message: address })
})

test('a public address of this machine itself is refused', async () => {
  await using outbound = openOutbound({ dial, allow: [], resolve: neverResolve, ownAddresses: () => ['1.1.1.1'] })
  await assert.rejects(outbound.of('alice').check('http://1.1.1.1/', 'p', never), { message: address })
  await outbound.of('alice').check('http://1.0.0.1/', 'p', never)
})

test('a name on another port is refused, whether it resolves or not', async () => {
  for (const resolve of [at('1.1.1.1'), async () => Promise.reject(new Error('ENOTFOUND'))]) {
    await using outbound = openOutbound({ dial, allow: [], resolve })
    await assert.rejects(outbound.of('alice').check('http://example.com:6379/', 'p', never), { message: port })
  }
})

test('a name that does not exist is refused, and one that can not be resolved now passes the check', async () => {
  await using server = await startNameServer((name) => (name === 'silent.test' ? 'silent' : 'unknown'))
  const options = { dial, nameServers: [server.address], allow: [] }
  await using outbound = openOutbound({ ...options, deadlines: { checkMs: 60_000 } })
  const client = outbound.of('alice')
  for (const url of ['https://gone.test/', 'https://short/']) {
    const message = /its host name does not exist in the DNS\. Check its spelling\./
    await assert.rejects(client.check(url, 'image', never), { code: 'invalid_image_url', param: 'image', message })
    await assert.rejects(client.checkReceiver(url, 'url', never), {
      code: 'invalid_webhook_url',
      param: 'url',
      message,
    })
  }
  await using hasty = openOutbound({ ...options, deadlines: { checkMs: 20 } })
  await hasty.of('alice').check('https://silent.test/', 'image', never)
  await hasty.of('alice').checkReceiver('https://silent.test/', 'url', never)
})

test('a name in the hosts file is found only where the operator allows it', async () => {
  await using server = await startNameServer(() => undefined)
  const nameServers = [server.address]
  const url = 'http://localhost:9000/'
  await using outbound = openOutbound({ dial, nameServers, allow: [] })
  await assert.rejects(outbound.of('alice').check(url, 'p', never), { message: name })
  await using allowing = openOutbound({ dial, nameServers, allow: ['localhost:9000'] })
  await allowing.of('alice').check(url, 'p', never)
  assert.deepEqual(server.questions, [])
})

test('a host that the operator names may have no address for now', async () => {
  const lost = Object.assign(new Error('x'), { code: 'ENOTFOUND' })
  await using outbound = openOutbound({ dial, allow: ['hooks.corp'], resolve: () => Promise.reject(lost) })
  await outbound.of('alice').check('https://hooks.corp/', 'p', never)
})

test('a resolver that hangs ends the check at its deadline, and the URL passes', async () => {
  await using _keepsTheLoopAlive = await listen(() => '')
  const resolve = () => new Promise<string[]>(() => {})
  await using outbound = openOutbound({ dial, allow: [], resolve, deadlines: { checkMs: 10 } })
  await outbound.of('alice').check('https://example.com/', 'p', never)
})

test('the signal of the caller ends the check', async () => {
  const stop = new AbortController()
  await using outbound = openOutbound({
    dial,
    allow: [],
    resolve: () => new Promise<string[]>(() => stop.abort('enough')),
  })
  await assert.rejects(
    outbound.of('alice').check('https://example.com/', 'p', stop.signal),
    (thrown) => thrown === 'enough',
  )
})

test('what the operator allows passes, on the ports that the operator allows', async () => {
  const allow = ['10.1.0.0/16', '127.0.0.1:9000', '[::1]:9000', 'images.corp.internal']
  await using outbound = openOutbound({ dial, allow, resolve: at('10.1.2.3') })
  for (const url of [
    'http://10.1.2.3:22/',
    'http://127.0.0.1:9000/',
    'http://[::1]:9000/',
    'http://images.corp.internal:7/',
    'http://images.corp.internal./',
    'http://example.com:1234/',
  ]) {
    await outbound.of('alice').check(url, 'p', never)
  }
  for (const url of ['http://10.2.0.1/', 'http://127.0.0.1:9001/', 'http://127.0.0.1/', 'http://127.0.0.2:9000/']) {
    await assert.rejects(outbound.of('alice').check(url, 'p', never), { message: address }, url)
  }
  await assert.rejects(outbound.of('alice').check('http://db.corp.internal/', 'p', never), { message: name })
  await assert.rejects(outbound.of('alice').check('ftp://images.corp.internal/', 'p', never), { message: scheme })
})

test('an exception that cannot be read stops the start', () => {
  assert.throws(() => openOutbound({ dial, allow: ['10.0.0.0/99'] }), /10\.0\.0\.0\/99/)
})
