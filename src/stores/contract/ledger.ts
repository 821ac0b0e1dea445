import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import { capCounters, capsAt, type SpendCap } from '../../core/spend.ts'
import type { Task, TaskPrice } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { decide, factOf, fresh, newTask, type StoreWorld, sent, take } from './world.ts'

const dollar = 1_000_000
const price: TaskPrice = { currency: 'USD', charge: 3 * dollar, cost: 2 * dollar, billsFailures: true }
const day = 86_400_000

/** The balance of each account that is not 0, over these tasks. */
async function balances(store: Store, ...tasks: Pick<Task, 'id'>[]): Promise<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { id } of tasks)
    for (const { account, amount } of await store.entries(id)) sums[account] = (sums[account] ?? 0) + amount
  assert.equal(
    Object.values(sums).reduce((sum, amount) => sum + amount, 0),
    0,
    'the sum of all entries is 0',
  )
  for (const [account, amount] of Object.entries(sums))
    assert.ok(/^(funds|providers) /.test(account) ? amount <= 0 : amount >= 0, `${account} is ${amount}`)
  return Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0))
}

const reserved = { 'funds alice': -3 * dollar, 'reserved alice': 3 * dollar }
const charged = { 'funds alice': -3 * dollar, 'revenue alice': 3 * dollar }
const costed = { 'cost p': 2 * dollar, 'providers p': -2 * dollar }
const times = { completedAt: 20, expiresAt: 30 }
const error = { code: 'generation_failed', message: 'it failed' } as const

/** Whether the task was admitted. */
async function admits(store: Store, task: Task, caps: readonly SpendCap[]): Promise<boolean> {
  try {
    await store.insert(task, capsAt(caps, task))
    return true
  } catch (thrown) {
    assert.equal(Problem.from(thrown).code, 'insufficient_quota', String(thrown))
    assert.equal(await store.find(task.id), undefined, 'a refused task is not stored')
    assert.deepEqual(await store.entries(task.id), [])
    return false
  }
}

/** The ledger: reservations, charges, costs, and caps on what an owner spends. */
export function testLedger(world: StoreWorld): void {
  testPostings(world)
  testCosts(world)
  testCaps(world)
}

