import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import { afterTry, deliveryIdsFrom, type Endpoint, type Try, type WebhookDelivery } from '../../core/webhook.ts'
import type { Store } from '../store.ts'
import { decide, fresh, newTask, type StoreWorld, sent } from './world.ts'

export function newEndpoint(number: string, fields: Partial<Endpoint> = {}): Endpoint {
  return {
    id: `whe_${number.padStart(36, '0')}`,
    owner: 'alice',
    name: 'films',
    url: 'https://example.com/hook',
    eventTypes: ['video.completed', 'video.failed'],
    secret: 'whsec_AAAA',
    oldSecret: null,
    oldSecretUntil: null,
    createdAt: 1,
    updatedAt: 1,
    disabledAt: null,
    disabledWhy: null,
    ...fields,
  }
}

/** Ends a task at 20, as its worker does. */
async function end(store: Store, number: string, fields: Partial<Task> = {}, state: Task['state'] = 'completed') {
  const held = await sent(store, number, `attempt_${number}`, fields)
  const events = [{ at: 20, name: state, detail: null }]
  assert.ok(await store.record(decide(held, { state, startedAt: 15 }, { events })))
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
const tried = (at: number, status: number | null): Try => ({ at, status, error: null, tookMs: 5 })
const gone = (now: number, limit = 9) => ({ now, error: 'gone', limit })

async function states(store: Store, number = '1'): Promise<string[]> {
  return (await store.deliveries(newEndpoint(number).id, { limit: 9 })).map(({ state }) => state)
}

async function claimAll(store: Store, now: number, limit = 10): Promise<WebhookDelivery[]> {
  const { endpoints } = await store.dueEndpoints(now)
  const wanted = endpoints.map(({ id }) => ({ endpoint: id, limit }))
  return wanted.length === 0 ? [] : store.claimDeliveries(wanted, now, now + 100)
}

/** Endpoints of clients, and the deliveries to them. */
export function testWebhooks(world: StoreWorld): void {
  it('keeps endpoints for their owner alone, the newest first and up to a limit', async () => {
    await using store = await fresh(world)
    const made = ['1', '2', '3'].map((number) => newEndpoint(number))
    for (const endpoint of made) assert.ok(await store.insertEndpoint(endpoint, 3))
    assert.equal(await store.insertEndpoint(newEndpoint('4'), 3), false)
    assert.ok(await store.insertEndpoint(newEndpoint('5', { owner: 'bob' }), 3))
    const [first, second, third] = made as [Endpoint, Endpoint, Endpoint]
    assert.deepEqual(idsOf(await store.endpoints('alice', { limit: 2 })), [third.id, second.id])
    assert.deepEqual(idsOf(await store.endpoints('alice', { limit: 2, after: second.id })), [first.id])
    assert.deepEqual(await store.endpoint('alice', first.id), first)
    assert.equal(await store.endpoint('bob', first.id), undefined)
    const change = {
      name: 'x',
      url: 'https://example.org/',
      eventTypes: ['video.failed' as const],
      updatedAt: 9,
      secret: 'whsec_BBBB',
      oldSecret: 'whsec_AAAA',
      oldSecretUntil: 99,
      disabledAt: 8,
      disabledWhy: 'gone',
    }
    assert.deepEqual(await store.updateEndpoint('alice', first.id, change), { ...first, ...change })
    const enabled = { ...first, ...change, disabledAt: null, disabledWhy: null }
    assert.deepEqual(await store.updateEndpoint('alice', first.id, { disabledAt: null, disabledWhy: null }), enabled)
    assert.deepEqual(await store.endpoint('alice', first.id), enabled)
    assert.equal(await store.updateEndpoint('bob', first.id, { name: 'y' }), undefined)
    assert.equal(await store.deleteEndpoint('bob', first.id), false)
    assert.ok(await store.deleteEndpoint('alice', first.id))
    assert.equal(await store.deleteEndpoint('alice', first.id), false)
    assert.equal(await store.endpoint('alice', first.id), undefined)
  })

  it('writes a delivery for each endpoint of the owner that receives such events, with the end of the task', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    await store.insertEndpoint(newEndpoint('2', { eventTypes: ['video.failed'] }), 9)
    await store.insertEndpoint(newEndpoint('3', { disabledAt: 5, disabledWhy: 'gone' }), 9)
    await store.insertEndpoint(newEndpoint('4', { owner: 'bob' }), 9)
    await end(store, '1')
    await end(store, '2', {}, 'failed')
    await end(store, '3', { owner: 'carol' })
    const of = (number: string) => store.deliveries(newEndpoint(number).id, { limit: 9 })
    const told = async (number: string) => (await of(number)).map(({ type, task }) => [type, task]).sort()
    const [one, two] = [newTask('1').id, newTask('2').id]
    assert.deepEqual(await told('1'), [
      ['video.completed', one],
      ['video.failed', two],
    ])
    assert.deepEqual(await told('2'), [['video.failed', two]])
    assert.deepEqual([await told('3'), await told('4')], [[], []])
    const delivery = (await of('1')).find(({ task }) => task === one) as WebhookDelivery
    assert.match(delivery.id, /^wh_[0-9a-f]{44}$/)
    const { id, ...rest } = delivery
    assert.deepEqual(rest, {
      endpoint: newEndpoint('1').id,
      owner: 'alice',
      event: `evt_${one.slice(6)}c`,
      type: 'video.completed',
      task: one,
      createdAt: 20,
      state: 'pending',
      dueAt: 20,
      tries: 0,
      fence: 0,
      endedAt: null,
      log: [],
    })
    assert.deepEqual(await store.delivery(delivery.endpoint, id), delivery)
    assert.equal(await store.delivery(newEndpoint('2').id, id), undefined)
  })

  it('writes one delivery for an event, although its task ends again at the same time', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const held = await sent(store, '1', 'attempt_1')
    for (const state of ['failed', 'running', 'failed'] as const) {
      const events = [{ at: 20, name: state, detail: null }]
      assert.ok(await store.record(decide(held, { state, startedAt: 15 }, { events, keepsLease: true })))
    }
    assert.equal((await store.deliveries(newEndpoint('1').id, { limit: 9 })).length, 1)
  })

  it('writes none for a task that was deleted, nor for a decision whose lease was lost', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const held = await sent(store, '1', 'attempt_1')
    assert.equal(await store.record(decide({ ...held, fence: 99 }, { state: 'completed', startedAt: 15 })), false)
    await store.delete('alice', held.id, 18)
    assert.ok(await store.record(decide(held, { state: 'completed', startedAt: 15 })))
    assert.deepEqual(await store.deliveries(newEndpoint('1').id, { limit: 9 }), [])
  })

  it('gives each due delivery to one claim, up to a limit for each endpoint, the oldest first', async () => {
    await using store = await fresh(world)
    assert.deepEqual(await store.dueEndpoints(50), { endpoints: [], next: null })
    await store.insertEndpoint(newEndpoint('1'), 9)
    await store.insertEndpoint(newEndpoint('2', { owner: 'bob' }), 9)
    for (const number of ['1', '2', '3']) await end(store, number)
    await end(store, '4', { owner: 'bob' })
    assert.deepEqual(await store.dueEndpoints(19), { endpoints: [], next: 20 })
    assert.deepEqual(await store.dueEndpoints(20), {
      endpoints: [newEndpoint('1'), newEndpoint('2', { owner: 'bob' })],
      next: null,
    })
    const wanted = [
      { endpoint: newEndpoint('1').id, limit: 2 },
      { endpoint: newEndpoint('2').id, limit: 2 },
    ]
    const [some, more] = [await store.claimDeliveries(wanted, 20, 100), await store.claimDeliveries(wanted, 20, 100)]
    assert.deepEqual(some.map(({ owner }) => owner).sort(), ['alice', 'alice', 'bob'])
    assert.equal(more.length, 1)
    assert.ok([...some, ...more].every(({ fence, dueAt }) => fence === 1 && dueAt === 100))
    assert.equal(new Set(idsOf([...some, ...more])).size, 4)
    assert.deepEqual(await store.dueEndpoints(99), { endpoints: [], next: 100 })
    assert.equal((await claimAll(store, 100)).length, 4)
  })

  it('writes the result of a try only while the lease holds', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    await end(store, '1')
    const [first] = (await claimAll(store, 20)) as [WebhookDelivery]
    const [second] = (await claimAll(store, 120)) as [WebhookDelivery]
    assert.equal(await store.recordDelivery(afterTry(first, tried(30, 200), { chance: 0 })), false)
    const waits = afterTry(second, tried(130, 500), { chance: 0 })
    assert.ok(await store.recordDelivery(waits))
    assert.equal(await store.recordDelivery(waits), false)
    assert.deepEqual(await store.dueEndpoints(200), { endpoints: [], next: 5_135 })
    const [third] = (await claimAll(store, 5_135)) as [WebhookDelivery]
    assert.deepEqual([third.tries, third.log], [1, [tried(130, 500)]])
    assert.ok(await store.recordDelivery(afterTry(third, tried(5_140, 204), { chance: 0 })))
    const done = await store.delivery(third.endpoint, third.id)
    assert.deepEqual([done?.state, done?.dueAt, done?.endedAt, done?.log.length], ['delivered', null, 5_145, 2])
    assert.deepEqual(await store.dueEndpoints(9_999), { endpoints: [], next: null })
  })

  it('lists the deliveries of an endpoint by age and by state, from any position', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    for (const number of ['1', '2', '3']) await end(store, number)
    const endpoint = newEndpoint('1').id
    const all = idsOf(await store.deliveries(endpoint, { limit: 9 }))
    assert.deepEqual(all, [...all].sort().reverse())
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 1, after: all[0] as string })), [all[1]])
    const [one] = (await store.claimDeliveries([{ endpoint, limit: 1 }], 20, 100)) as [WebhookDelivery]
    await store.recordDelivery(afterTry(one, tried(30, 200), { chance: 0 }))
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 9, state: 'delivered' })), [one.id])
    assert.equal((await store.deliveries(endpoint, { limit: 9, state: 'pending' })).length, 2)
    // All states are in one order.
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 9 })), all)
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 2, after: all[0] as string })), all.slice(1))
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 2 })), all.slice(0, 2))
    assert.deepEqual(await store.deliveries(newEndpoint('2').id, { limit: 9 }), [])
  })

  it('fails the deliveries that wait for a disabled endpoint, and makes them due again when they are replayed', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const endpoint = newEndpoint('1').id
    for (const number of ['1', '2', '3']) await end(store, number)
    const [held] = (await store.claimDeliveries([{ endpoint, limit: 1 }], 20, 100)) as [WebhookDelivery]
    await store.disableEndpoint(endpoint, 25, 'gone')
    await store.disableEndpoint(endpoint, 26, 'later')
    const disabled = newEndpoint('1', { disabledAt: 25, disabledWhy: 'gone' })
    assert.deepEqual(await store.dueEndpoints(30), { endpoints: [disabled], next: null })
    assert.deepEqual(
      [await store.failDeliveries(endpoint, gone(30, 1)), await store.failDeliveries(endpoint, gone(30))],
      [1, 1],
    )
    const failed = await store.deliveries(endpoint, { limit: 9, state: 'failed' })
    assert.deepEqual(
      failed.map(({ log, endedAt }) => [log, endedAt]),
      [
        [[{ at: 30, status: null, error: 'gone', tookMs: 0 }], 30],
        [[{ at: 30, status: null, error: 'gone', tookMs: 0 }], 30],
      ],
    )
    // The delivery that is being tried stays as it is.
    assert.equal((await store.replay(endpoint, held.id, 40))?.dueAt, 100)
    const again = await store.replay(endpoint, failed[0]?.id as string, 40)
    assert.deepEqual([again?.state, again?.dueAt, again?.endedAt, again?.tries], ['pending', 40, null, 0])
    assert.deepEqual(again?.log, failed[0]?.log)
    assert.equal(await store.replay(newEndpoint('2').id, failed[0]?.id as string, 40), undefined)
  })

  it('replays failed deliveries of events since a time, step by step', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const endpoint = newEndpoint('1').id
    for (const number of ['1', '2', '3']) await end(store, number)
    assert.equal(await store.failDeliveries(endpoint, gone(30)), 3)
    const failed = idsOf(await store.deliveries(endpoint, { limit: 9, state: 'failed' })).reverse()
    const step = (after: string, limit: number) =>
      store.replayFailed(endpoint, { state: 'failed', after, now: 40, limit })
    assert.deepEqual(await step(deliveryIdsFrom(21), 9), [])
    assert.deepEqual(await step(deliveryIdsFrom(20), 1), failed.slice(0, 1))
    // A delivery that failed again since the last step is not replayed again.
    assert.equal(await store.failDeliveries(endpoint, gone(41)), 1)
    assert.deepEqual(await step(failed[0] as string, 9), failed.slice(1))
    assert.deepEqual(idsOf(await store.deliveries(endpoint, { limit: 9, state: 'failed' })), failed.slice(0, 1))
    assert.equal((await claimAll(store, 40)).length, 2)
  })

  it('replays pending deliveries after a failed try, but none that is being tried or was not tried yet', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const endpoint = newEndpoint('1').id
    for (const number of ['1', '2', '3']) await end(store, number)
    const [tried, held] = await store.claimDeliveries([{ endpoint, limit: 2 }], 30, 500)
    assert.ok(tried && held)
    assert.ok(await store.recordDelivery({ ...tried, state: 'pending', dueAt: 9_000, tries: 1 }))
    const step = { state: 'pending', after: '', now: 40, limit: 9 } as const
    assert.deepEqual(await store.replayFailed(endpoint, step), [tried.id])
    const again = await store.delivery(endpoint, tried.id)
    assert.deepEqual([again?.dueAt, again?.tries], [40, 0])
    assert.deepEqual(await store.replayFailed(endpoint, step), [])
  })

  it('fails or replays deliveries of a dead holder, whose lease has ended', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    const endpoint = newEndpoint('1').id
    await end(store, '1')
    const [first] = (await claimAll(store, 20)) as [WebhookDelivery]
    await store.disableEndpoint(endpoint, 25, 'gone')
    assert.deepEqual([await store.failDeliveries(endpoint, gone(119)), await states(store)], [0, ['pending']])
    assert.equal((await store.replay(endpoint, first.id, 119))?.dueAt, 120)
    assert.deepEqual([await store.failDeliveries(endpoint, gone(120)), await states(store)], [1, ['failed']])
    assert.deepEqual(await store.dueEndpoints(9_999), { endpoints: [], next: null })
    assert.equal(await store.recordDelivery(afterTry(first, tried(30, 200), { chance: 0 })), false)
    await store.replay(endpoint, first.id, 130)
    const [second] = (await store.claimDeliveries([{ endpoint, limit: 1 }], 130, 200)) as [WebhookDelivery]
    const again = await store.replay(endpoint, second.id, 200)
    assert.deepEqual([again?.state, again?.dueAt], ['pending', 200])
    assert.equal(await store.recordDelivery(afterTry(second, tried(140, 200), { chance: 0 })), false)
  })

  it('drops the deliveries of deleted endpoints, up to a limit in a step, and no others', async () => {
    await using store = await fresh(world)
    assert.equal(await store.trimStrayDeliveries(9), 0)
    const endpoints = ['1', '2', '3', '4']
    for (const number of endpoints) await store.insertEndpoint(newEndpoint(number), 9)
    for (const number of ['1', '2', '3']) await end(store, number)
    assert.equal(await store.trimStrayDeliveries(9), 0)
    for (const number of ['1', '3']) assert.ok(await store.deleteEndpoint('alice', newEndpoint(number).id))
    // Deleted endpoints have no due deliveries.
    assert.deepEqual(idsOf((await store.dueEndpoints(20)).endpoints), [newEndpoint('2').id, newEndpoint('4').id])
    const step = () => store.trimStrayDeliveries(4)
    assert.deepEqual([await step(), await step(), await step()], [4, 2, 0])
    const left = endpoints.map(async (number) => (await states(store, number)).length)
    assert.deepEqual(await Promise.all(left), [0, 3, 0, 3])
  })

  it('drops deliveries that ended long ago', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('2'), 9)
    for (const number of ['1', '2', '3']) await end(store, number)
    for (const delivery of (await claimAll(store, 20)).slice(0, 2))
      await store.recordDelivery(afterTry(delivery, tried(30, 200), { chance: 0 }))
    assert.equal(await store.trimDeliveries(35, 9), 0)
    assert.deepEqual([await store.trimDeliveries(36, 1), await store.trimDeliveries(36, 9)], [1, 1])
    assert.equal((await store.deliveries(newEndpoint('2').id, { limit: 9 })).length, 1)
  })

  it('finds due deliveries of other endpoints as quickly, however many wait for one endpoint', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    await store.insertEndpoint(newEndpoint('2', { owner: 'bob' }), 9)
    await end(store, '1', { owner: 'bob' })
    for (let number = 100; number < 400; number += 1) await end(store, String(number))
    const crowded = { endpoint: newEndpoint('1').id, limit: 8 }
    assert.equal((await store.claimDeliveries([crowded], 20, 100)).length, 8)
    const { endpoints } = await store.dueEndpoints(20)
    assert.deepEqual(idsOf(endpoints).sort(), [newEndpoint('1').id, newEndpoint('2').id])
    assert.equal((await claimAll(store, 20, 1)).length, 2)
  })

  it('makes deliveries due that are due too late after the clock was set back', async () => {
    await using store = await fresh(world)
    await store.insertEndpoint(newEndpoint('1'), 9)
    await end(store, '1')
    const [one] = (await claimAll(store, 20)) as [WebhookDelivery]
    await store.recordDelivery({ ...afterTry(one, tried(30, 500), { chance: 0 }), dueAt: 1_000_000_000_000 })
    await store.repairDueTimes(50)
    assert.deepEqual(idsOf((await store.dueEndpoints(50)).endpoints), [newEndpoint('1').id])
  })
}
