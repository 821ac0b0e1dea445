import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSlots } from './slots.ts'

const never = new AbortController().signal

/** Work that ends when it is told to. */
function openWork() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string) => () => {
    begun.push(name)
    const { promise, resolve } = Promise.withResolvers<string>()
    ends.set(name, () => resolve(name))
    return promise
  }
  return { begun, start, end: (name: string) => ends.get(name)?.() }
}

test('an owner has no more than its share, and others have theirs all the same', async () => {
  const { begun, start, end } = openWork()
  const slots = openSlots({ inAll: 4, perOwner: 2 })
  const all = ['m1', 'm2', 'm3', 'a1'].map((name) => slots.use(name.charAt(0), start(name), never))
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['m1', 'm2', 'a1'])
  end('m1')
  assert.equal(await all[0], 'm1')
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['m1', 'm2', 'a1', 'm3'])
})

test('owners that wait take turns, however long the queue of one is', async () => {
  const { begun, start, end } = openWork()
  const slots = openSlots({ inAll: 1, perOwner: 1 })
  for (const name of ['m1', 'm2', 'm3', 'a1', 'b1', 'a2']) void slots.use(name.charAt(0), start(name), never)
  for (let at = 0; at < 6; at += 1) {
    await new Promise(setImmediate)
    end(begun[at] ?? '')
  }
  assert.deepEqual(begun, ['m1', 'm2', 'a1', 'b1', 'm3', 'a2'])
})

test('who gives up leaves the queue, and a failure gives its slot back', async () => {
  const { begun, start } = openWork()
  const slots = openSlots({ inAll: 1, perOwner: 1 })
  const failing = Promise.withResolvers<never>()
  const failed = slots.use('m', () => failing.promise, never)
  const stop = new AbortController()
  const left = slots.use('m', start('m2'), stop.signal)
  void slots.use('a', start('a1'), never)
  stop.abort(new Error('enough'))
  await assert.rejects(left, /enough/)
  await assert.rejects(slots.use('m', start('m3'), stop.signal), /enough/)
  failing.reject(new Error('it failed'))
  await assert.rejects(failed, /it failed/)
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['a1'])
})
