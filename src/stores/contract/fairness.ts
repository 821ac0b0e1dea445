import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { QueueCard } from '../../core/turns.ts'
import type { Store } from '../store.ts'
import { cardOf, fresh, ids, newTask, type StoreWorld, seeded, take } from './world.ts'

const pairOf = ({ card, owner }: Task) => `${card} ${owner}`

/** That many queued tasks of a (card, owner), each due after the one before it. */
async function enqueue(store: Store, card: string, owner: string, count: number, from = 0): Promise<void> {
  const tasks = Array.from({ length: count }, (_, at) => {
    const number = Buffer.from(`${card}${owner}`).toString('hex') + String(from + at).padStart(6, '0')
    return newTask(number, { card, owner, dueAt: 1 + from + at })
  })
  await Promise.all(tasks.map((task) => store.insert(task)))
}

/** Claims tasks until none is left, or that many are claimed, up to `limit` at a time. Each gives its slot back. */
async function drain(store: Store, cards: readonly QueueCard[], limit: number, most = 1e9): Promise<Task[]> {
  const drained: Task[] = []
  while (drained.length < most) {
    const tasks = await take(store, { cards, limit: Math.min(limit, most - drained.length), now: 1e6, leaseUntil: 2e6 })
    if (tasks.length === 0) break
    assert.ok(tasks.length <= limit)
    drained.push(...tasks)
    await Promise.all(tasks.map((task) => store.remove(task)))
  }
  return drained
}

/** At any time until one pair has nothing left, no pair is more than one ahead of another. */
function assertInTurn(drained: readonly Task[], totals: Record<string, number>): void {
  const counts = new Map(Object.keys(totals).map((pair) => [pair, 0]))
  for (const [at, task] of drained.entries()) {
    const pair = pairOf(task)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
    const seen = [...counts.values()]
    assert.ok(Math.max(...seen) - Math.min(...seen) <= 1, `after ${at + 1}: ${JSON.stringify([...counts])}`)
    if (counts.get(pair) === totals[pair]) return
  }
  assert.fail('no pair was drained')
}

function assertOldestFirst(drained: readonly Task[]): void {
  for (const pair of new Set(drained.map(pairOf))) {
    const dues = ids(drained.filter((task) => pairOf(task) === pair))
    assert.deepEqual(dues, [...dues].sort())
  }
}

/** Queued tasks are claimed in turn over (card, owner), however many each of them has. */
export function testFairness(world: StoreWorld): void {
  it('drains two owners in turn, however much more one of them queued', async () => {
    await using store = await fresh(world)
    await enqueue(store, 'm', 'alice', 1000)
    await enqueue(store, 'm', 'bob', 10)
    const drained = await drain(store, [cardOf('m', { p: 50 })], 7)
    assert.equal(drained.length, 1010)
    assertInTurn(drained, { 'm alice': 1000, 'm bob': 10 })
    assert.equal(drained.slice(0, 20).filter(({ owner }) => owner === 'bob').length, 10)
    assertOldestFirst(drained)
  })

  for (const [limit, slots] of [
    [1, 10],
    [4, 100],
    [64, 3],
    [64, 100],
  ] as const)
    it(`drains three models and five owners evenly, ${limit} at a time from ${slots} slots`, async () => {
      await using store = await fresh(world)
      const random = seeded(limit * slots)
      const totals: Record<string, number> = {}
      for (const owner of ['alice', 'bob', 'carol', 'dave', 'eve'])
        for (const card of ['k', 'l', 'm']) {
          const count = 4 + random(12)
          totals[`${card} ${owner}`] = count
          await enqueue(store, card, owner, count)
        }
      const cards = ['k', 'l', 'm'].map((card) => cardOf(card, { p: slots }))
      const drained = await drain(store, cards, limit)
      assert.equal(
        drained.length,
        Object.values(totals).reduce((sum, count) => sum + count),
      )
      assertInTurn(drained, totals)
      assertOldestFirst(drained)
    })

  it('gives an owner who emptied its queue and returns no head start', async () => {
    await using store = await fresh(world)
    const cards = [cardOf('m', { p: 9 })]
    await enqueue(store, 'm', 'alice', 100)
    await enqueue(store, 'm', 'bob', 2)
    assert.equal((await drain(store, cards, 3, 40)).filter(({ owner }) => owner === 'bob').length, 2)
    await enqueue(store, 'm', 'bob', 20, 2)
    assertInTurn(await drain(store, cards, 3), { 'm alice': 62, 'm bob': 20 })
  })

  it('gives an owner who repeatedly adds one task no more than its turn', async () => {
    await using store = await fresh(world)
    const cards = [cardOf('m', { p: 9 })]
    await enqueue(store, 'm', 'alice', 30)
    const drained: Task[] = []
    for (let at = 0; at < 20; at += 1) {
      await enqueue(store, 'm', 'bob', 1, at)
      drained.push(...(await drain(store, cards, 1, 2)))
    }
    assert.ok(drained.filter(({ owner }) => owner === 'alice').length >= 20)
  })

  it('gives slots that one owner may not use to the others, and that owner its turn when it may', async () => {
    await using store = await fresh(world)
    await enqueue(store, 'm', 'alice', 10)
    await enqueue(store, 'm', 'bob', 10)
    const cards = [cardOf('m', { p: 100 })]
    const wanted = { cards, limit: 6, now: 1e6, leaseUntil: 2e6 }
    const capped = await take(store, { ...wanted, ownerCaps: { alice: 1 } })
    assert.equal(capped.filter(({ owner }) => owner === 'bob').length, 5)
    const next = await take(store, { ...wanted, limit: 4 })
    assert.equal(next.filter(({ owner }) => owner === 'alice').length, 2)
    assert.equal(next[0]?.owner, 'alice')
  })

  it('serves every owner on each of two models whose accounts become free in turn', async () => {
    await using store = await fresh(world)
    for (const owner of ['alice', 'bob', 'zoe']) for (const card of ['m', 'n']) await enqueue(store, card, owner, 9)
    const cards = [cardOf('m', { p: 1 }), cardOf('n', { q: 1 })]
    const wanted = { cards, limit: 9, now: 1e6, leaseUntil: 2e6 }
    const served: string[] = []
    const running = new Map((await take(store, wanted)).map((task) => [task.card, task]))
    for (let turn = 0; turn < 12; turn += 1) {
      const done = running.get(turn % 2 === 0 ? 'm' : 'n')
      assert.ok(done && (await store.remove(done)))
      for (const task of await take(store, wanted)) {
        running.set(task.card, task)
        served.push(pairOf(task))
      }
    }
    assert.equal(served.length, 12)
    for (const pair of new Set(served)) assert.equal(served.filter((other) => other === pair).length, 2, pair)
    assert.equal(new Set(served).size, 6)
  })

  it('finds a task that may start behind very many owners that may not', async () => {
    await using store = await fresh(world)
    const blocked = Array.from({ length: 300 }, (_, at) => `owner ${at}`)
    await Promise.all(blocked.map((owner, at) => store.insert(newTask(String(at), { owner }))))
    await store.insert(newTask('999', { owner: 'the last' }))
    const ownerCaps = Object.fromEntries(blocked.map((owner) => [owner, 0]))
    assert.deepEqual(ids(await take(store, { ownerCaps, limit: 1 })), [newTask('999').id])
    assert.deepEqual(ids(await take(store, { limit: 1000 })).length, 300)
  })
}
