import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOutbound } from '../outbound.ts'
import { readBase, readHeaders } from './base.ts'

const never = new AbortController().signal

test('a path is appended to the path of the base URL', () => {
  for (const [base, path, url] of [
    ['https://a.test', '/', 'https://a.test/'],
    ['https://a.test/', '/b?c=d', 'https://a.test/b?c=d'],
    ['https://a.test:8443/v1', '/b//c', 'https://a.test:8443/v1/b//c'],
    ['http://10.0.0.1/v1//', '/b:c@d', 'http://10.0.0.1/v1/b:c@d'],
    ['http://[::1]:80/v1/', '/a..b/...?d=../e', 'http://[::1]/v1/a..b/...?d=../e'],
    ['https://a.test./v1', '/b', 'https://a.test/v1/b'],
  ] as const) {
    assert.equal(readBase(base).below(path).url.href, url)
  }
})

const wrongPaths = [
  ['', 'b', '?b', '//other.test', '//other.test/b', 'https://other.test/', '@other.test/', ':80/', '.other.test/'],
  ['/\\other.test', '\\\\other.test', '/b\\..\\c', '/b#c', '/b c', '/b\r\nc', '/b\tc', '/ü', '/\0'],
  ['/..', '/../b', '/b/..', '/b/../c', '/b/./c', '/.', '/%2e%2E/b', '/.%2e', '/b%2f..%2fc', '/..%5cb', '/%2e%2e?x'],
].flat()

test('a path that could lead elsewhere throws a plain Error, and nothing is sent', async () => {
  await using outbound = openOutbound({ allow: [], dial: () => assert.fail('it was dialled') })
  const upstream = outbound.upstream('http://127.0.0.1/v1')
  for (const path of wrongPaths) {
    for (const kind of ['send', 'fetch'] as const) {
      await assert.rejects(
        upstream[kind](path, { method: 'GET' }, never),
        { name: 'Error', message: /not a path/ },
        path,
      )
    }
  }
})

test('a header that could break the request throws a plain Error without its value', async () => {
  await using outbound = openOutbound({ allow: [], dial: () => assert.fail('it was dialled') })
  const upstream = outbound.upstream('http://127.0.0.1')
  for (const [name, value] of [
    ['authorization', 'secret\r\nx: y'],
    ['authorization', 'secret\n'],
    ['authorization', 'secret\r'],
    ['authorization', 'secret\0'],
    ['authorization', 'secret€'],
    ['a b', 'secret'],
    ['a:', 'secret'],
    ['a\r\nb', 'secret'],
    ['', 'secret'],
    ['Host', 'secret.test'],
    ['Content-Length', '1'],
    ['transfer-encoding', 'chunked'],
    ['Connection', 'keep-alive'],
    ['expect', '100-continue'],
    ['accept-encoding', 'gzip'],
  ] as const) {
    const headers = { [name]: value }
    const mistake = (thrown: Error) => thrown.name === 'Error' && !/secret/.test(thrown.message)
    await assert.rejects(upstream.send('/', { method: 'POST', headers }, never), mistake, name)
    await assert.rejects(upstream.fetch('/', { method: 'GET', headers }, never), mistake, name)
    await assert.rejects(upstream.download('http://127.0.0.1/', { headers }, never), mistake, name)
  }
})

test('a header replaces ours of the same name, however it is spelt', () => {
  const headers = readHeaders({ Accept: 'video/mp4', 'X-Key': 'a' })
  assert.deepEqual(headers, {
    accept: 'video/mp4',
    'user-agent': 'filmgate',
    'x-key': 'a',
    'accept-encoding': 'identity',
  })
})

test('an invalid base URL is refused, and the error does not quote it', async () => {
  await using outbound = openOutbound({ allow: [] })
  for (const base of [
    '',
    'secret',
    'ftp://secret.test',
    'https://u:secret@a.test',
    'https://secret@a.test',
    'https://a.test?secret',
    'https://a.test/#secret',
  ]) {
    assert.throws(
      () => outbound.upstream(base),
      (thrown: Error) => thrown.name === 'Error' && !/secret/.test(thrown.message),
    )
  }
})
