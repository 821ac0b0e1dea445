import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import type { Notice } from '../core/notice.ts'
import type { TaskView } from '../core/task.ts'
import type { Store } from '../stores/store.ts'
import { type FeedItem, openFeed } from './feed.ts'

/* The feed, with a clock and a store that the test controls. */

function stage() {
  const clock = manualClock(1_000_000)
  const rows = new Map<number, Notice>()
  const subscribers = new Set<() => void>()
  const log: string[] = []
  let isAway = false
  let reads = 0
  const visible = () => [...rows.values()].sort((one, other) => one.number - other.number)
  const guarded = <Result>(result: () => Result) => {
    reads += 1
    if (isAway) throw new Error('the store is away')
    return result()
  }
  const store = {
    notices: async (after: number, missing: readonly number[], limit: number) =>
      guarded(() =>
        visible()
          .filter(({ number }) => number > after || missing.includes(number))
          .slice(0, limit),
      ),
    noticeRange: async () => guarded(() => ({ first: visible()[0]?.number ?? 0, last: visible().at(-1)?.number ?? 0 })),
    read: async (_owner: string, id: string) => guarded(() => ({ id, state: 'completed' }) as TaskView),
    onNotice(hearer: () => void) {
      subscribers.add(hearer)
      return () => subscribers.delete(hearer)
    },
  } as unknown as Store
  const write = (event: string) => void log.push(event)
  const received: FeedItem[] = []
  const wanted = (notice: Notice) => notice.owner !== 'nobody'
  const feed = openFeed(
    { store, clock, log: { info: write, warn: write, error: write } },
    { wants: wanted, receive: (item) => void received.push(item) },
  )
  return {
    feed,
    clock,
    subscribers,
    log,
    received,
    reads: () => reads,
    /** Visible from now on, but announced only by `ring`. */
    commit(...numbers: number[]) {
      for (const number of numbers)
        rows.set(number, { number, owner: 'alice', task: `task ${number}`, at: 1, kind: 'completed' })
    },
    ring() {
      for (const hearer of subscribers) hearer()
    },
    /** A notice that was written just now. */
    commitNow(number: number) {
      rows.set(number, { number, owner: 'alice', task: `task ${number}`, at: clock.now(), kind: 'completed' })
    },
    leaveAlone(number: number) {
      rows.set(number, { number, owner: 'nobody', task: 'other', at: 1, kind: 'completed' })
    },
    away(now: boolean) {
      isAway = now
    },
    numbers: () => received.map(({ notice }) => notice.number),
    ids: () => received.map(({ id }) => id),
  }
}

/** Runs everything that waits only for the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

it('passes on notices after the first listener joined, in order, and none from before', async () => {
  const { feed, commit, ring, numbers, ids } = stage()
  commit(1, 2, 3)
  await feed.join()
  assert.equal(feed.safe(), 3)
  commit(4, 5)
  ring()
  await settle()
  assert.deepEqual(numbers(), [4, 5])
  assert.deepEqual(ids(), [4, 5])
  assert.equal(feed.safe(), 5)
})

it('passes on a notice that becomes visible late, and promises no number beyond a missing one', async () => {
  const { feed, commit, ring, numbers, ids } = stage()
  commit(1)
  await feed.join()
  commit(3, 5)
  ring()
  await settle()
  assert.deepEqual(ids(), [1, 1])
  commit(2)
  ring()
  await settle()
  assert.deepEqual(numbers(), [3, 5, 2])
  assert.equal(feed.safe(), 3)
  commit(4, 6)
  ring()
  await settle()
  assert.deepEqual(numbers(), [3, 5, 2, 4, 6])
  assert.equal(feed.safe(), 6)
})

it('gives up on a number that was rolled back, but not before its time', async () => {
  const { feed, clock, commit, ring } = stage()
  await feed.join()
  commit(2)
  ring()
  await settle()
  for (let second = 0; second < 9; second += 1) {
    clock.advance(1_000)
    await settle()
    assert.equal(feed.safe(), 0)
  }
  clock.advance(1_000)
  await settle()
  assert.equal(feed.safe(), 2)
})

it('waits for a notice below the newest that was not committed when the first listener joined', async () => {
  const { feed, commit, ring, numbers, ids } = stage()
  commit(7, 9)
  await feed.join()
  assert.equal(feed.safe(), 7)
  commit(8)
  ring()
  await settle()
  assert.deepEqual(numbers(), [8])
  assert.deepEqual(ids(), [8])
})

it('waits for an uncommitted notice although none below it is stored, as long as it may take', async () => {
  const { feed, clock, commit, commitNow, ring, numbers, ids } = stage()
  commitNow(2)
  await feed.join()
  assert.equal(feed.safe(), 0)
  commit(1)
  ring()
  await settle()
  assert.deepEqual([numbers(), ids(), feed.safe()], [[1], [1], 2])
  feed.leave()
  clock.advance(3_600_000)
  commit(7)
  await feed.join()
  assert.equal(feed.safe(), 2)
})

it('looks each second even if the store announces nothing', async () => {
  const { feed, clock, commit, numbers } = stage()
  await feed.join()
  await settle()
  commit(1)
  await settle()
  assert.deepEqual(numbers(), [])
  clock.advance(1_000)
  await settle()
  assert.deepEqual(numbers(), [1])
})

it('reads once for many announcements, and once more for those that came meanwhile', async () => {
  const { feed, ring, reads } = stage()
  await feed.join()
  await settle()
  const before = reads()
  for (let times = 0; times < 100; times += 1) ring()
  await settle()
  assert.ok(reads() - before <= 2, `${reads() - before} reads`)
})

it('reads no task without a listener, and continues beyond a page', async () => {
  const { feed, commit, leaveAlone, ring, numbers, reads } = stage()
  await feed.join()
  await settle()
  const before = reads()
  for (let number = 1; number <= 1_500; number += 1) leaveAlone(number)
  commit(1_501)
  ring()
  await settle()
  assert.deepEqual(numbers(), [1_501])
  assert.ok(reads() - before <= 5, `${reads() - before} reads`)
})

it('keeps its position while the store is unavailable, and catches up later', async () => {
  const { feed, clock, commit, ring, away, numbers, log } = stage()
  await feed.join()
  commit(2)
  ring()
  await settle()
  away(true)
  commit(1, 3, 4)
  ring()
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1_000)
    await settle()
  }
  assert.deepEqual(numbers(), [2])
  assert.equal(log.length, 1)
  away(false)
  clock.advance(1_000)
  await settle()
  assert.deepEqual(numbers(), [2, 1, 3, 4])
  assert.equal(feed.safe(), 4)
  assert.equal(log.length, 2)
})

it('does nothing without listeners, and starts again for the next one', async () => {
  const { feed, clock, commit, ring, subscribers, numbers, reads } = stage()
  await feed.join()
  await feed.join()
  feed.leave()
  assert.equal(subscribers.size, 1)
  feed.leave()
  assert.equal(subscribers.size, 0)
  await settle()
  const before = reads()
  commit(1)
  ring()
  clock.advance(10_000)
  await settle()
  assert.equal(reads(), before)
  await feed.join()
  commit(2)
  ring()
  await settle()
  assert.deepEqual(numbers(), [2])
})

it('refuses listeners while the store is unavailable, and accepts them later', async () => {
  const { feed, commit, ring, away, subscribers, numbers } = stage()
  away(true)
  await assert.rejects(feed.join(), /away/)
  feed.leave()
  assert.equal(subscribers.size, 0)
  away(false)
  await feed.join()
  commit(1)
  ring()
  await settle()
  assert.deepEqual(numbers(), [1])
})
