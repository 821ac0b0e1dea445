import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newEndpoint } from './webhooks.ts'
import { decide, factOf, fresh, newTask, type StoreWorld, sent } from './world.ts'

const wanted = { accounts: ['p', 'q'], mostCounted: 100, mostAttempts: 10 }
const price = { currency: 'USD', charge: 300, cost: 200, billsFailures: false }
const failed = { state: 'failed', error: { code: 'internal', message: 'no' } } as const

/** Figures over all tasks. */
export function testFigures(world: StoreWorld): void {
  it('counts unfinished tasks by card, account and state, the slots that they use, and deliveries', async () => {
    await using store = await fresh(world)
    assert.deepEqual(await store.figures(wanted), {
      queues: [],
      fetching: 0,
      work: [],
      slots: wanted.accounts.map((account) => ({ account, used: 0 })),
      open: [],
      orphans: [],
      abandoned: [],
      pendingDeliveries: 0,
    })
    await store.insertEndpoint(newEndpoint('1'), 9)
    const ended = await sent(store, '1', 'a')
    await store.record(decide(ended, failed, { events: [{ at: 20, name: 'failed', detail: null }] }))
    await sent(store, '2', 'b')
    const running = await sent(store, '3', 'c')
    await store.record(decide(running, { state: 'running', startedAt: 15 }, { fact: factOf('c', 'accepted', 'op') }))
    await store.insert(newTask('4', { dueAt: 7, createdAt: 6 }))
    await store.insert(newTask('5', { dueAt: 8, createdAt: 4, owner: 'bob' }))
    await store.insert(newTask('6', { dueAt: 9, createdAt: 9, card: 'n', model: 'n' }))
    await store.insert(newTask('7', { state: 'fetching', image: { url: 'https://example.com/a.png' } }))
    const { queues, fetching, work, slots, pendingDeliveries } = await store.figures(wanted)
    assert.deepEqual(queues, [
      { card: 'm', tasks: 2, oldestAt: 4 },
      { card: 'n', tasks: 1, oldestAt: 9 },
    ])
    assert.equal(fetching, 1)
    assert.deepEqual(
      work.filter(({ tasks }) => tasks > 0).toSorted((one, other) => (one.state < other.state ? -1 : 1)),
      [
        { account: 'p', state: 'held', tasks: 1 },
        { account: 'p', state: 'running', tasks: 1 },
      ],
    )
    assert.deepEqual(slots, [
      { account: 'p', used: 2 },
      { account: 'q', used: 0 },
    ])
    assert.equal(pendingDeliveries, 1)
  })

  it('counts no further than its limits', async () => {
    await using store = await fresh(world)
    for (const [at, attempt] of ['a', 'b', 'c'].entries()) await sent(store, String(at + 1), attempt)
    for (const number of ['4', '5', '6']) await store.insert(newTask(number))
    const { queues, work, open } = await store.figures({ accounts: [], mostCounted: 2, mostAttempts: 1 })
    assert.equal(queues[0]?.tasks, 2)
    assert.equal(work.find(({ state }) => state === 'held')?.tasks, 2)
    assert.equal(open.length, 1)
  })

  it('reads open and abandoned attempts with what they may cost, and orphans with what they cost', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a', { price })
    const cost = { cost: 200, currency: 'USD' }
    const about = { task: task.id, account: 'p', openedAt: 5, hasProblem: false, ...cost }
    assert.deepEqual((await store.figures(wanted)).open, [about])
    await store.record(decide(task, {}, { keepsLease: true, fact: { ...factOf('a', 'open'), problem: failed.error } }))
    assert.deepEqual((await store.figures(wanted)).open, [{ ...about, hasProblem: true }])
    await store.record(decide(task, failed, { fact: factOf('a', 'abandoned') }))
    const given = await store.figures(wanted)
    assert.deepEqual([given.open, given.orphans, given.abandoned], [[], [], [about]])
    await store.settle(task.id, factOf('a', 'accepted', 'op'))
    const { open, orphans, abandoned } = await store.figures(wanted)
    assert.deepEqual([open, orphans, abandoned], [[], [about], []])
  })

  it('reads attempts of tasks without a price', async () => {
    await using store = await fresh(world)
    await sent(store, '1', 'a')
    const [open] = (await store.figures(wanted)).open
    assert.deepEqual([open?.cost, open?.currency], [null, null])
  })
}
