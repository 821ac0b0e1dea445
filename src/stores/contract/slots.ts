import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { QueueCard } from '../../core/turns.ts'
import type { Store } from '../store.ts'
import { testLoad } from './load.ts'
import { cardOf, decide, fresh, ids, idsOf, newTask, queueClaim, type StoreWorld, sent, take, taken } from './world.ts'

/** How many tasks run at once: of an account, of a card, and of an owner. */
export function testSlots(world: StoreWorld): void {
  testCaps(world)
  testSpare(world)
  testReturn(world)
  testLeavers(world)
  testChoice(world)
  testNextDue(world)
  testLoad(world)
}

async function fill(store: Store, count: number, fields: Partial<Task> = {}, from = 1): Promise<void> {
  const numbers = Array.from({ length: count }, (_, at) => String(from + at))
  await Promise.all(numbers.map((number) => store.insert(newTask(number, fields))))
}

const one = [cardOf('m', { p: 1 })]

function testCaps(world: StoreWorld): void {
  it('never books more slots of an account than it has, over all its cards and in parallel', async () => {
    await using store = await fresh(world)
    await fill(store, 20)
    await fill(store, 20, { card: 'n', owner: 'bob' }, 50)
    const cards = [cardOf('m', { p: 7 }), cardOf('n', { p: 7 })]
    const claims = await Promise.all(Array.from({ length: 20 }, () => take(store, { cards, limit: 3 })))
    assert.equal(new Set(ids(claims.flat())).size, 7)
    assert.equal(claims.flat().length, 7)
  })

  it('never books more slots of a card than its cap, whatever its accounts have', async () => {
    await using store = await fresh(world)
    await fill(store, 20)
    await fill(store, 3, { card: 'n' }, 50)
    const cards = [cardOf('m', { p: 4, q: 4 }, 5), cardOf('n', { p: 4 })]
    const claims = await Promise.all(Array.from({ length: 20 }, () => take(store, { cards, limit: 3 })))
    assert.equal(claims.flat().filter(({ card }) => card === 'm').length, 5)
  })

  it('never books more slots of an owner than its cap, over all cards', async () => {
    await using store = await fresh(world)
    for (const [at, owner] of ['alice', 'bob', 'constructor'].entries()) {
      await fill(store, 5, { owner }, 10 * at + 1)
      await fill(store, 5, { owner, card: 'n' }, 10 * at + 101)
    }
    const cards = [cardOf('m', { p: 99 }), cardOf('n', { q: 99 })]
    const wanted = { cards, ownerCaps: { alice: 3, bob: 0 }, limit: 4 }
    const claimed = (await Promise.all(Array.from({ length: 9 }, () => take(store, wanted)))).flat()
    const countOf = (name: string) => claimed.filter(({ owner }) => owner === name).length
    assert.deepEqual(['alice', 'bob', 'constructor'].map(countOf), [3, 0, 10])
  })
}

