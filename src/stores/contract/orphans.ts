import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isAttemptId } from '../../core/attempt.ts'
import type { Task, TaskPrice } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { decide, factOf, fresh, newAttempt, type StoreWorld, sent } from './world.ts'

const held = { state: 'held', account: 'p' } as const
const accepted = (id: string) => ({ fact: factOf(id, 'accepted', `operation of ${id}`) })

/** Attempts that a provider accepted and no task uses. */
export function testOrphans(world: StoreWorld): void {
  testLate(world)
  testSettled(world)
  testOverlooked(world)
  testSecond(world)
  testRemoved(world)
}

/** A task whose submitter lost its lease, and the process that holds it now. */
async function inherited(store: Store): Promise<{ old: Task; next: Task }> {
  const old = await sent(store, '1', 'a')
  const [next] = await store.claim({ ...held, limit: 1, now: 100, leaseUntil: 200 })
  assert.ok(next)
  return { old, next }
}

async function stateOf(store: Store, attempt: string): Promise<string | undefined> {
  return (await store.attempt(attempt))?.state
}

function testLate(world: StoreWorld): void {
  for (const state of ['accepted', 'refused'] as const)
    it(`makes a held task due at once when its attempt turns out ${state}, late`, async () => {
      await using store = await fresh(world)
      const { old, next } = await inherited(store)
      await store.record(decide(next, { dueAt: 1e9 }))
      assert.equal(await store.record(decide(old, { state: 'running' }, { fact: factOf('a', state) })), false)
      assert.equal(await stateOf(store, 'a'), state)
      const [due] = await store.claim({ ...held, limit: 1, now: 150, leaseUntil: 200 })
      assert.equal(due?.id, old.id)
    })

  it('leaves the lease of a held task with its holder when its attempt turns out accepted, late', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    assert.equal(await store.record(decide(old, { state: 'running' }, accepted('a'))), false)
    assert.equal(await stateOf(store, 'a'), 'accepted')
    assert.deepEqual(await store.claim({ ...held, limit: 1, now: 150, leaseUntil: 300 }), [])
    assert.ok(await store.record(decide(next, { state: 'running', operation: 'operation of a' })))
    assert.equal(await stateOf(store, 'a'), 'accepted')
  })

  for (const [what, change] of Object.entries({
    ended: { state: 'failed' },
    'gone back to the queue': { state: 'queued' },
    'gone on to another attempt': { state: 'held', attempt: 'b' },
  } satisfies Record<string, Partial<Task>>))
    it(`makes an orphan of an attempt that turns out accepted when its task has ${what}`, async () => {
      await using store = await fresh(world)
      const { old, next } = await inherited(store)
      const entry = decide(next, { ...change, dueAt: 1e9 })
      await store.record('attempt' in change ? { ...entry, opened: newAttempt('b', next) } : entry)
      assert.equal(await store.record(decide(old, { state: 'running' }, accepted('a'))), false)
      const { state, operation } = (await store.attempt('a')) ?? {}
      assert.deepEqual([state, operation], ['orphan', 'operation of a'])
      const after = await store.find(old.id)
      assert.deepEqual([after?.state, after?.dueAt], [change.state, 1e9])
    })

  it('makes an orphan of an abandoned attempt that turns out accepted, whatever process records it', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    await store.record(decide(next, { state: 'failed' }, { fact: factOf('a', 'abandoned') }))
    assert.equal(await store.record(decide(old, { state: 'running' }, accepted('a'))), false)
    assert.equal(await stateOf(store, 'a'), 'orphan')

    const task = await sent(store, '2', 'b')
    await store.record(decide(task, {}, { fact: factOf('b', 'abandoned'), keepsLease: true }))
    await store.record(decide(task, { state: 'failed' }, accepted('b')))
    assert.equal(await stateOf(store, 'b'), 'orphan')
  })

  it('calls back when a late fact made a task due', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    await store.record(decide(next, { dueAt: 1e9 }))
    let called = false
    store.onDue(() => {
      called = true
    })
    await store.record(decide(old, {}, { ...accepted('a'), keepsLease: true }))
    assert.ok(called)
  })
}

