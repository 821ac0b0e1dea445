import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import type { Store } from '../stores/store.ts'
import { type Listener, openListeners } from './listeners.ts'

function stage(most: number) {
  const hearers = new Set<() => void>()
  let isAway = false
  const store = {
    notices: async () => [],
    async noticeRange() {
      if (isAway) throw new Error('the store is away')
      return { first: 0, last: 0 }
    },
    onNotice(hearer: () => void) {
      hearers.add(hearer)
      return () => hearers.delete(hearer)
    },
  } as unknown as Store
  const draining = new AbortController()
  const log = { info() {}, warn() {}, error() {} }
  const listeners = openListeners({ store, clock: manualClock(), log, draining: draining.signal }, most)
  const away = (now: boolean) => {
    isAway = now
  }
  return { listeners, hearers, draining, away }
}

function listener(task: string | null = 'task'): Listener & { dismissed: boolean } {
  return {
    ...{ owner: 'alice', task, dismissed: false },
    hear() {},
    dismiss() {
      this.dismissed = true
    },
  }
}

it('takes no more than it can serve, and another when one has left', async () => {
  const { listeners, hearers } = stage(2)
  const [one, two, three] = [listener(), listener(null), listener()]
  await listeners.join(one)
  await listeners.join(two)
  await assert.rejects(listeners.join(three), { code: 'overloaded', message: /2 clients/ })
  listeners.leave(one)
  listeners.leave(one)
  await listeners.join(three)
  listeners.leave(two)
  assert.equal(hearers.size, 1)
  listeners.leave(three)
  assert.equal(hearers.size, 0)
})

it('forgets one that leaves while the feed is being opened, and one that it could not be opened for', async () => {
  const { listeners, hearers, away } = stage(1)
  const hasty = listener()
  const joining = listeners.join(hasty)
  listeners.leave(hasty)
  await joining
  assert.equal(hearers.size, 0)
  away(true)
  await assert.rejects(listeners.join(listener()), /away/)
  assert.equal(hearers.size, 0)
  away(false)
  const patient = listener()
  await listeners.join(patient)
  listeners.leave(patient)
  assert.equal(hearers.size, 0)
})

it('dismisses everybody when the service is about to stop', async () => {
  const { listeners, draining } = stage(9)
  const all = [listener(), listener(null)]
  for (const one of all) await listeners.join(one)
  assert.equal(listeners.isDraining(), false)
  draining.abort()
  assert.deepEqual(
    all.map(({ dismissed }) => dismissed),
    [true, true],
  )
  assert.equal(listeners.isDraining(), true)
})