function testSpare(world: StoreWorld): void {
  const account = { name: 'p', cap: 2, maxNewTasks: 1e9, spare: 2 }
  const cards = [{ card: 'm', cap: null, accounts: [account] }]
  const ownersOf = (tasks: readonly Task[]) => tasks.map(({ owner }) => owner).sort()

  it('has spare slots of an account for owners that hold none of its slots, one for each', async () => {
    await using store = await fresh(world)
    await fill(store, 9, { owner: 'alice' })
    const [first] = await take(store, { cards })
    assert.deepEqual(ownersOf(await take(store, { cards })), [])
    for (const [at, owner] of ['bob', 'carol', 'dave'].entries()) await fill(store, 2, { owner }, 20 + 10 * at)
    const others = await take(store, { cards })
    assert.equal(new Set(ownersOf(others)).size, 2)
    assert.ok(!ownersOf(others).includes('alice'))
    assert.deepEqual(await take(store, { cards }), [])
    // Its slot goes to the owner that holds none yet.
    const held = { ...(first as Task), state: 'failed' as const }
    assert.ok(await store.record({ task: held }))
    const next = await take(store, { cards })
    assert.equal(next.length, 1)
    assert.ok(![...ownersOf(others), 'alice'].includes(next[0]?.owner ?? ''))
    assert.deepEqual(await take(store, { cards }), [])
  })

  it('gives an owner that is alone no spare slot, in one claim or in many', async () => {
    await using store = await fresh(world)
    await fill(store, 9)
    const claims = await Promise.all(Array.from({ length: 5 }, () => take(store, { cards, limit: 1 })))
    assert.equal(claims.flat().length, 2)
    assert.deepEqual(await take(store, { cards }), [])
  })

  it('gives no spare slot of an account that may get no more tasks now', async () => {
    await using store = await fresh(world)
    for (const [at, owner] of ['alice', 'bob', 'carol'].entries()) await fill(store, 1, { owner }, 1 + at)
    const slow = [{ card: 'm', cap: null, accounts: [{ ...account, cap: 1, maxNewTasks: 1 }] }]
    assert.equal((await take(store, { cards: slow })).length, 1)
  })
}

function testReturn(world: StoreWorld): void {
  for (const state of ['queued', 'storing', 'completed', 'failed'] as const)
    it(`frees the slots of a task that becomes ${state}`, async () => {
      await using store = await fresh(world)
      const task = await taken(store, '1')
      await fill(store, 2, {}, 2)
      const wanted = { cards: [cardOf('m', { p: 1 }, 1)], ownerCaps: { alice: 1 } }
      assert.deepEqual(await take(store, wanted), [])
      assert.ok(await store.record(decide(task, { state, dueAt: 1e9 })))
      assert.deepEqual(ids(await take(store, wanted)), idsOf('2'))
    })

  for (const state of ['held', 'running'] as const)
    it(`keeps the slots of a ${state} task, whoever holds it, until it is removed`, async () => {
      await using store = await fresh(world)
      const task = await taken(store, '1')
      await fill(store, 2, {}, 2)
      assert.ok(await store.record(decide(task, { state, dueAt: 20 })))
      const wanted = { cards: one, now: 500, leaseUntil: 600 }
      assert.deepEqual(await take(store, wanted), [])
      const [claimed] = await store.claim({ state, account: 'p', limit: 1, now: 20, leaseUntil: 100 })
      assert.deepEqual(await take(store, wanted), [])
      assert.ok(claimed && (await store.remove(claimed)))
      assert.deepEqual(ids(await take(store, wanted)), idsOf('2'))
    })

  it('frees the slots of a held task if the decision says so', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    await fill(store, 1, {}, 2)
    assert.ok(await store.record(decide(task, { state: 'held', dueAt: 20 }, { releasesSlots: true })))
    assert.deepEqual(ids(await take(store, { cards: one })), idsOf('2'))
  })

  it('keeps the slots of a queued task whose claimer writes and keeps the lease', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    await fill(store, 1, {}, 2)
    assert.ok(await store.record(decide(task, { progress: 1 }, { keepsLease: true })))
    assert.deepEqual(await take(store, { cards: one }), [])
  })
}

function testLeavers(world: StoreWorld): void {
  it('frees the slot of a claimer that died before it opened an attempt, which can write no more', async () => {
    await using store = await fresh(world)
    await fill(store, 1)
    await fill(store, 1, { owner: 'bob' }, 2)
    const [left] = await take(store, { cards: one })
    assert.deepEqual(await take(store, { cards: one, now: 99 }), [])
    const next = await take(store, { cards: one, now: 100, leaseUntil: 200 })
    assert.ok(left && next[0])
    assert.notEqual(next[0].id, left.id)
    assert.deepEqual(await take(store, { cards: one, now: 100, leaseUntil: 200 }), [])
    assert.equal(await store.record(decide(left, { state: 'held' }, { keepsLease: true })), false)
    assert.deepEqual(await store.renew([left], 300), [left])
  })

  it('keeps the slot of a claimer that died after it opened an attempt', async () => {
    await using store = await fresh(world)
    await sent(store, '1', 'a')
    await fill(store, 1, {}, 2)
    assert.deepEqual(await take(store, { cards: one, now: 500, leaseUntil: 600 }), [])
  })
}