function testPostings(world: StoreWorld): void {
  it('posts nothing for a free task', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const running = decide(task, { state: 'running' }, { fact: factOf('a', 'accepted', 'op'), keepsLease: true })
    assert.ok(await store.record(running))
    assert.ok(await store.record(decide(running.task, { state: 'completed', ...times })))
    assert.deepEqual(await store.entries(task.id), [])
    assert.equal((await store.read('alice', task.id))?.usage, null)
  })

  it('reserves the price with the task, and charges it with its completion', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a', { price })
    assert.deepEqual((await store.find(task.id))?.price, price)
    assert.deepEqual(await balances(store, task), reserved)
    const running = decide(task, { state: 'running' }, { fact: factOf('a', 'accepted', 'op'), keepsLease: true })
    assert.ok(await store.record(running))
    const storing = decide(running.task, { state: 'storing' }, { keepsLease: true })
    assert.ok(await store.record(storing))
    assert.deepEqual(await balances(store, task), reserved, 'nothing changes before the end')
    assert.ok(await store.record(decide(storing.task, { state: 'completed', ...times, dueAt: 30 })))
    assert.deepEqual(await balances(store, task), { ...charged, ...costed })
    for (const shown of [await store.read('alice', task.id), await store.find(task.id)])
      assert.deepEqual(shown?.usage, { cost: 3 * dollar, currency: 'USD' })
    // A deletion after the end gives nothing back, and neither does the end of the row.
    assert.ok(await store.delete('alice', task.id, 40))
    const [last] = await store.claim({ state: 'completed', limit: 1, now: 50, leaseUntil: 99 })
    assert.ok(last && (await store.remove(last)))
    assert.deepEqual(await balances(store, task), { ...charged, ...costed })
  })

  it('gives the reservation back with the failure of a task, and with its deletion', async () => {
    await using store = await fresh(world)
    const caps: SpendCap[] = [{ period: 'total', limit: 3 * dollar, zone: 'UTC' }]
    const failing = await sent(store, '1', 'a', { price })
    assert.ok(!(await admits(store, newTask('9', { price }), caps)))
    assert.ok(await store.record(decide(failing, { state: 'failed', error }, { fact: factOf('a', 'refused') })))
    assert.deepEqual(await balances(store, failing), {})
    assert.deepEqual((await store.read('alice', failing.id))?.usage, { cost: 0, currency: 'USD' })
    const deleted = newTask('2', { price })
    assert.ok(await admits(store, deleted, caps))
    assert.ok(!(await admits(store, newTask('9', { price }), caps)))
    assert.ok(await store.delete('alice', deleted.id, 7))
    assert.ok(!(await store.delete('alice', deleted.id, 8)))
    assert.deepEqual(await balances(store, deleted), {})
    assert.ok(await admits(store, newTask('9', { price }), caps))
    assert.deepEqual(await balances(store, failing, deleted, newTask('9')), reserved)
  })

  it('ends a reservation once, whatever comes later', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a', { price })
    const running = decide(task, { state: 'running' }, { fact: factOf('a', 'accepted', 'op'), keepsLease: true })
    assert.ok(await store.record(running))
    // The owner deletes it while a worker finishes it.
    const done = decide(running.task, { state: 'completed', ...times })
    await Promise.all([store.delete('alice', task.id, 9), store.record(done), store.record(done)])
    const closed = (await store.entries(task.id)).filter(({ step }) => step === 'close')
    const ends = closed.filter(({ account }) => account === 'reserved alice')
    assert.deepEqual(
      ends.map(({ amount }) => amount),
      [-3 * dollar],
    )
    assert.ok(!('reserved alice' in (await balances(store, task))))
  })

  it('charges what the provider reported, and never more than was reserved', async () => {
    await using store = await fresh(world)
    const parts = [{ quantity: 3_000_000, price: '0.000001', metered: true }] as const
    const metered = { charge: parts, cost: parts }
    const ends = [
      ['1', 1_000_000, { charge: dollar, cost: dollar }],
      // The operator pays the rest.
      ['2', 5_000_000, { charge: 3 * dollar, cost: 5 * dollar }],
      // No more than 100 times the estimate.
      ['5', 10 ** 15, { charge: 3 * dollar, cost: 300 * dollar }],
      ['6', Number.MAX_SAFE_INTEGER, { charge: 3 * dollar, cost: 300 * dollar }],
    ] as const
    for (const [number, outputTokens, { charge, cost }] of ends) {
      const task = await sent(store, number, number, { price: { ...price, cost: 3 * dollar, metered } })
      const fact = factOf(number, 'accepted', `op ${number}`)
      const running = decide(task, { state: 'running' }, { fact, keepsLease: true })
      assert.ok(await store.record(running))
      const storing = decide(running.task, { state: 'storing', usage: { outputTokens } }, { keepsLease: true })
      assert.ok(await store.record(storing))
      assert.ok(await store.record(decide(storing.task, { state: 'completed', ...times })))
      assert.deepEqual(await balances(store, task), {
        'funds alice': -charge,
        'revenue alice': charge,
        'cost p': cost,
        'providers p': -cost,
      })
      const shown = await store.read('alice', task.id)
      assert.deepEqual(shown?.usage, { outputTokens, cost: charge, currency: 'USD' })
    }
    const caps: SpendCap[] = [{ period: 'total', limit: 13 * dollar, zone: 'UTC' }]
    assert.ok(await admits(store, newTask('3', { price }), caps), '10 are spent, and 3 are left')
    assert.ok(!(await admits(store, newTask('4', { price: { ...price, charge: 1 } }), caps)))
  })
}

