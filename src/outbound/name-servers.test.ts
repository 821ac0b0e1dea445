import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startNameServer } from './name-server.fixture.ts'
import { openNameServers } from './name-servers.ts'

const never = new AbortController().signal
const [four, six] = ['93.184.216.34', '2606:4700::1111']

function records(name: string) {
  return {
    'both.test': { addresses: [six, four] },
    'four.test': { addresses: [four, '1.1.1.1'] },
    'six.test': { addresses: [six] },
    'alias.test': { alias: 'both.test' },
    'empty.test': {},
    'half.test': { addresses: [four], silentFor: 'AAAA' as const },
    'failed.test': 'failed' as const,
    'refused.test': 'refused' as const,
    'silent.test': 'silent' as const,
  }[name]
}

async function open(ownAddresses: string[] = ['10.0.0.2', 'fe80::1']) {
  const server = await startNameServer(records)
  const resolve = openNameServers({ servers: [server.address], ownAddresses: () => ownAddresses })
  return { server, resolve: (host: string, signal = never) => resolve(host, signal) }
}

test('a name has its addresses of both families, over aliases too', async () => {
  const { server, resolve } = await open()
  await using _server = server
  assert.deepEqual(await resolve('four.test'), [four, '1.1.1.1'])
  assert.deepEqual(await resolve('six.test'), [six])
  assert.deepEqual(await resolve('both.test'), [four, six])
  assert.deepEqual(await resolve('alias.test'), [four, six])
  assert.deepEqual(server.questions.slice(0, 2).sort(), ['A four.test', 'AAAA four.test'])
})

test('IPv6 comes first where this machine has a public address of that kind', async () => {
  const { server, resolve } = await open(['10.0.0.2', '2a01:4f8::2'])
  await using _server = server
  assert.deepEqual(await resolve('both.test'), [six, four])
})

test('one family without a response does not keep the other from being used', async () => {
  const { server, resolve } = await open()
  await using _server = server
  assert.deepEqual(await resolve('half.test'), [four])
})

test('a name without an address is told apart from one that can not be resolved', async () => {
  const { server, resolve } = await open()
  await using _server = server
  for (const host of ['nowhere.test', 'empty.test', 'intranet-host', `${'x'.repeat(64)}.test`])
    await assert.rejects(resolve(host), { code: 'ENOTFOUND' }, host)
  for (const host of ['failed.test', 'refused.test'])
    await assert.rejects(resolve(host), {
      code: 'EAI_AGAIN',
      message: /name servers .*127\.0\.0\.1:\d+.* did not resolve/,
    })
})

test('the signal ends a question that gets no response', async () => {
  const { server, resolve } = await open()
  await using _server = server
  const stop = new AbortController()
  const silent = resolve('silent.test', stop.signal)
  stop.abort(new Error('enough'))
  await assert.rejects(silent, /enough/)
  await assert.rejects(resolve('four.test', stop.signal), /enough/)
})

test('without a name server, or with one that is not there, the error says who was asked', async () => {
  const gone = await startNameServer(records)
  await gone[Symbol.asyncDispose]()
  for (const servers of [[], [gone.address]]) {
    const resolve = openNameServers({ servers, ownAddresses: () => [] })
    await assert.rejects(resolve('four.test', never), { code: 'EAI_AGAIN', message: /resolv\.conf \(\S.*\) did not/ })
  }
})