function testSettled(world: StoreWorld): void {
  it('settles an attempt without a lease, and makes the task due that waits for it', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    await store.record(decide(next, { dueAt: 1e9 }))
    let called = false
    store.onDue(() => {
      called = true
    })
    await store.settle(old.id, accepted('a').fact)
    assert.ok(called)
    assert.equal(await stateOf(store, 'a'), 'accepted')
    const [due] = await store.claim({ ...held, limit: 1, now: 150, leaseUntil: 200 })
    assert.deepEqual([due?.id, due?.state], [old.id, 'held'])
  })

  it('settles an attempt while another process holds the lease of its task, which is kept', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    await store.settle(task.id, accepted('a').fact)
    assert.deepEqual(await store.claim({ ...held, limit: 1, now: 50, leaseUntil: 200 }), [])
    assert.ok(await store.record(decide(task, { state: 'running', operation: 'operation of a' })))
    assert.equal(await stateOf(store, 'a'), 'accepted')
  })

  it('settles an attempt whose task is gone or has ended as an orphan, and ignores one that does not exist', async () => {
    await using store = await fresh(world)
    const [gone, ended] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    await store.remove(gone)
    await store.record(decide(ended, { state: 'failed' }))
    for (const [task, id] of [
      [gone, 'a'],
      [ended, 'b'],
      [gone, 'c'],
    ] as const)
      await store.settle(task.id, accepted(id).fact)
    const states = await Promise.all(['a', 'b', 'c'].map((id) => stateOf(store, id)))
    assert.deepEqual(states, ['orphan', 'orphan', undefined])
  })

  it('settles no attempt with the operation of another, and still settles the others of the batch', async () => {
    await using store = await fresh(world)
    const [one, two, three] = [await sent(store, '1', 'a'), await sent(store, '2', 'b'), await sent(store, '3', 'c')]
    await store.settle(one.id, factOf('a', 'accepted', 'op'))
    const results = await Promise.allSettled([
      store.settle(two.id, factOf('b', 'accepted', 'op')),
      store.settle(three.id, factOf('c', 'accepted', 'other')),
    ])
    assert.deepEqual(
      results.map((result) => (result.status === 'rejected' ? result.reason.code : result.status)),
      ['operation_taken', 'fulfilled'],
    )
    assert.deepEqual([await stateOf(store, 'b'), await stateOf(store, 'c')], ['open', 'accepted'])
  })
}

function testOverlooked(world: StoreWorld): void {
  for (const state of ['failed', 'queued'] as const)
    it(`keeps an accepted attempt whose task becomes ${state} by a process that did not know it yet`, async () => {
      await using store = await fresh(world)
      const { old, next } = await inherited(store)
      await store.record(decide(old, { state: 'running' }, accepted('a')))
      assert.equal(await store.record(decide(next, { state }, { fact: factOf('a', 'abandoned') })), false)
      assert.equal(await stateOf(store, 'a'), 'accepted')
      const [due] = await store.claim({ ...held, limit: 1, now: 150, leaseUntil: 300 })
      assert.equal(due?.id, old.id)
    })

  it('makes an orphan of an accepted attempt whose task is held for another by then', async () => {
    await using store = await fresh(world)
    const { next } = await inherited(store)
    const opened = newAttempt('b', next)
    await store.record(decide(next, { attempt: 'b', attempts: 2 }, { opened, keepsLease: true }))
    await store.record(decide(next, { attempt: 'b', attempts: 2 }, accepted('a')))
    assert.deepEqual([await stateOf(store, 'a'), await stateOf(store, 'b')], ['orphan', 'open'])
  })

  it('makes no orphan of an attempt whose task ran and failed, or ran and went back to the queue', async () => {
    await using store = await fresh(world)
    for (const [number, state] of [
      ['1', 'failed'],
      ['2', 'queued'],
    ] as const) {
      const task = await sent(store, number, number)
      await store.record(decide(task, { state: 'running', dueAt: 20 }, accepted(number)))
      const [running] = await store.claim({ state: 'running', account: 'p', limit: 1, now: 20, leaseUntil: 100 })
      assert.ok(running && (await store.record(decide(running, { state, dueAt: 1e9 }))))
      assert.equal(await stateOf(store, number), 'accepted')
    }
  })
}

