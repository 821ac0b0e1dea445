import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Store } from '../store.ts'
import { cardOf, fresh, ids, newTask, type StoreWorld, take } from './world.ts'

async function enqueue(store: Store, owner: string, numbers: readonly number[], card = 'm'): Promise<void> {
  for (const number of numbers) await store.insert(newTask(String(number), { owner, card, dueAt: number }))
}

const idOf = (number: number) => newTask(String(number)).id

const lineOf = async (store: Store, limit: number) => (await store.queueOf('m', limit)).map(({ id }) => id)

/** Queued tasks are listed in the order in which they will be claimed. */
export function testLines(world: StoreWorld): void {
  it('lists the queued tasks of a card as they will be claimed: in turn over owners, the oldest first', async () => {
    await using store = await fresh(world)
    assert.deepEqual(await lineOf(store, 10), [])
    await enqueue(store, 'alice', [1, 2, 3, 4, 5, 6])
    await enqueue(store, 'bob', [7, 8])
    await enqueue(store, 'carol', [9], 'other')
    const line = await lineOf(store, 1000)
    assert.deepEqual(line.slice(4), [3, 4, 5, 6].map(idOf))
    assert.deepEqual([...line.slice(0, 2)].sort(), [1, 7].map(idOf))
    const taken: string[] = []
    for (let left = line.length; left > 0; left -= 1)
      taken.push(...ids(await take(store, { cards: [cardOf('m', { p: 100 })], limit: 1, now: 50 })))
    assert.deepEqual(taken, line)
    assert.deepEqual(await lineOf(store, 1000), [])
  })

  it('begins with the owner whose turn it is', async () => {
    await using store = await fresh(world)
    await enqueue(store, 'alice', [1, 2])
    const [first] = await take(store, { limit: 1, now: 50 })
    assert.equal(first?.id, idOf(1))
    await enqueue(store, 'bob', [3, 4])
    assert.deepEqual(await lineOf(store, 1000), [3, 2, 4].map(idOf))
    assert.deepEqual(
      (await store.queueOf('m', 1000)).map(({ owner }) => owner),
      ['bob', 'alice', 'bob'],
    )
  })

  it('lists no more than the limit, however uneven the owners are', async () => {
    await using store = await fresh(world)
    await enqueue(
      store,
      'alice',
      Array.from({ length: 40 }, (_, at) => at + 1),
    )
    for (const owner of ['bob', 'carol', 'dave', 'eve']) await enqueue(store, owner, [100 + owner.charCodeAt(0)])
    const line = await lineOf(store, 20)
    assert.equal(line.length, 20)
    assert.deepEqual(
      line.slice(5),
      Array.from({ length: 15 }, (_, at) => idOf(at + 2)),
    )
    assert.equal((await lineOf(store, 1000)).length, 44)
  })

  it('counts the slots of accounts that are in use', async () => {
    await using store = await fresh(world)
    await enqueue(store, 'alice', [1, 2, 3])
    assert.equal(await store.usedSlots(['p', 'q']), 0)
    const cards = [cardOf('m', { p: 2, q: 5 })]
    const [first] = await take(store, { cards, limit: 3, now: 50 })
    assert.deepEqual(
      [await store.usedSlots(['p']), await store.usedSlots(['p', 'q']), await store.usedSlots([])],
      [2, 3, 0],
    )
    assert.ok(first)
    await store.record({ task: { ...first, state: 'failed' }, keepsLease: false })
    assert.equal(await store.usedSlots(['p', 'q']), 2)
  })

  it('leaves out deleted tasks and tasks under lease', async () => {
    await using store = await fresh(world)
    await enqueue(store, 'alice', [1, 2, 3])
    await store.delete('alice', idOf(2), 20)
    await take(store, { limit: 1, now: 50 })
    assert.deepEqual(await lineOf(store, 10), [idOf(3)])
  })
}
