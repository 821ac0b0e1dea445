import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { Problem } from '../core/problem.ts'
import type { StoredPlace } from '../core/row.ts'
import type { TaskStore } from '../stores/store.ts'
import { openStoredBytes } from './stored-bytes.ts'

/** Two steps for each sum: the bytes of an owner are in two tasks. */
function openWorld({ bucketLimit = 0, stepMs = 0 } = {}) {
  const clock = manualClock(0)
  const bytes: Record<string, number> = {}
  const events: string[] = []
  let sums = 0
  const store: Pick<TaskStore, 'sumStored'> = {
    async sumStored(of, after: StoredPlace) {
      clock.advance(stepMs)
      const all = Object.values(bytes).reduce((sum, count) => sum + count, 0)
      const half = (of === 'all' ? all : (bytes[after.owner] ?? 0)) / 2
      if (after.id !== '') return { bytes: half, next: null }
      sums += 1
      return { bytes: half, next: { owner: after.owner, id: 'video_1' } }
    },
  }
  const log = { info: (event: string) => events.push(event), warn() {}, error: (event: string) => events.push(event) }
  const stored = openStoredBytes({ store, bucketLimit, clock, log })
  return {
    clock,
    bytes,
    events,
    stored,
    sums: () => sums,
    codeOf: (owner: string, most?: number) =>
      stored.admit(owner, most, 0).then(
        () => 'accepted',
        (error) => Problem.from(error).code,
      ),
  }
}

it('an owner is refused from its limit on, and accepted when it has deleted enough', async () => {
  const { bytes, clock, codeOf } = openWorld()
  Object.assign(bytes, { alice: 98, bob: 200 })
  assert.equal(await codeOf('alice', 100), 'accepted')
  bytes.alice = 100
  clock.advance(1_000)
  assert.equal(await codeOf('alice', 100), 'storage_quota_exceeded')
  assert.equal(await codeOf('alice', 101), 'accepted', 'each token has its own limit')
  bytes.alice = 40
  clock.advance(1_000)
  assert.equal(await codeOf('alice', 100), 'accepted')
})

it('without a limit nothing is summed, and many requests share a sum', async () => {
  const { codeOf, sums, stored, bytes } = openWorld()
  bytes.alice = 6
  assert.equal(await codeOf('alice'), 'accepted')
  assert.equal(sums(), 0)
  await Promise.all(Array.from({ length: 10 }, () => codeOf('alice', 100)))
  assert.equal(await codeOf('alice', 100), 'accepted')
  assert.equal(sums(), 1)
  assert.equal(await stored.of('alice'), 6)
})

it('a sum that took long is used for longer, and less long at the limit', async () => {
  const { codeOf, sums, bytes, clock } = openWorld({ stepMs: 50 })
  bytes.alice = 6
  await codeOf('alice', 100)
  clock.advance(9_000)
  await codeOf('alice', 100)
  assert.equal(sums(), 1)
  clock.advance(1_000)
  bytes.alice = 100
  assert.equal(await codeOf('alice', 100), 'storage_quota_exceeded')
  clock.advance(1_000)
  await codeOf('alice', 100)
  assert.equal(sums(), 3)
})

it('at the limit of the bucket everyone is refused, and the log says so once', async () => {
  const { bytes, clock, codeOf, events } = openWorld({ bucketLimit: 100 })
  Object.assign(bytes, { alice: 50, bob: 48 })
  assert.equal(await codeOf('carla'), 'accepted')
  bytes.bob = 60
  clock.advance(1_000)
  for (const owner of ['alice', 'carla']) assert.equal(await codeOf(owner), 'storage_unavailable')
  bytes.bob = 0
  clock.advance(1_000)
  assert.equal(await codeOf('alice'), 'accepted')
  assert.deepEqual(events, [
    'the bucket has reached its limit: no new videos are accepted',
    'the bucket is below its limit again: new videos are accepted',
  ])
})

it('a slow sum is used for 30 seconds, and then until the next one is made', async () => {
  const { codeOf, sums, bytes, clock, stored } = openWorld({ stepMs: 1_000 })
  bytes.alice = 6
  assert.equal(await codeOf('alice', 100), 'accepted')
  bytes.alice = 100
  clock.advance(29_999)
  assert.equal(await codeOf('alice', 100), 'accepted')
  assert.equal(sums(), 1)
  clock.advance(1)
  assert.equal(await codeOf('alice', 100), 'accepted', 'it does not wait for the next sum')
  assert.equal(sums(), 2)
  assert.equal(await stored.of('alice'), 100)
  assert.equal(await codeOf('alice', 100), 'storage_quota_exceeded')
  assert.equal(sums(), 2, 'the sum is shared')
  // An old sum is not used: the submit waits for a new one.
  bytes.alice = 6
  clock.advance(40_000)
  assert.equal(await codeOf('alice', 100), 'accepted')
})

it('uploads of this process count from the moment they are accepted, whether a sum has them or not', async () => {
  const { bytes, clock, codeOf, stored } = openWorld({ bucketLimit: 1_000 })
  const codes = await Promise.all(
    Array.from({ length: 5 }, () =>
      stored.admit('alice', 100, 40).then(
        (settle) => settle,
        (error) => Problem.from(error).code,
      ),
    ),
  )
  const [first, second, third, ...others] = codes
  assert.ok(typeof first === 'function' && typeof second === 'function' && typeof third === 'function')
  assert.deepEqual(others, ['storage_quota_exceeded', 'storage_quota_exceeded'])
  // One fails, and two are stored.
  first(0)
  second(40)
  third(40)
  assert.equal(await codeOf('alice', 81), 'accepted')
  assert.equal(await codeOf('alice', 80), 'storage_quota_exceeded')
  assert.equal(await codeOf('bob', 10), 'accepted')
  // The next sum has both, so they no longer count beside it.
  bytes.alice = 80
  clock.advance(1_000)
  assert.equal(await codeOf('alice', 81), 'accepted')
  bytes.alice = 0
  clock.advance(1_000)
  assert.equal(await codeOf('alice', 1), 'accepted')
})

it('what is stored while a sum runs counts beside it', async () => {
  const { clock, codeOf, stored } = openWorld()
  const settle = await stored.admit('alice', 100, 60)
  clock.advance(1_000)
  const sum = stored.of('alice')
  settle(60)
  await sum
  assert.equal(await codeOf('alice', 60), 'storage_quota_exceeded')
})