/** An operator's decision to go on with an operation that no response named. */
const adoption = (task: Task, operation = 'adopted') =>
  decide(
    task,
    { state: 'running', operation, dueAt: 1e9 },
    { fact: factOf(task.attempt ?? '', 'accepted', operation), isFactFenced: true },
  )
const response = (id: string) => factOf(id, 'accepted', `response to ${id}`)

/** The operation that each attempt of the task has, and those that no task uses. */
async function operationsOf(store: Store, { id }: Pick<Task, 'id'>) {
  const attempts = await store.attempts(id)
  const of = (wanted: string) => attempts.filter(({ state }) => state === wanted).map(({ operation }) => operation)
  return { accepted: of('accepted'), orphans: of('orphan'), running: (await store.find(id))?.operation }
}

function testSecond(world: StoreWorld): void {
  const price: TaskPrice = { currency: 'USD', charge: 3, cost: 2, billsFailures: true }

  it('makes an orphan of its own, with its cost, of a response that names another operation than the adopted one', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a', { price })
    assert.ok(await store.record(adoption(task)))
    // It may be recorded again after a failure.
    for (const _ of 'twice') await store.settle(task.id, response('a'))
    assert.equal(await store.record(decide(task, { state: 'running' }, { fact: response('a') })), false)
    const found = { accepted: ['adopted'], orphans: ['response to a'], running: 'adopted' }
    assert.deepEqual(await operationsOf(store, task), found)
    const [orphan, ...others] = await store.attemptsIn('orphan', 9)
    const { id, ...rest } = orphan ?? assert.fail()
    const { settledAt, operation } = response('a')
    const sentAs = newAttempt(id, { ...task, attempts: 0 }, { state: 'orphan', settledAt, operation })
    assert.deepEqual({ ...rest, id, problem: null }, sentAs)
    assert.match(rest.problem?.message ?? '', /^The response to attempt 'a' named this operation\./)
    assert.deepEqual([isAttemptId(id), others], [true, []])
    const costs = (await store.entries(task.id)).filter(({ account }) => account === 'cost p')
    assert.deepEqual(
      costs.map(({ step, amount }) => [step, amount]),
      [[`cost ${id}`, 2]],
    )
    const used = await store.usage({ since: 0, before: 1e9 }, { limit: 9 })
    assert.deepEqual(
      used.map(({ id, outcome, cost }) => [id, outcome, cost]),
      [[id, 'unused', 2]],
    )
  })

  it('makes one also after its task has ended, was deleted, or is removed', async () => {
    await using store = await fresh(world)
    const [ended, deleted, removed] = [
      await sent(store, '1', 'a'),
      await sent(store, '2', 'b'),
      await sent(store, '3', 'c'),
    ]
    for (const task of [ended, deleted, removed])
      assert.ok(await store.record({ ...adoption(task, `adopted by ${task.attempt}`), keepsLease: true }))
    await store.record(decide(ended, { state: 'failed' }))
    await store.delete('alice', deleted.id, 20)
    assert.ok(await store.remove(removed))
    for (const [task, id] of [
      [ended, 'a'],
      [deleted, 'b'],
      [removed, 'c'],
    ] as const) {
      await store.settle(task.id, response(id))
      assert.deepEqual((await operationsOf(store, task)).orphans, [`response to ${id}`])
    }
  })

  it('makes none of a response with the operation of another attempt, nor where a lookup found the adopted one', async () => {
    await using store = await fresh(world)
    const [one, two] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    await store.record(adoption(one))
    await store.record(decide(two, { state: 'running' }, { fact: { ...response('a'), id: 'b', adopted: true } }))
    await assert.rejects(store.settle(one.id, response('a')), { code: 'operation_taken' })
    await store.settle(two.id, response('b'))
    assert.deepEqual(await store.attemptsIn('orphan', 9), [])
  })

  for (const who of ['operator', 'lookup'] as const)
    for (const isDeleted of who === 'lookup' ? [false, true] : [false])
      it(`does not let a ${isDeleted ? 'deleted ' : ''}task run with an operation that its ${who} adopted after the response`, async () => {
        await using store = await fresh(world)
        const task = await sent(store, '1', 'a')
        await store.settle(task.id, response('a'))
        if (isDeleted) await store.delete('alice', task.id, 20)
        const entry = adoption(task)
        const { fact, isFactFenced: _, ...byLookup } = entry
        const found = fact && { ...byLookup, fact: { ...fact, adopted: true as const } }
        assert.equal(await store.record(who === 'lookup' && found ? found : entry), false)
        assert.deepEqual(await operationsOf(store, task), { accepted: ['response to a'], orphans: [], running: null })
        const [due] = await store.claim({ ...held, limit: 1, now: 50, leaseUntil: 200 })
        assert.equal(due?.id, task.id)
      })

  for (const who of ['lookup', 'operator'] as const)
    it(`runs with the response that follows an adoption without the lease, whatever the ${who} under the lease decides`, async () => {
      await using store = await fresh(world)
      const { old, next } = await inherited(store)
      const found = { ...factOf('a', 'accepted', 'found'), adopted: true as const }
      const change = { state: 'running', operation: 'found' } as const
      assert.equal(await store.record(decide(old, change, { fact: found })), false)
      // The holder of the lease reads `found` now.
      await store.settle(old.id, response('a'))
      assert.equal(await store.disown('p', 'found', 50), 'a')
      assert.equal(await stateOf(store, 'a'), 'open')
      await store.settle(old.id, response('a'))
      const decided = who === 'operator' ? adoption(next) : decide(next, change, { fact: found, knowsAccepted: true })
      assert.equal(await store.record(decided), false)
      assert.deepEqual(await operationsOf(store, old), { accepted: ['response to a'], orphans: [], running: null })
      const [due] = await store.claim({ ...held, limit: 1, now: 150, leaseUntil: 300 })
      assert.equal(due?.id, old.id)
    })

  it('accepts the awaited attempt of a held task that a process without the lease has given up', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    await store.record(decide(old, { state: 'failed' }, { fact: factOf('a', 'abandoned') }))
    await store.settle(old.id, response('a'))
    assert.equal(await store.record(decide(next, { state: 'queued' })), false)
    assert.deepEqual(await operationsOf(store, old), { accepted: ['response to a'], orphans: [], running: null })
  })

  it('loses no operation when an adoption and a response are recorded at once', async () => {
    await using store = await fresh(world)
    await using other = await world.open()
    const tasks: Task[] = []
    for (let number = 1; number <= 20; number += 1) tasks.push(await sent(store, `${number}`, `${number}`))
    const late = (task: Task, id: string) =>
      Number(id) % 4 < 2
        ? other.settle(task.id, response(id))
        : other.record({ ...decide(task, {}, { fact: response(id) }), task: { ...task, fence: task.fence - 1 } })
    await Promise.all(
      tasks.map(async (task) => {
        const id = task.attempt ?? ''
        const adopt = () => store.record(adoption(task, `adopted by ${id}`))
        const [first, second] = Number(id) % 2 ? [adopt, () => late(task, id)] : [() => late(task, id), adopt]
        const results = await Promise.all([first(), second()])
        const isAdopted = results[Number(id) % 2 ? 0 : 1]
        assert.deepEqual(
          await operationsOf(store, task),
          isAdopted
            ? { accepted: [`adopted by ${id}`], orphans: [`response to ${id}`], running: `adopted by ${id}` }
            : { accepted: [`response to ${id}`], orphans: [], running: null },
        )
      }),
    )
  })
}