function testChoice(world: StoreWorld): void {
  const accountsOf = (tasks: Task[]) => tasks.map(({ account }) => account)

  it('fills the accounts in the order of preference and writes each into its task', async () => {
    await using store = await fresh(world)
    await fill(store, 6)
    const tasks = await take(store, { cards: [cardOf('m', { q: 2, p: 1, r: 9 })], limit: 5 })
    assert.deepEqual(accountsOf(tasks), ['q', 'q', 'p', 'r', 'r'])
    assert.equal((await store.find(tasks[2]?.id ?? ''))?.account, 'p')
  })

  it('gives an account no more than `maxNewTasks`, however many slots are free', async () => {
    await using store = await fresh(world)
    await fill(store, 9)
    const card = (maxNewTasks: number): QueueCard => ({
      card: 'm',
      cap: null,
      accounts: [
        { name: 'p', cap: 3, maxNewTasks, spare: 0 },
        { name: 'q', cap: 1, maxNewTasks: 1e9, spare: 0 },
      ],
    })
    assert.deepEqual(accountsOf(await take(store, { cards: [card(0)], limit: 1 })), ['q'])
    assert.deepEqual(accountsOf(await take(store, { cards: [card(1)] })), ['p'])
    assert.deepEqual(accountsOf(await take(store, { cards: [card(9)] })), ['p', 'p'])
  })

  it('gives a task to an account that refused it only if no other has a slot', async () => {
    await using store = await fresh(world)
    await store.insert(newTask('1', { tried: ['p'] }))
    await store.insert(newTask('2', { tried: ['p'], dueAt: 2 }))
    await store.insert(newTask('3', { tried: ['p', 'q'], dueAt: 3 }))
    await store.insert(newTask('4', { tried: ['gone'], dueAt: 4 }))
    const tasks = await take(store, { cards: [cardOf('m', { p: 2, q: 1, r: 1 })] })
    assert.deepEqual(ids(tasks), idsOf('1', '2', '3', '4'))
    assert.deepEqual(accountsOf(tasks), ['q', 'r', 'p', 'p'])
    await store.insert(newTask('5', { tried: ['p'] }))
    assert.deepEqual(accountsOf(await take(store, { cards: [cardOf('m', { p: 9, q: 1 })] })), ['p'])
  })

  it('claims no tasks of a card that is not in the claim or has no account', async () => {
    await using store = await fresh(world)
    await fill(store, 1)
    assert.deepEqual(await take(store, { cards: [cardOf('n', { p: 9 })] }), [])
    assert.deepEqual(await take(store, { cards: [cardOf('m', {})] }), [])
    assert.equal((await take(store)).length, 1)
  })
}

function testNextDue(world: StoreWorld): void {
  it('says when the first task is due that waits for a time, and ignores those that wait for a slot', async () => {
    await using store = await fresh(world)
    const next = async (cards = queueClaim().cards) => (await store.claimQueued(queueClaim({ cards }))).nextDue
    assert.equal(await next(), null)
    await store.insert(newTask('1', { dueAt: 80 }))
    await store.insert(newTask('2', { dueAt: 70, owner: 'bob' }))
    await store.insert(newTask('3', { dueAt: 60, owner: 'carol' }))
    await store.insert(newTask('4', { dueAt: 5, owner: 'carol', card: 'n' }))
    assert.equal(await next(), 60)
    assert.equal(await next([cardOf('m', { p: 9 }), cardOf('n', { q: 0 })]), 60)
    assert.equal(await next([cardOf('m', { p: 0 })]), null)
  })
}
