import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { SharedLane, Store } from '../store.ts'
import { decide, fresh, ids, idsOf, newTask, type StoreWorld } from './world.ts'

/** That many tasks of an owner, each due after the one before it. Their numbers are in the order of due times. */
async function add(store: Store, fields: Partial<Task> & { owner: string }, count: number, from: number) {
  const tasks = Array.from({ length: count }, (_, at) => newTask(String(from + at), { dueAt: from + at, ...fields }))
  await Promise.all(tasks.map((task) => store.insert(task)))
}

const lanes: readonly (SharedLane & { account?: string })[] = [
  { state: 'fetching' },
  { state: 'storing', account: 'p' },
]

/** Lanes that owners share: a process reads which owners wait, and claims the share of each. */
export function testShares(world: StoreWorld): void {
  for (const lane of lanes) {
    const { state } = lane
    const fields = lane.account === undefined ? { state } : { state, account: lane.account }

    it(`names the owners of due ${state} tasks, the longest due first, however many tasks each has`, async () => {
      await using store = await fresh(world)
      await add(store, { ...fields, owner: 'alice' }, 500, 100)
      await add(store, { ...fields, owner: 'bob' }, 1, 50)
      await add(store, { ...fields, owner: 'carol' }, 1, 700)
      await add(store, { ...fields, owner: 'dave', dueAt: 2_000 }, 1, 800)
      assert.deepEqual(await store.dueOwners(lane, 49), [])
      assert.deepEqual(await store.dueOwners(lane, 1_000), ['bob', 'alice', 'carol'])
    })

    it(`claims ${state} tasks by owner, the oldest first, each once and no more than the share`, async () => {
      await using store = await fresh(world)
      await add(store, { ...fields, owner: 'alice' }, 20, 100)
      await add(store, { ...fields, owner: 'bob' }, 2, 200)
      const take = (owner: string, limit: number, now = 1_000) =>
        store.claimShares(lane, [{ owner, limit }], { now, leaseUntil: 3_000 })
      const shares = [
        { owner: 'alice', limit: 2 },
        { owner: 'bob', limit: 5 },
        { owner: 'carol', limit: 5 },
      ]
      const both = await store.claimShares(lane, shares, { now: 1_000, leaseUntil: 3_000 })
      assert.deepEqual(ids(both).sort(), idsOf('100', '101', '200', '201'))
      assert.ok(both.every(({ fence, dueAt }) => fence === 1 && dueAt === 3_000))
      const rival = await Promise.all([take('alice', 4), take('alice', 4)])
      assert.equal(new Set(rival.flat().map(({ id }) => id)).size, 8)
      assert.deepEqual(await take('alice', 9, 99), [])
      // The task of a holder that died becomes due again.
      assert.equal((await take('bob', 5, 3_000)).length, 2)
    })

    it(`names no owner whose ${state} tasks are all under lease or have gone on`, async () => {
      await using store = await fresh(world)
      await add(store, { ...fields, owner: 'alice' }, 2, 100)
      const shares = [{ owner: 'alice', limit: 2 }]
      const [task, other] = await store.claimShares(lane, shares, { now: 500, leaseUntil: 1_000 })
      assert.deepEqual(await store.dueOwners(lane, 999), [])
      assert.ok(task && other && (await store.record(decide(task, { state: 'failed', dueAt: 1 }))))
      assert.ok(await store.record(decide(other, { dueAt: 600 })))
      assert.deepEqual(await store.dueOwners(lane, 599), [])
      assert.deepEqual(await store.dueOwners(lane, 600), ['alice'])
    })
  }

  it('claims storing tasks by account: a thousand due ones of another do not slow it down', async () => {
    await using store = await fresh(world)
    await add(store, { state: 'storing', account: 'slow', owner: 'alice' }, 1_000, 1)
    await add(store, { state: 'storing', account: 'p', owner: 'bob' }, 1, 2_000)
    const lane = { state: 'storing', account: 'p' } as const
    assert.deepEqual(await store.dueOwners(lane, 3_000), ['bob'])
    const shares = ['alice', 'bob'].map((owner) => ({ owner, limit: 9 }))
    assert.deepEqual(ids(await store.claimShares(lane, shares, { now: 3_000, leaseUntil: 4_000 })), idsOf('2000'))
  })
}
