import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLookups } from './lookups.ts'
import type { Target } from './target.ts'

const never = new AbortController().signal
const target = (host: string, trusted = false): Target => ({
  ...{ url: new URL(`https://${host}/`), host, port: 443, literal: false, trusted },
})

/** Questions that stay open until they are answered by name. */
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

test("names that the operator wrote go the system's way, one at a time for clients, and a provider never waits", async () => {
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

test('one lookup of a host is shared by all who want it meanwhile, and the next one asks again', async () => {
  const { system, lookups } = open()
  const lookup = lookups.ofProvider('gpu')
  const all = Array.from({ length: 50 }, () => lookup(target('gpu', true), never))
  assert.deepEqual(system.asked, ['gpu'])
  system.answer('gpu')
  await Promise.all(all)
  void lookup(target('gpu', true), never)
  assert.deepEqual(system.asked, ['gpu', 'gpu'])
})

test("a host that a provider names is not looked up the system's way", async () => {
  const { system, nameServers, lookups } = open()
  void lookups.ofProvider('gpu')(target('results.test'), never)
  await new Promise(setImmediate)
  assert.deepEqual([system.asked, nameServers.asked], [[], ['results.test']])
})