function testCosts(world: StoreWorld): void {
  it('the operator pays for attempts that brought nothing, once for each', async () => {
    await using store = await fresh(world)
    // Accepted after its task had failed.
    const late = await sent(store, '1', 'a', { price })
    assert.ok(await store.record(decide(late, { state: 'failed', error }, { fact: factOf('a', 'abandoned') })))
    await store.settle(late.id, factOf('a', 'accepted', 'op a'))
    await store.settle(late.id, factOf('a', 'accepted', 'op a'))
    assert.deepEqual(await balances(store, late), costed)
    // Deleted while it ran.
    const deleted = await sent(store, '2', 'b', { price })
    const running = decide(deleted, { state: 'running', dueAt: 10 }, { fact: factOf('b', 'accepted', 'op b') })
    assert.ok(await store.record(running))
    assert.ok(await store.delete('alice', deleted.id, 20))
    const [leased] = await store.claim({ state: 'running', account: 'p', limit: 1, now: 50, leaseUntil: 99 })
    assert.ok(leased && (await store.remove(leased)))
    assert.deepEqual(await balances(store, deleted), costed)
    // Failed at a provider that bills failures, and at one that does not.
    for (const [number, billsFailures, expected] of [
      ['3', true, costed],
      ['4', false, {}],
    ] as const) {
      const task = await sent(store, number, `c${number}`, { price: { ...price, billsFailures } })
      const fact = factOf(`c${number}`, 'accepted', `op ${number}`)
      const ran = decide(task, { state: 'running' }, { fact, keepsLease: true })
      assert.ok(await store.record(ran))
      assert.ok(await store.record(decide(ran.task, { state: 'failed', error })))
      assert.deepEqual(await balances(store, task), expected)
    }
  })

  it('a failure that is not billed costs nothing, even if its task is deleted before its end', async () => {
    await using store = await fresh(world)
    const free = { ...price, billsFailures: false }
    const runs = async (number: string) => {
      const task = await sent(store, number, number, { price: free })
      const fact = factOf(number, 'accepted', `op ${number}`)
      const running = decide(task, { state: 'running' }, { fact, keepsLease: true })
      assert.ok(await store.record(running))
      return running.task
    }
    // It was about to be sent to its next route.
    const between = await runs('1')
    assert.ok(
      await store.record(decide(between, { state: 'queued', operation: null, dueAt: 50 }, { keepsLease: true })),
    )
    assert.ok(await store.delete('alice', between.id, 20))
    assert.ok(await store.remove(between))
    assert.deepEqual(await balances(store, between), {})
    // It was deleted while it ran, and failed then.
    for (const [number, end, expected] of [
      ['2', { state: 'failed', usage: null, error }, {}],
      ['3', { state: 'completed', usage: null, error: null }, costed],
    ] as const) {
      const running = await runs(number)
      assert.ok(await store.delete('alice', running.id, 20))
      assert.ok(await store.remove(running, { end }))
      assert.deepEqual(await balances(store, running), expected)
    }
  })
}

