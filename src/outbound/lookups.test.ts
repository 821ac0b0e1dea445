import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLookups, openNameServers } from './lookups.ts'
import { startNameServer } from './name-server.fixture.ts'
import type { Target } from './target.ts'

const never = new AbortController().signal
const target = (host: string, trusted = false): Target => ({
  url: new URL(`https://${host}/`),
  host,
  port: 443,
  literal: false,
  trusted,
})

/** Lookups that stay open until the test answers them by name. */
function openQuestions() {
  const asked: string[] = []
  const answers = new Map<string, (addresses: string[]) => void>()
  return {
    asked,
    ask(host: string) {
      asked.push(host)
      const { promise, resolve } = Promise.withResolvers<string[]>()
      answers.set(host, resolve)
      return promise
    },
    answer: (host: string) => answers.get(host)?.(['1.1.1.1']),
  }
}

function open() {
  const [system, nameServers] = [openQuestions(), openQuestions()]
  return { system, nameServers, lookups: openLookups({ system: system.ask, nameServers: nameServers.ask }) }
}

test('a token with any number of names that hang leaves the lookups of others alone', async () => {
  const { system, nameServers, lookups } = open()
  const mallory = lookups.ofToken('mallory')
  for (let at = 0; at < 500; at += 1) void mallory(target(`silent${at}.test`), never)
  const other = lookups.ofToken('alice')(target('alice.test'), never)
  const provider = lookups.ofProvider('provider.test')(target('provider.test', true), never)
  await new Promise(setImmediate)
  assert.equal(nameServers.asked.length, 9)
  nameServers.answer('alice.test')
  system.answer('provider.test')
  assert.deepEqual([await other, await provider], [['1.1.1.1'], ['1.1.1.1']])
})

test("names from the configuration use the system's lookup, one at a time for clients, and a provider never waits", async () => {
  const { system, nameServers, lookups } = open()
  for (const owner of ['mallory', 'alice'])
    for (const host of ['a.corp', 'b.corp']) void lookups.ofToken(owner)(target(host, true), never)
  const provider = lookups.ofProvider('gpu')(target('gpu', true), never)
  await new Promise(setImmediate)
  assert.deepEqual(system.asked.toSorted(), ['a.corp', 'gpu'])
  system.answer('gpu')
  await provider
  assert.deepEqual(nameServers.asked, [])
})

test('concurrent lookups of a host share one, and a later one resolves again', async () => {
  const { system, lookups } = open()
  const lookup = lookups.ofProvider('gpu')
  const all = Array.from({ length: 50 }, () => lookup(target('gpu', true), never))
  assert.deepEqual(system.asked, ['gpu'])
  system.answer('gpu')
  await Promise.all(all)
  void lookup(target('gpu', true), never)
  assert.deepEqual(system.asked, ['gpu', 'gpu'])
})

test("a host in a provider's response is not resolved by the system's lookup", async () => {
  const { system, nameServers, lookups } = open()
  void lookups.ofProvider('gpu')(target('results.test'), never)
  await new Promise(setImmediate)
  assert.deepEqual([system.asked, nameServers.asked], [[], ['results.test']])
})

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

async function openServer(ownAddresses: string[] = ['10.0.0.2', 'fe80::1']) {
  const server = await startNameServer(records)
  const resolve = openNameServers({ servers: [server.address], ownAddresses: () => ownAddresses })
  return { server, resolve: (host: string, signal = never) => resolve(host, signal) }
}

test('a name has its addresses of both families, over aliases too', async () => {
  const { server, resolve } = await openServer()
  await using _server = server
  assert.deepEqual(await resolve('four.test'), [four, '1.1.1.1'])
  assert.deepEqual(await resolve('six.test'), [six])
  assert.deepEqual(await resolve('both.test'), [four, six])
  assert.deepEqual(await resolve('alias.test'), [four, six])
  assert.deepEqual(server.questions.slice(0, 2).sort(), ['A four.test', 'AAAA four.test'])
})

test('IPv6 comes first where this machine has a public address of that kind', async () => {
  const { server, resolve } = await openServer(['10.0.0.2', '2a01:4f8::2'])
  await using _server = server
  assert.deepEqual(await resolve('both.test'), [six, four])
})

test('a family without a response does not prevent the use of the other', async () => {
  const { server, resolve } = await openServer()
  await using _server = server
  assert.deepEqual(await resolve('half.test'), [four])
})

test('a name without an address has another error than one that cannot be resolved', async () => {
  const { server, resolve } = await openServer()
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
  const { server, resolve } = await openServer()
  await using _server = server
  const stop = new AbortController()
  const silent = resolve('silent.test', stop.signal)
  stop.abort(new Error('enough'))
  await assert.rejects(silent, /enough/)
  await assert.rejects(resolve('four.test', stop.signal), /enough/)
})

test('without a name server, or with one that is down, the error names the servers', async () => {
  const gone = await startNameServer(records)
  await gone[Symbol.asyncDispose]()
  for (const servers of [[], [gone.address]]) {
    const resolve = openNameServers({ servers, ownAddresses: () => [] })
    await assert.rejects(resolve('four.test', never), { code: 'EAI_AGAIN', message: /resolv\.conf \(\S.*\) did not/ })
  }
})
