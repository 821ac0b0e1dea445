import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { decide, factOf, fresh, newAttempt, type StoreWorld, sent } from './world.ts'

const held = { state: 'held', account: 'p' } as const
const accepted = (id: string) => ({ fact: factOf(id, 'accepted', `operation of ${id}`) })

/** Attempts that a provider accepted and no task uses. */
export function testOrphans(world: StoreWorld): void {
  testLate(world)
  testSettled(world)
  testOverlooked(world)
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
    assert.ok(await store.record(decide(task, { state: 'running' })))
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