function testCaps(world: StoreWorld): void {
  it('admits a hundred submits at once up to the budget for ten, and no more', async () => {
    await using store = await fresh(world)
    const caps: SpendCap[] = [
      { period: 'day', limit: 30 * dollar, zone: 'Europe/Berlin' },
      { period: 'month', limit: 31 * dollar, zone: 'UTC' },
    ]
    const tasks = Array.from({ length: 100 }, (_, at) => newTask(String(at), { price, createdAt: 40 * day }))
    const results = await Promise.all(tasks.map((task) => admits(store, task, caps)))
    assert.equal(results.filter(Boolean).length, 10)
    assert.deepEqual(await balances(store, ...tasks), { 'funds alice': -30 * dollar, 'reserved alice': 30 * dollar })
  })

  it('counts a task in the day and month of its submit, and each owner by itself', async () => {
    await using store = await fresh(world)
    const caps: SpendCap[] = [{ period: 'day', limit: 3 * dollar, zone: 'UTC' }]
    assert.ok(await admits(store, newTask('1', { price, createdAt: 10 }), caps))
    assert.ok(!(await admits(store, newTask('2', { price, createdAt: day - 1 }), caps)))
    assert.ok(await admits(store, newTask('3', { price, createdAt: day }), caps))
    assert.ok(await admits(store, newTask('4', { price, createdAt: 10, owner: 'bob' }), caps))
    assert.ok(await store.delete('alice', newTask('1').id, day + 5))
    assert.ok(!(await admits(store, newTask('5', { price, createdAt: day + 6 }), caps)), 'it was of the day before')
    assert.ok(await admits(store, newTask('6', { price, createdAt: 11 }), caps))
  })

  it('a new cap counts what was spent before it, in any time zone', async () => {
    await using store = await fresh(world)
    for (const number of ['1', '2']) await store.insert(newTask(number, { price, createdAt: day }))
    await store.insert(newTask('3', { price, createdAt: day - 1 }))
    const later = newTask('4', { price, createdAt: day + 1 })
    const under = (limit: number, zone: string): SpendCap[] => [{ period: 'day', limit: limit * dollar, zone }]
    assert.ok(!(await admits(store, later, under(8, 'UTC'))), '6 are spent')
    assert.ok(!(await admits(store, later, under(11, 'Asia/Tokyo'))), 'there all are of one day')
    assert.ok(!(await admits(store, later, [{ period: 'total', limit: 11 * dollar, zone: 'UTC' }])))
    assert.ok(!(await admits(store, later, under(1, 'UTC'))), 'a cap may be below what is spent')
    assert.ok(await admits(store, later, under(9, 'UTC')))
  })

  it('shows what is spent in each period, whether a cap has counted it or not', async () => {
    await using store = await fresh(world)
    for (const [number, createdAt] of [
      ['1', 10],
      ['2', day],
      ['3', day + 1],
    ] as const)
      await store.insert(newTask(number, { price, createdAt }))
    const caps: SpendCap[] = [
      { period: 'day', limit: 30 * dollar, zone: 'UTC' },
      { period: 'total', limit: 30 * dollar, zone: 'UTC' },
    ]
    const spentAt = (at: number, owner = 'alice') =>
      Promise.all(capCounters(caps, { owner, currency: 'USD', at }).map((counter) => store.spent(counter)))
    assert.deepEqual(await spentAt(day), [6 * dollar, 9 * dollar])
    assert.deepEqual(await spentAt(5), [3 * dollar, 9 * dollar])
    assert.deepEqual(await spentAt(day, 'bob'), [0, 0])
    // With a counter for the day.
    assert.ok(await admits(store, newTask('4', { price, createdAt: day + 2 }), caps))
    assert.deepEqual(await spentAt(day), [9 * dollar, 12 * dollar])
    assert.ok(await store.delete('alice', newTask('2').id, day + 3))
    assert.deepEqual(await spentAt(day), [6 * dollar, 9 * dollar])
  })

  it('refuses a task whose project would spend more than an exact sum, and still shows and ends what it has', async () => {
    await using store = await fresh(world)
    const half = { ...price, charge: 2 ** 52 }
    const [first, second] = [newTask('1', { price: half }), newTask('2', { price: { ...half, charge: 2 ** 52 - 1 } })]
    for (const task of [first, second]) await store.insert(task)
    const [total] = capCounters([{ period: 'total', limit: 1, zone: 'UTC' }], {
      owner: 'alice',
      currency: 'USD',
      at: 0,
    })
    assert.ok(total)
    assert.equal(await store.spent(total), Number.MAX_SAFE_INTEGER)
    const tiny = newTask('3', { price: { ...price, charge: 1 } })
    for (const [task, caps] of [
      [newTask('4', { price: half }), []],
      [tiny, []],
      [tiny, [{ period: 'day', limit: dollar, zone: 'UTC' }]],
    ] as const)
      assert.ok(!(await admits(store, task, caps)))
    await assert.rejects(
      store.insert(tiny),
      /^Problem: The project 'alice' can't spend more than 9007199254.740991 USD in/,
    )
    // Free tasks and other projects go on.
    await store.insert(newTask('5'))
    await store.insert(newTask('6', { price: half, owner: 'bob' }))
    assert.ok(await store.delete('alice', second.id, 7))
    assert.equal(await store.spent(total), 2 ** 52)
    assert.ok(await admits(store, tiny, []))
  })

  it('counts each currency by itself, and names those that were used', async () => {
    await using store = await fresh(world)
    assert.deepEqual(await store.currencies(), [])
    const caps: SpendCap[] = [{ period: 'total', limit: 3 * dollar, zone: 'UTC' }]
    await store.insert(newTask('1'))
    assert.deepEqual(await store.currencies(), [], 'it is free')
    assert.ok(await admits(store, newTask('2', { price }), caps))
    assert.ok(!(await admits(store, newTask('3', { price }), caps)))
    assert.ok(await admits(store, newTask('4', { price: { ...price, currency: 'EUR' } }), caps))
    assert.deepEqual(await store.currencies(), ['EUR', 'USD'])
  })

  it('refuses a key that was used before, and reserves nothing for it', async () => {
    await using store = await fresh(world)
    const [first, second] = ['1', '2'].map((number) => newTask(number, { price, idempotencyKey: 'k' }))
    assert.ok(first && second)
    await store.insert(first)
    const others = [store.insert(newTask('3', { price })), store.insert(second), store.insert(newTask('4', { price }))]
    const [before, refused, after] = await Promise.allSettled(others)
    assert.deepEqual([before?.status, after?.status], ['fulfilled', 'fulfilled'])
    assert.ok(refused?.status === 'rejected')
    assert.equal(Problem.from(refused.reason).code, 'idempotency_key_taken')
    assert.deepEqual(await store.entries(second.id), [])
    assert.deepEqual((await take(store)).length, 3)
  })
}
