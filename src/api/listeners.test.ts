import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import type { Notice } from '../core/notice.ts'
import type { Store } from '../stores/store.ts'
import type { FeedItem } from './feed.ts'
import { openListeners } from './listeners.ts'
import { openPieceTurns } from './pieces.ts'

function stage(most: number, prompt = 'a fox') {
  const hearers = new Set<() => void>()
  const notices: Notice[] = []
  let isAway = false
  const store = {
    notices: async (after: number) => notices.filter(({ number }) => number > after),
    read: async (_owner: string, id: string) => ({ id, prompt }),
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
  const errors: string[] = []
  const log = { info() {}, warn() {}, error: (event: string) => void errors.push(event) }
  const listeners = openListeners({
    store,
    clock: manualClock(),
    log,
    draining: draining.signal,
    turns: openPieceTurns(),
    connections: { most: Math.ceil(most / 0.75) },
  })
  const away = (now: boolean) => {
    isAway = now
  }
  const happenTo = (owner: string, ...tasks: string[]) => {
    for (const task of tasks) notices.push({ number: notices.length + 1, owner, task, at: 0, kind: 'completed' })
    for (const hearer of hearers) hearer()
  }
  const happen = (...tasks: string[]) => happenTo('alice', ...tasks)
  return { listeners, hearers, draining, away, happen, happenTo, errors }
}

function listener(task: string | null = 'task', owner = 'alice') {
  const received: string[] = []
  return {
    owner,
    task,
    dismissed: false,
    received,
    receive({ notice }: FeedItem) {
      received.push(notice.task)
    },
    dismiss() {
      this.dismissed = true
    },
  }
}

it('accepts no more listeners than the limit, and another one when one has left', async () => {
  const { listeners, hearers } = stage(2)
  const [one, two, three] = [listener(), listener(null, 'bob'), listener('task', 'carol')]
  await listeners.join(one)
  await listeners.join(two)
  await assert.rejects(listeners.join(three), { code: 'overloaded', message: /The service already has 2 streams/ })
  listeners.leave(one)
  listeners.leave(one)
  await listeners.join(three)
  listeners.leave(two)
  assert.equal(hearers.size, 1)
  listeners.leave(three)
  assert.equal(hearers.size, 0)
})

it('one token gets at most half of all slots', async () => {
  const { listeners, hearers } = stage(4)
  const own = [listener(), listener(null)]
  for (const one of own) await listeners.join(one)
  await assert.rejects(listeners.join(listener()), {
    code: 'rate_limit_exceeded',
    message: /This token already has 2 streams/,
  })
  const others = [listener('task', 'bob'), listener('task', 'carol')]
  for (const other of others) await listeners.join(other)
  await assert.rejects(listeners.join(listener('task', 'dave')), {
    code: 'overloaded',
    message: /The service already has 4 streams/,
  })
  for (const one of own) listeners.leave(one)
  const again = [listener(), listener()]
  for (const one of again) await listeners.join(one)
  for (const one of [...again, ...others]) listeners.leave(one)
  assert.equal(hearers.size, 0)
})

it('disconnects a listener that throws, and sends everything to the others', async () => {
  const { listeners, happen, errors } = stage(9)
  const broken = listener('one')
  broken.receive = () => {
    throw new Error('broken')
  }
  const [same, all, next] = [listener('one'), listener(null), listener('two')]
  for (const one of [broken, same, all, next]) await listeners.join(one)
  happen('one', 'two')
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([same.received, all.received, next.received], [['one'], ['one', 'two'], ['two']])
  assert.equal(broken.dismissed, true)
  happen('one')
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([same.received, errors.length], [['one', 'one'], 1])
  for (const one of [same, all, next]) listeners.leave(one)
})

it('lets a token have 64 for the same video, 64 for all, and more for other videos', async () => {
  const { listeners } = stage(1_000)
  const many = (task: string | null) => Array.from({ length: 64 }, () => listener(task))
  const own = [...many('one'), ...many(null), ...many('two')]
  for (const each of own) await listeners.join(each)
  for (const task of ['one', null])
    await assert.rejects(listeners.join(listener(task)), {
      code: 'rate_limit_exceeded',
      message: /This token already has 64 streams and waiting requests for the same video, or streams of all videos /,
    })
  await listeners.join(listener('one', 'bob'))
  for (const each of own.slice(0, 1)) listeners.leave(each)
  await listeners.join(listener('one'))
})

it('sends a long prompt to many listeners in turns: another token does not wait for all of them', async () => {
  const { listeners, happenTo } = stage(1_000, 'x'.repeat(32_000))
  const crowd = Array.from({ length: 60 }, () => listener(null))
  const told = () => crowd.filter(({ received }) => received.length > 0).length
  const seen: { told: number; isBehind: boolean }[] = []
  const other = {
    ...listener(null, 'bob'),
    receive: () => seen.push({ told: told(), isBehind: listeners.isBehind('alice') }),
  }
  for (const each of [...crowd, other]) await listeners.join(each)
  happenTo('alice', 'one')
  happenTo('bob', 'of bob')
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([seen.length, seen[0]?.isBehind], [1, true])
  assert.ok((seen[0]?.told ?? 60) < 10, `${seen[0]?.told} of the crowd came first`)
  happenTo('alice', 'two')
  for (let turn = 0; turn < 60; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  for (const { received } of crowd) assert.deepEqual(received, ['one', 'two'])
  assert.equal(listeners.isBehind('alice'), false)
})

it('disconnects the listeners of a token that is too far behind, and keeps the others', async () => {
  const { listeners, happenTo } = stage(1_000, 'x'.repeat(32_000))
  const crowd = Array.from({ length: 64 }, () => listener(null))
  const other = listener(null, 'bob')
  for (const each of [...crowd, other]) await listeners.join(each)
  happenTo('alice', ...Array.from({ length: 400 }, (_, at) => String(at)))
  happenTo('bob', 'of bob')
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([other.received, other.dismissed], [['of bob'], false])
  assert.ok(crowd.every(({ dismissed }) => dismissed))
  assert.equal(listeners.isBehind('alice'), false)
})

it('forgets a listener that leaves while the feed opens, and one whose feed could not be opened', async () => {
  const { listeners, hearers, away } = stage(2)
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

it('dismisses all listeners when the service stops', async () => {
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
