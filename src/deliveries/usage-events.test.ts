import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { until } from '../../test/service.ts'
import { manualClock } from '../core/clock.fixture.ts'
import type { Clock } from '../core/clock.ts'
import type { Posted } from '../outbound.ts'
import { newTask } from '../stores/contract/world.ts'
import { openSqlite } from '../stores/sqlite.ts'
import type { Store } from '../stores/store.ts'
import { startUsageEvents } from './usage-events.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-usage-events-'))
after(() => rmSync(folder, { recursive: true }))

const webhook = { url: 'https://meter.example/api/v1/events', token: 'a secret' }
const accepted: Posted = { status: 204, retryAfter: null }

interface Sent {
  url: string
  headers: Readonly<Record<string, string>>
  ids: string[]
}

/** A real store, and a network and a clock that the test controls. */
async function openWorld(answer: (sent: Sent, signal: AbortSignal) => Posted | Promise<Posted> = () => accepted) {
  const data = mkdtempSync(join(folder, 'data-'))
  const store = await openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
  const clock = manualClock(1_000_000)
  const posts: Sent[] = []
  const warnings: Record<string, unknown>[] = []
  const ends: Record<string, unknown>[] = []
  const log = {
    info: (_: string, fields = {}) => void ends.push(fields),
    error() {},
    warn: (event: string, fields = {}) => void warnings.push({ event, ...fields }),
  }
  const delays: number[] = []
  const watched: Clock = {
    now: clock.now,
    sleep(ms, signal) {
      delays.push(ms)
      return clock.sleep(ms, signal)
    },
  }
  const outbound = {
    async postTrusted(url: string, { headers, body }: { headers: Sent['headers']; body: string }, signal: AbortSignal) {
      const sent = { url, headers, ids: (JSON.parse(body) as { id: string }[]).map(({ id }) => id) }
      posts.push(sent)
      return await answer(sent, signal)
    },
  }
  return {
    ...{ store, clock, posts, warnings, ends, delays },
    start: (holder = 'one', changes: Partial<Store> = {}) => {
      const some = { store: { ...store, ...changes }, outbound, clock: watched, log, hasFiles: () => true }
      return startUsageEvents({ ...some, webhook, holder })
    },
    /** Adds a record, and returns the id of its event. */
    async end(number: string): Promise<string> {
      const { id, owner } = newTask(number)
      await store.insert(newTask(number))
      assert.ok(await store.delete(owner, id, clock.now()))
      return `${id}:cancelled`
    },
    /** Lets time pass, step by step, until it is so. */
    until: (what: string, look: () => boolean | Promise<boolean>, stepMs = 1_000) =>
      until(
        what,
        () => {
          clock.advance(stepMs)
          return look()
        },
        5,
      ),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

it('sends what ended as a batch of CloudEvents, once, also after a restart', async () => {
  await using world = await openWorld()
  const ids = [await world.end('1'), await world.end('2')]
  {
    await using _events = world.start()
    await world.until('it sent something', () => world.posts.length > 0)
    ids.push(await world.end('3'))
    await world.until('it sent the next', () => world.posts.length > 1)
  }
  {
    await using _events = world.start()
    ids.push(await world.end('4'))
    await world.until('it sent the last', () => world.posts.length > 2)
  }
  assert.deepEqual(
    world.posts.map((post) => post.ids),
    [ids.slice(0, 2), ids.slice(2, 3), ids.slice(3)],
  )
  const [first] = world.posts
  assert.deepEqual(
    [first?.url, first?.headers],
    [webhook.url, { 'content-type': 'application/cloudevents-batch+json', authorization: 'Bearer a secret' }],
  )
  assert.deepEqual(world.warnings, [])
})

it('waits for the response when it stops, so that nothing is repeated after a restart', async () => {
  const response = Promise.withResolvers<Posted>()
  await using world = await openWorld((_, signal) => {
    const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return Promise.race([response.promise, aborted])
  })
  const first = await world.end('1')
  {
    await using _events = world.start()
    await world.until('it is sent', () => world.posts.length === 1)
    queueMicrotask(() => response.resolve(accepted))
  }
  const second = await world.end('2')
  await using _events = world.start()
  await world.until('the next is sent', () => world.posts.length === 2)
  assert.deepEqual(
    world.posts.map(({ ids }) => ids),
    [[first], [second]],
  )
})

it('repeats what was not accepted, after growing delays, and then goes on', async () => {
  const refusals: Posted[] = [
    { error: 'connection_failed' },
    { status: 500, retryAfter: null },
    { status: 429, retryAfter: '20' },
    { status: 301, retryAfter: null },
  ]
  await using world = await openWorld(() => refusals.shift() ?? accepted)
  const id = await world.end('1')
  await using _events = world.start()
  await world.until('it was accepted', () => world.posts.length === 5)
  assert.deepEqual(
    world.posts.map((post) => post.ids),
    Array.from({ length: 5 }, () => [id]),
  )
  assert.deepEqual(world.delays.slice(0, 4), [1_000, 2_000, 20_000, 8_000])
  assert.deepEqual(world.warnings, [
    { event: 'usage events could not be sent; they are sent again', error: 'connection_failed', retryInMs: 1_000 },
  ])
  await world.until('its end is in the log', () => world.ends.length > 0)
  assert.equal(world.ends[0]?.failures, 4)
  const next = await world.end('2')
  await world.until('it sent the next', () => world.posts.length === 6)
  assert.deepEqual(world.posts[5]?.ids, [next])
})

it('a store that fails is no reason to stop', async () => {
  await using world = await openWorld()
  const id = await world.end('1')
  let isAway = true
  const usageBeyond: Store['usageBeyond'] = async (...step) => {
    if (isAway) throw new Error('away')
    return world.store.usageBeyond(...step)
  }
  await using _events = world.start('one', { usageBeyond })
  await world.until('it failed', () => world.warnings.length > 0)
  for (const { event } of world.warnings) assert.equal(event, 'the store failed: usage events are sent later, or again')
  isAway = false
  await world.until('it sent something', () => world.posts.length > 0)
  assert.deepEqual(world.posts[0]?.ids, [id])
})

it('one process sends at a time, and another goes on when it ends', async () => {
  const gate = Promise.withResolvers<Posted>()
  await using world = await openWorld(() => gate.promise)
  const ids = [await world.end('1')]
  await using one = world.start('one')
  await world.until('the first sends', () => world.posts.length === 1, 0)
  await using _two = world.start('two')
  ids.push(await world.end('2'))
  const longLease = async () => {
    const now = world.clock.now()
    return world.store.leaseUsageCursor({ holder: 'one', now, until: now + 86_400_000 })
  }
  assert.equal(await longLease(), 0)
  for (let seconds = 0; seconds < 50; seconds += 1) {
    world.clock.advance(1_000)
    await world.store.usageBeyond(0, 1)
  }
  assert.equal(world.posts.length, 1, 'the second process waits')
  gate.resolve(accepted)
  await world.until('the rest is sent', () => world.posts.length === 2)
  await until('that is stored', async () => (await longLease()) === 2)
  await one[Symbol.asyncDispose]()
  ids.push(await world.end('3'))
  await world.until('the other goes on', () => world.posts.length === 3)
  assert.deepEqual(
    world.posts.map((post) => post.ids),
    ids.map((id) => [id]),
  )
})

it('waits for numbers that may still become visible, and goes on without those that never do', async () => {
  await using world = await openWorld()
  const ids = [await world.end('1'), await world.end('2'), await world.end('3'), await world.end('4')]
  const hidden = new Set([2, 3])
  const usageBeyond: Store['usageBeyond'] = async (number, limit) => {
    const records = await world.store.usageBeyond(number, 100)
    return records.filter((record) => !hidden.has(record.number)).slice(0, limit)
  }
  await using _events = world.start('one', { usageBeyond })
  await world.until('it sent the first', () => world.posts.length === 1, 50)
  hidden.delete(2)
  await world.until('it sent the second', () => world.posts.length === 2, 50)
  await world.until('it sent the last', () => world.posts.length === 3)
  assert.deepEqual(
    world.posts.map((post) => post.ids),
    [ids.slice(0, 1), ids.slice(1, 2), ids.slice(3)],
  )
})

it('waits once for all numbers that are missing below the highest one, and again for those that follow', async () => {
  await using world = await openWorld()
  await world.end('1')
  const [record] = await world.store.usageBeyond(0, 1)
  assert.ok(record)
  // Of 1 000 numbers every tenth was rolled back.
  const numbers = Array.from({ length: 1_000 }, (_, at) => at + 1).filter((number) => number % 10 !== 0)
  const usageBeyond: Store['usageBeyond'] = async (after, limit) =>
    numbers
      .filter((number) => number > after)
      .slice(0, limit)
      .map((number) => ({ ...record, id: `video ${number}`, number }))
  const lastUsage = async () => numbers.at(-1) ?? 0
  const sent = () => world.posts.reduce((count, { ids }) => count + ids.length, 0)
  await using _events = world.start('one', { usageBeyond, lastUsage })
  await world.until('it sent all', () => sent() === 900)
  assert.deepEqual(
    world.posts.map(({ ids }) => ids.length),
    [9, 200, 200, 200, 200, 91],
  )
  // A number that is missing now may belong to a transaction that has just begun.
  numbers.push(1_003)
  const before = world.clock.now()
  await world.until('it sent the next', () => sent() === 901)
  assert.ok(world.clock.now() - before >= 30_000)
})
