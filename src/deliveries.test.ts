import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Spacing } from './core/bell.ts'
import { manualClock } from './core/clock.fixture.ts'
import { Problem } from './core/problem.ts'
import { startDeliveries } from './deliveries.ts'
import type { Posted } from './outbound.ts'
import { newEndpoint } from './stores/contract/webhooks.ts'
import { decide, sent } from './stores/contract/world.ts'
import { openSqlite } from './stores/sqlite.ts'
import type { Store } from './stores/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-deliveries-'))
after(() => rmSync(folder, { recursive: true }))
const noted: string[] = []
const log = {
  info: (event: string) => void noted.push(event),
  warn: (event: string) => void noted.push(event),
  error: (event: string) => void noted.push(event),
}

interface Sent {
  url: string
  id: string | undefined
  signal: AbortSignal
}

type Answer = (sent: Sent) => Posted | Promise<Posted>

/** The loop on a real store, with a network and a clock that the test controls. */
async function world(
  answer: Answer,
  {
    wrap = (store: Store) => store,
    knows = (_: string): boolean => true,
    hasFiles = (): boolean => true,
    spacing = undefined as Spacing | undefined,
  } = {},
) {
  const stack = new AsyncDisposableStack()
  const data = mkdtempSync(join(folder, 'data-'))
  const store = stack.use(await openSqlite({ folder: data, now: 0, onFatal: assert.ifError }))
  const clock = manualClock(1_000)
  const posts: Sent[] = []
  const client = {
    async post(url: string, { headers }: { headers: Readonly<Record<string, string>> }, signal: AbortSignal) {
      const one = { url, id: headers['webhook-id'], signal }
      posts.push(one)
      return await answer(one)
    },
  }
  const random = (count: number) => new Uint8Array(count)
  const deliveries = startDeliveries({
    store: wrap(store),
    outbound: { of: () => client },
    clock,
    random,
    log,
    access: { knows },
    hasFiles,
    ...(spacing && { spacing }),
  })
  return {
    store,
    clock,
    posts,
    deliveries,
    /** Ends another task of that owner. */
    async end(number: string, owner = 'alice') {
      const held = await sent(store, number, `attempt_${number}`, { owner })
      const events = [{ at: clock.now(), name: 'completed', detail: null }]
      assert.ok(await store.record(decide(held, { state: 'completed', startedAt: 15 }, { events })))
    },
    /** Runs the loop and moves the clock on by so much each time, until the condition holds. */
    async until(isSo: () => boolean | Promise<boolean>, stepMs = 0) {
      for (let turn = 0; !(await isSo()); turn += 1) {
        assert.ok(turn < 5_000, 'it never came about')
        clock.advance(stepMs)
        // The store is a real one and needs some time, too.
        await setTimeout(2)
      }
    },
    states: async (endpoint = newEndpoint('1').id) =>
      (await store.deliveries(endpoint, { limit: 99 })).map(({ state }) => state),
    async [Symbol.asyncDispose]() {
      await deliveries[Symbol.asyncDispose]()
      await stack.disposeAsync()
    },
  }
}

const answered = (status: number): Posted => ({ status, retryAfter: null })
const isDelivered = (states: string[]) => states.length > 0 && states.every((state) => state === 'delivered')

it('sends nothing while no connection can be opened, and no endpoint is blamed', async () => {
  let looks = 0
  let isFull = true
  const hasFiles = () => {
    looks += 1
    return !isFull
  }
  await using loop = await world(() => answered(204), { hasFiles })
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  await loop.end('1')
  await loop.until(() => looks > 3, 1_000)
  assert.deepEqual(await loop.states(), ['pending'])
  isFull = false
  await loop.until(async () => isDelivered(await loop.states()), 1_000)
  const [delivery] = await loop.store.deliveries(newEndpoint('1').id, { limit: 1 })
  assert.equal(delivery?.tries, 1)
})

it('delivers the result of a task, and tries again on time if that fails', async () => {
  let status = 500
  await using loop = await world(() => answered(status))
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  await loop.end('1')
  const [made] = await loop.store.deliveries(newEndpoint('1').id, { limit: 1 })
  const look = () => loop.store.delivery(newEndpoint('1').id, made?.id ?? '')
  await loop.until(async () => (await look())?.tries === 1)
  assert.equal((await look())?.dueAt, loop.clock.now() + 5_000)
  loop.clock.advance(4_000)
  await loop.end('2')
  await loop.until(() => loop.posts.length === 2)
  assert.notEqual(loop.posts[1]?.id, made?.id)
  status = 204
  await loop.until(async () => isDelivered(await loop.states()), 500)
  const log = (await look())?.log ?? []
  assert.deepEqual(
    log.map(({ status }) => status),
    [500, 204],
  )
  assert.ok((log[1]?.at ?? 0) - (log[0]?.at ?? 0) >= 5_000)
  assert.deepEqual(loop.posts.map(({ id }) => id === made?.id).sort(), [false, false, true, true])
})

it('survives a store that is unavailable, and records the responses later', async () => {
  let away = false
  const failing =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      away ? Promise.reject(Problem.ofStorage('away')) : call(...args)
  const wrap = (store: Store): Store => ({
    ...store,
    dueEndpoints: failing(store.dueEndpoints),
    recordDelivery: failing(store.recordDelivery),
  })
  const reached = () => {
    away = true
    return answered(200)
  }
  await using loop = await world(reached, { wrap })
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  await loop.end('1')
  await loop.until(() => noted.includes('deliveries could not be claimed'), 100)
  await loop.until(() => noted.includes('a delivery could not be recorded'), 100)
  assert.deepEqual(await loop.states(), ['pending'])
  away = false
  await loop.until(async () => isDelivered(await loop.states()), 500)
  assert.equal(loop.posts.length, 1)
})