function testRemoved(world: StoreWorld): void {
  it('removes the events and the settled attempts of a task with it, but none that may have cost money', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'last')
    const other = await sent(store, '2', 'other')
    const events = [{ at: 1, name: 'x', detail: null }]
    for (const id of ['open', 'abandoned', 'orphan', 'refused', 'accepted'])
      await store.record({ task, opened: newAttempt(id, task), keepsLease: true })
    for (const state of ['abandoned', 'orphan', 'refused', 'accepted'] as const)
      await store.record(
        decide(task, { state: 'running', attempt: state }, { fact: factOf(state, state, state), keepsLease: true }),
      )
    await store.record(
      decide(task, { state: 'running' }, { fact: factOf('last', 'refused'), events, keepsLease: true }),
    )
    await store.record({ task: other, events, keepsLease: true })
    assert.ok(await store.remove(task))
    const left = (await store.attempts(task.id)).map(({ id, state }) => [id, state])
    assert.deepEqual(left.sort(), [
      ['abandoned', 'abandoned'],
      ['accepted', 'removed'],
      ['open', 'abandoned'],
      ['orphan', 'orphan'],
    ])
    assert.deepEqual(await store.events(task.id), [])
    assert.equal((await store.events(other.id)).length, 1)
    assert.equal(await stateOf(store, 'other'), 'open')
  })

  it('drops attempts of removed tasks that are older than the newest by a given time, and no others', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'open')
    for (const [id, openedAt] of Object.entries({ older: 3, old: 4, young: 50 })) {
      await store.record({ task, opened: newAttempt(id, task, { openedAt }), keepsLease: true })
      await store.record(decide(task, { state: 'running', attempt: id }, { ...accepted(id), keepsLease: true }))
    }
    assert.equal(await store.trimRemovedAttempts(45, 9), 0, 'the task exists')
    assert.ok(await store.remove(task))
    const left = async () => (await store.attempts(task.id)).map(({ id, state }) => [id, state]).sort()
    assert.deepEqual([await store.trimRemovedAttempts(45, 1), (await left()).length], [1, 3])
    assert.equal(await store.trimRemovedAttempts(45, 9), 1)
    assert.deepEqual(await left(), [
      ['open', 'abandoned'],
      ['young', 'removed'],
    ])
  })

  it('makes an orphan of an accepted attempt whose task is removed while its work may go on', async () => {
    await using store = await fresh(world)
    const [ended, goesOn] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    for (const [task, id] of [
      [ended, 'a'],
      [goesOn, 'b'],
    ] as const)
      await store.record(decide(task, { state: 'running' }, { ...accepted(id), keepsLease: true }))
    assert.ok(await store.remove(ended))
    assert.ok(await store.remove(goesOn, { orphans: true }))
    assert.deepEqual([await stateOf(store, 'a'), await stateOf(store, 'b')], ['removed', 'orphan'])
  })

  it('removes nothing for a process that lost the lease', async () => {
    await using store = await fresh(world)
    const { old } = await inherited(store)
    assert.equal(await store.remove(old), false)
    assert.deepEqual([await stateOf(store, 'a'), (await store.find(old.id))?.state], ['open', 'held'])
  })

  it('makes an orphan of an attempt that turns out accepted after its task was removed', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    assert.ok(await store.remove(next))
    assert.equal(await store.record(decide(old, { state: 'running' }, accepted('a'))), false)
    assert.equal(await stateOf(store, 'a'), 'orphan')
  })

  it('makes an orphan of an accepted attempt whose task is removed by a process that did not know it yet', async () => {
    await using store = await fresh(world)
    const { old, next } = await inherited(store)
    await store.record(decide(old, { state: 'running' }, accepted('a')))
    assert.ok(await store.remove(next))
    assert.equal(await stateOf(store, 'a'), 'orphan')
  })
}
