import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openQueueCounts, problemOf } from './quotas.ts'

it('an owner is counted first, then admitted up to its limit, and counted again there', () => {
  const counts = openQueueCounts({ processes: 1, freshMs: Number.POSITIVE_INFINITY, now: () => 0 })
  assert.ok(!counts.admits('alice', 5), 'nothing is known yet')
  const mark = counts.mark('alice')
  counts.add('alice')
  counts.learn('alice', 2, mark)
  assert.deepEqual(
    [1, 2, 3].map(() => counts.admits('alice', 5)),
    [true, true, false],
  )
  assert.ok(!counts.admits('alice', 3), 'a smaller limit of another token holds, too')
  assert.ok(counts.admits('alice', 6))
  assert.ok(!counts.admits('bob', 5), 'each owner is counted by itself')
})

it('tasks that were inserted after a count began are added to it', () => {
  const counts = openQueueCounts({ processes: 1, freshMs: Number.POSITIVE_INFINITY, now: () => 0 })
  const first = counts.mark('alice')
  counts.add('alice')
  const second = counts.mark('alice')
  counts.add('alice')
  counts.learn('alice', 1, second)
  // It is older than the one that is known.
  counts.learn('alice', 0, first)
  assert.ok(!counts.admits('alice', 2))
  assert.ok(counts.admits('alice', 3))
})

it('with many processes each admits a part of what is left, for a short time', () => {
  let now = 0
  const counts = openQueueCounts({ processes: 10, freshMs: 1_000, now: () => now })
  counts.learn('alice', 60, counts.mark('alice'))
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => counts.admits('alice', 100)),
    [true, true, true, true, false],
  )
  counts.learn('alice', 64, counts.mark('alice'))
  now = 1_001
  assert.ok(!counts.admits('alice', 100), 'the count is old')
})

it('without a limit every task fits, and is added to what is known', () => {
  const counts = openQueueCounts({ processes: 1, freshMs: Number.POSITIVE_INFINITY, now: () => 0 })
  assert.ok(counts.admits('alice', undefined), 'nothing is known yet')
  counts.learn('alice', 1, counts.mark('alice'))
  assert.ok(counts.admits('alice', undefined))
  assert.ok(!counts.admits('alice', 2))
  assert.ok(counts.admits('alice', 3))
})

it('a large queue that was full stays full for a moment, and a small one is counted again', () => {
  let now = 0
  const counts = openQueueCounts({ processes: 1, freshMs: 1_000, now: () => now })
  counts.refuse('alice', 5_000)
  counts.refuse('bob', 5)
  for (const most of [5_000, 400]) assert.throws(() => counts.admits('alice', most), { code: 'queue_full' })
  assert.ok(!counts.admits('alice', 6_000), 'it has to be counted')
  assert.ok(!counts.admits('bob', 5), 'it has to be counted')
  assert.ok(counts.admits('alice', undefined))
  now = 250
  assert.ok(!counts.admits('alice', 5_000), 'it has to be counted')
})

it('a refusal names the limit, its setting and what makes room', () => {
  const { code, message, retryable } = problemOf({ mostQueued: 7 })
  assert.deepEqual([code, retryable], ['queue_full', true])
  assert.match(message, /7 or more videos in the queue.* token is 7 \(`queued`\)\. .* delete queued videos/)
})