it('a receiver that responds with 410 gets nothing more: its pending deliveries fail, and no others', async () => {
  const all = Promise.withResolvers<void>()
  await using loop = await world(async ({ url }) => {
    await all.promise
    return answered(url.includes('gone') ? 410 : 500)
  })
  await loop.store.insertEndpoint(newEndpoint('1', { url: 'https://gone.test/' }), 9)
  await loop.store.insertEndpoint(newEndpoint('2', { url: 'https://live.test/' }), 9)
  for (let number = 1; number <= 20; number += 1) await loop.end(String(number))
  all.resolve()
  await loop.until(async () => (await loop.states()).every((state) => state === 'failed'), 1_000)
  assert.equal(loop.posts.filter(({ url }) => url.includes('gone')).length, 8)
  const endpoint = await loop.store.endpoint('alice', newEndpoint('1').id)
  assert.match(endpoint?.disabledWhy ?? '', /410/)
  assert.ok((await loop.states(newEndpoint('2').id)).every((state) => state === 'pending'))
  const before = loop.posts.filter(({ url }) => url.includes('gone')).length
  await loop.end('99')
  assert.equal((await loop.states()).length, 20)
  assert.equal(loop.posts.filter(({ url }) => url.includes('gone')).length, before)
})

it('a host that hangs takes only its own slots', async () => {
  const hung = Promise.withResolvers<Posted>()
  await using loop = await world(({ url }) => (url.includes('dead') ? hung.promise : answered(200)))
  await loop.store.insertEndpoint(newEndpoint('1', { url: 'https://dead.test/' }), 9)
  await loop.store.insertEndpoint(newEndpoint('2', { owner: 'bob', url: 'https://live.test/' }), 9)
  for (let number = 1; number <= 30; number += 1) {
    await loop.end(String(number))
    await loop.end(String(100 + number), 'bob')
  }
  await loop.until(async () => isDelivered(await loop.states(newEndpoint('2').id)))
  assert.equal(loop.posts.filter(({ url }) => url.includes('dead')).length, 8)
  hung.resolve({ error: 'timed_out' })
})

const rarely: Spacing = { leastMs: 50, usualMs: () => 100_000, longestMs: 100_000 }

it('many that wait leave one after the other, beside an endpoint with few, however rarely the process looks otherwise', async () => {
  let isFull = true
  await using loop = await world(() => answered(204), { hasFiles: () => !isFull, spacing: rarely })
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  await loop.store.insertEndpoint(newEndpoint('2', { owner: 'bob', url: 'https://other.test/' }), 9)
  for (let number = 1; number <= 30; number += 1) await loop.end(String(number))
  await loop.end('99', 'bob')
  isFull = false
  const begin = loop.clock.now()
  await loop.until(async () => isDelivered(await loop.states()), 200)
  const rests = Math.floor((loop.clock.now() - begin) / rarely.usualMs())
  assert.ok(rests <= 1, `${rests} long rests for 30 deliveries`)
})

it('deliveries that found no free slot leave when there is one, however rarely the process looks otherwise', async () => {
  let looks = 0
  const wrap = (store: Store): Store => ({
    ...store,
    dueEndpoints(now) {
      looks += 1
      return store.dueEndpoints(now)
    },
  })
  let isFull = true
  const hung = Promise.withResolvers<Posted>()
  await using loop = await world(() => hung.promise, { wrap, hasFiles: () => !isFull, spacing: rarely })
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  for (let number = 1; number <= 16; number += 1) await loop.end(String(number))
  isFull = false
  await loop.until(() => loop.posts.length === 8, 200)
  const before = looks
  await loop.end('99', 'bob')
  await loop.until(() => looks > before, 10)
  const begin = loop.clock.now()
  hung.resolve(answered(204))
  await loop.until(async () => isDelivered(await loop.states()), 10)
  assert.ok(loop.clock.now() - begin < rarely.usualMs(), 'it rested for long')
})

it('deliveries of a removed token wait, and are sent when the token exists again', async () => {
  let isBack = false
  await using loop = await world(() => answered(200), { knows: (owner) => owner !== 'alice' || isBack })
  await loop.store.insertEndpoint(newEndpoint('1'), 9)
  await loop.store.insertEndpoint(newEndpoint('2', { owner: 'bob' }), 9)
  await loop.end('1')
  await loop.end('2', 'bob')
  await loop.until(async () => isDelivered(await loop.states(newEndpoint('2').id)))
  assert.deepEqual(await loop.states(), ['pending'])
  isBack = true
  await loop.until(async () => isDelivered(await loop.states()), 500)
})

it('closing waits for running tries, and aborts those that take too long', async () => {
  const slow = Promise.withResolvers<Posted>()
  const loop = await world(({ url, signal }) => {
    if (url.includes('slow')) return slow.promise
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  await loop.store.insertEndpoint(newEndpoint('1', { url: 'https://slow.test/' }), 9)
  await loop.store.insertEndpoint(newEndpoint('2', { url: 'https://never.test/' }), 9)
  await loop.end('1')
  await loop.until(() => loop.posts.length === 2)
  const ended = loop.deliveries[Symbol.asyncDispose]()
  await loop.end('2')
  slow.resolve(answered(200))
  await loop.until(async () => (await loop.states()).includes('delivered'))
  loop.clock.advance(10_000)
  await ended
  assert.deepEqual((await loop.states()).sort(), ['delivered', 'pending'])
  assert.deepEqual(await loop.states(newEndpoint('2').id), ['pending', 'pending'])
  assert.equal(loop.posts.length, 2)
  await loop[Symbol.asyncDispose]()
})
