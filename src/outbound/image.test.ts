import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Problem } from '../core/problem.ts'
import { openOutbound } from '../outbound.ts'
import { dialLoopback as dial, listen, reply } from './loopback.fixture.ts'

type Bad = [title: string, answer: string | Uint8Array, message: RegExp]
const broken = /connection failed/
const large = /larger than 1000 bytes/
const gzipped = gzipSync('pixels')
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`

const permanent: Bad[] = [
  ['17 interim responses', `${HINTS.repeat(17)}${reply(200, {}, 'x')}`, /too many interim responses \(1xx\)/],
  ...[204, 206, 300, 304, 400, 401, 403, 404, 410].map(
    (status): Bad => [`status ${status}`, reply(status), new RegExp(`status ${status} `)],
  ),
  ['a redirect without a Location', reply(302), /redirects without a Location header/],
  [
    'two redirects at once',
    'HTTP/1.1 302 A\r\nLocation: /a\r\nLocation: /b\r\n\r\n',
    /redirects to a URL that was refused/,
  ],
  ['a length over the limit', reply(200, { 'content-length': 1001 }, 'x'), large],
  ['an absurd length', reply(200, { 'content-length': '9'.repeat(18) }, 'x'), large],
  ['more bytes than the limit', `${OK}\r\n${'x'.repeat(1001)}`, large],
  ['too large a chunk', `${CHUNKED}fffffff\r\n${'x'.repeat(5000)}`, large],
  ['many bytes over the limit', `${OK}\r\n${'x'.repeat(1_000_000)}`, large],
  [
    'gzip',
    Buffer.concat([Buffer.from(reply(200, { 'content-encoding': 'gzip', 'content-length': gzipped.length })), gzipped]),
    /compressed/,
  ],
  ['two encodings', reply(200, { 'content-encoding': 'identity, br' }, 'x'), /compressed/],
  ['two encoding headers', `${OK}content-encoding: identity\r\ncontent-encoding: br\r\n\r\nx`, /compressed/],
]

const temporary: Bad[] = [
  ...[408, 429, 500, 502, 503, 599].map(
    (status): Bad => [`status ${status}`, reply(status, {}, 'root:x:0:0'), new RegExp(`status ${status} `)],
  ),
  ['status 101', 'HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', broken],
  ['status 100 and no more', 'HTTP/1.1 100 Continue\r\n\r\n', broken],
  ['fewer bytes than its length', reply(200, { 'content-length': 10 }, 'root:x'), broken],
  ['chunks that break off', `${CHUNKED}5\r\nab`, broken],
  ['chunks without an end', `${CHUNKED}2\r\nab\r\n`, broken],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`, broken],
  ['a negative length', reply(200, { 'content-length': -1 }, 'ab'), broken],
  ['a length and chunks', reply(200, { 'transfer-encoding': 'chunked' }, '1\r\na\r\n0\r\n\r\n'), broken],
  ['headers over 16 KiB', `${OK}${'a: b\r\n'.repeat(20_000)}\r\n`, broken],
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\nroot:x', broken],
  ['nothing in it', '', broken],
]

for (const [retryable, table] of [
  [false, permanent],
  [true, temporary],
] as const) {
  for (const [title, answer, message] of table) {
    test(`a response with ${title} is a failure that is ${retryable ? '' : 'not '}retryable, and the message has none of its text`, async () => {
      await using server = await listen(() => answer)
      await using outbound = openOutbound({ dial, allow: ['127.0.0.1'] })
      const download = outbound.of('alice').download(server.origin, { maxBytes: 1000 }, new AbortController().signal)
      const problem = await download.then(() => assert.fail('it was accepted as an image'), Problem.from)
      assert.equal(problem.code, 'image_unavailable', problem.stack)
      assert.equal(problem.retryable, retryable)
      assert.match(problem.message, message)
      assert.doesNotMatch(problem.message, /root|SSH|127/)
      assert.equal(server.connections, 1)
    })
  }
}
