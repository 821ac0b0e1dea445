import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operationKey } from '../../core/attempt.ts'
import { decide, factOf, fresh, newAttempt, newTask, type StoreWorld, sent, taken } from './world.ts'

/** What was sent to providers, and its outcome. */
export function testAttempts(world: StoreWorld): void {
  testOpened(world)
  testFacts(world)
  testOperations(world)
  testEvents(world)
}

function testOpened(world: StoreWorld): void {
  it('opens an attempt together with the decision that holds its task', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    const opened = newAttempt('a', task)
    const entry = decide(task, { state: 'held', attempt: 'a', attempts: 1 }, { opened, keepsLease: true })
    assert.equal(await store.record(entry), true)
    assert.deepEqual(await store.attempt('a'), opened)
    const after = await store.find(task.id)
    assert.deepEqual([after?.state, after?.attempt, after?.attempts], ['held', 'a', 1])
    assert.equal(await store.attempt('b'), undefined)
  })

  it('reads the attempts of each task in their order, also of several tasks at once', async () => {
    await using store = await fresh(world)
    const one = await sent(store, '1', 'a')
    const two = await sent(store, '2', 'b')
    const again = decide(one, { attempt: 'c', attempts: 2 })
    assert.ok(await store.record({ ...again, opened: newAttempt('c', again.task, { number: 2 }), keepsLease: true }))
    const found = await Promise.all([one, two, newTask('3'), one].map(({ id }) => store.attempts(id)))
    assert.deepEqual(
      found.map((attempts) => attempts.map(({ id }) => id)),
      [['a', 'c'], ['b'], [], ['a', 'c']],
    )
  })

  it('opens no attempt for a process that lost the lease', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    await store.record(decide(task, { state: 'failed' }))
    assert.equal(await store.record(decide(task, { state: 'held' }, { opened: newAttempt('a', task) })), false)
    assert.equal(await store.attempt('a'), undefined)
    assert.equal((await store.find(task.id))?.state, 'failed')
  })

  it('does not change the task if its attempt can not be opened, and leaves the lease', async () => {
    await using store = await fresh(world)
    await sent(store, '1', 'a')
    const task = await taken(store, '2')
    const entry = decide(task, { state: 'held' }, { opened: newAttempt('a', task) })
    await assert.rejects(store.record(entry), (error: { code?: string }) => error.code !== 'operation_taken')
    assert.equal((await store.find(task.id))?.state, 'queued')
    assert.equal((await store.attempt('a'))?.task, newTask('1').id)
    assert.equal(await store.record(decide(task, { state: 'failed' })), true)
  })

  it('opens no attempt for a task that was deleted after its claim, and leaves the lease', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    await store.delete('alice', task.id, 20)
    const rest = { opened: newAttempt('a', task), keepsLease: true, events: [{ at: 1, name: 'x', detail: null }] }
    assert.equal(await store.record(decide(task, { state: 'held', attempt: 'a', attempts: 1 }, rest)), false)
    assert.deepEqual([await store.attempt('a'), await store.events(task.id)], [undefined, []])
    const after = await store.find(task.id)
    assert.deepEqual([after?.state, after?.attempt, after?.dueAt], ['queued', null, 100])
    const [next] = await store.claim({ state: 'overdue', limit: 1, now: 100, leaseUntil: 200 })
    assert.equal(next?.deletedAt, 20)
  })

  it('records the outcome of an attempt whose task was deleted meanwhile', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    await store.delete('alice', task.id, 20)
    assert.ok(await store.record(decide(task, { state: 'running' }, { fact: factOf('a', 'accepted', 'op') })))
    assert.equal((await store.attempt('a'))?.state, 'accepted')
  })

  it('records an attempt together with its outcome', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    const rest = { opened: newAttempt('a', task), fact: factOf('a', 'accepted', 'op') }
    assert.ok(await store.record(decide(task, { state: 'running', attempt: 'a', attempts: 1 }, rest)))
    assert.deepEqual(await store.attempt('a'), { ...rest.opened, ...rest.fact })
  })

  it('returns attempts of a task that share a number in one order: two operations of one submit', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    for (const id of ['c', 'a', 'b']) await store.record({ task, opened: newAttempt(id, task), keepsLease: true })
    assert.deepEqual(
      (await store.attempts(task.id)).map(({ id }) => id),
      ['a', 'b', 'c'],
    )
  })

  it('returns the attempts of a task in order; by state, open ones the oldest first, all others the newest first', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    for (const [id, number, openedAt] of [
      ['b', 2, 20],
      ['a', 1, 10],
      ['c', 3, 30],
    ] as const)
      await store.record({ task, opened: newAttempt(id, task, { number, openedAt }), keepsLease: true })
    const idsIn = async (state: Parameters<typeof store.attemptsIn>[0], limit = 9) =>
      (await store.attemptsIn(state, limit)).map(({ id }) => id)
    assert.deepEqual(
      (await store.attempts(task.id)).map(({ id }) => id),
      ['a', 'b', 'c'],
    )
    assert.deepEqual(await store.attempts('none'), [])
    assert.deepEqual(await idsIn('open', 2), ['a', 'b'])
    const states = ['open', 'abandoned', 'refused', 'accepted', 'orphan'] as const
    await store.record({ task, fact: factOf('a', 'abandoned'), keepsLease: true })
    await store.record({ task, fact: factOf('c', 'refused'), keepsLease: true })
    assert.deepEqual(await Promise.all(states.map((state) => idsIn(state))), [['b'], ['a'], ['c'], [], []])
    await store.record({ task, fact: factOf('b', 'abandoned'), keepsLease: true })
    assert.deepEqual(await idsIn('abandoned'), ['b', 'a'])
  })

  it('returns attempts of a state page by page, also those that were opened at the same time', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    const opened = ['a', 'b', 'c', 'd', 'e'].map((id, at) =>
      newAttempt(id, task, { number: at + 1, openedAt: at < 3 ? 10 : 20 }),
    )
    for (const attempt of opened) await store.record({ task, opened: attempt, keepsLease: true })
    const pages = async (state: Parameters<typeof store.attemptsIn>[0]) => {
      const ids: string[][] = []
      for (
        let page = await store.attemptsIn(state, 2);
        page.length > 0;
        page = await store.attemptsIn(state, 2, page.at(-1))
      )
        ids.push(page.map(({ id }) => id))
      return ids
    }
    assert.deepEqual(await pages('open'), [['a', 'b'], ['c', 'd'], ['e']])
    // One that does not exist any more is still a place.
    assert.deepEqual(
      (await store.attemptsIn('open', 9, { openedAt: 10, id: 'bb' })).map(({ id }) => id),
      ['c', 'd', 'e'],
    )
    for (const { id } of opened) await store.record({ task, fact: factOf(id, 'abandoned'), keepsLease: true })
    assert.deepEqual(await pages('abandoned'), [['e', 'd'], ['c', 'b'], ['a']])
  })
}

function testFacts(world: StoreWorld): void {
  it('records a fact with the decision', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const fact = {
      ...factOf('a', 'accepted', { id: 1, deep: ['x'] }),
      problem: { code: 'internal', message: 'm' },
    } as const
    assert.ok(await store.record(decide(task, { state: 'running' }, { fact })))
    assert.deepEqual(await store.attempt('a'), { ...newAttempt('a', newTask('1')), ...fact })
  })

  it('records the fact of a process that lost the lease, and not its decision', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const [next] = await store.claim({ state: 'held', account: 'p', limit: 1, now: 100, leaseUntil: 200 })
    const late = decide(task, { state: 'queued', progress: 9 }, { fact: factOf('a', 'refused') })
    assert.equal(await store.record(late), false)
    assert.equal((await store.attempt('a'))?.state, 'refused')
    assert.deepEqual(await store.find(task.id), next)
  })

  it('records no fact that holds only under the lease for a process that lost it', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const refusal = () => ({
      ...decide(task, { state: 'queued' }, { fact: factOf('a', 'refused') }),
      isFactFenced: true as const,
    })
    const [next] = await store.claim({ state: 'held', account: 'p', limit: 1, now: 100, leaseUntil: 200 })
    assert.equal(await store.record(refusal()), false)
    assert.equal((await store.attempt('a'))?.state, 'open')
    assert.ok(next && (await store.record({ ...refusal(), task: { ...next, state: 'queued' } })))
    assert.equal((await store.attempt('a'))?.state, 'refused')
  })

  it('keeps the first response', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const learn = (fact: ReturnType<typeof factOf>) => store.record({ task, fact, keepsLease: true })
    const unknown = { ...factOf('a', 'open'), problem: { code: 'internal', message: 'silence' } } as const
    await learn(unknown)
    assert.deepEqual(await store.attempt('a'), { ...newAttempt('a', newTask('1')), ...unknown })
    await learn(factOf('a', 'accepted', 'op'))
    const settled = await store.attempt('a')
    assert.deepEqual([settled?.state, settled?.operation, settled?.problem], ['accepted', 'op', null])
    for (const state of ['refused', 'open', 'abandoned'] as const) await learn(factOf('a', state))
    await learn(factOf('a', 'accepted', 'other'))
    assert.deepEqual(await store.attempt('a'), settled)
  })

  it('records a response to an abandoned attempt, but not that it is still open', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    const stateAfter = async (fact: ReturnType<typeof factOf>) => {
      await store.record({ task, fact, keepsLease: true })
      return (await store.attempt('a'))?.state
    }
    assert.equal(await stateAfter(factOf('a', 'abandoned')), 'abandoned')
    assert.equal(await stateAfter(factOf('a', 'open')), 'abandoned')
    assert.equal(await stateAfter(factOf('a', 'refused')), 'refused')
  })
}

function testOperations(world: StoreWorld): void {
  const operation = { id: 'x', region: { name: 'eu', zone: 1 } }
  const shuffled = { region: { zone: 1, name: 'eu' }, id: 'x' }

  it('gives an operation of an account to one attempt only, and does not fail other writes of the batch', async () => {
    await using store = await fresh(world)
    const [one, two, three] = [await sent(store, '1', 'a'), await sent(store, '2', 'b'), await sent(store, '3', 'c')]
    await store.record(decide(one, { state: 'running' }, { fact: factOf('a', 'accepted', operation) }))
    const results = await Promise.allSettled([
      store.insert(newTask('4')),
      store.record(decide(two, { state: 'running' }, { fact: factOf('b', 'accepted', shuffled) })),
      store.record(decide(three, { state: 'running' }, { fact: factOf('c', 'accepted', { ...operation, id: 'y' }) })),
    ])
    assert.deepEqual(
      results.map((result) => (result.status === 'rejected' ? result.reason.code : result.status)),
      ['fulfilled', 'operation_taken', 'fulfilled'],
    )
    assert.deepEqual([(await store.attempt('b'))?.state, (await store.find(two.id))?.state], ['open', 'held'])
    assert.ok(await store.find(newTask('4').id))
    assert.equal((await store.attempt('c'))?.state, 'accepted')
    assert.equal(await store.record(decide(two, { dueAt: 50 })), true)
  })

  it('allows attempts of two accounts to have the same operation', async () => {
    await using store = await fresh(world)
    const [one, two] = [await sent(store, '1', 'a'), await taken(store, '2')]
    await store.record(decide(one, { state: 'running' }, { fact: factOf('a', 'accepted', operation) }))
    const rest = { opened: newAttempt('b', two, { account: 'q' }), fact: factOf('b', 'accepted', operation) }
    assert.ok(await store.record(decide(two, { state: 'running', attempt: 'b' }, rest)))
    assert.equal((await store.attempt('b'))?.state, 'accepted')
  })

  it('knows which operations of an account belong to an attempt', async () => {
    await using store = await fresh(world)
    const task = await sent(store, '1', 'a')
    await store.record(decide(task, { state: 'running' }, { fact: factOf('a', 'accepted', operation) }))
    const keys = [operationKey('z'), operationKey(shuffled)]
    assert.deepEqual(await store.bound('p', keys), new Set([operationKey(operation)]))
    assert.deepEqual(await store.bound('q', keys), new Set())
    assert.deepEqual(await store.bound('p', []), new Set())
  })
}

function testEvents(world: StoreWorld): void {
  it('keeps events in their order, and none of a process that lost the lease', async () => {
    await using store = await fresh(world)
    const task = await taken(store, '1')
    const events = [
      { at: 30, name: 'second', detail: { why: ['x'] } },
      { at: 20, name: 'third', detail: null },
    ]
    await store.record({ task, events: [{ at: 40, name: 'first', detail: 'text' }], keepsLease: true })
    await store.record({ task, events })
    assert.equal(await store.record({ task, events }), false)
    assert.deepEqual(await store.events(task.id), [{ at: 40, name: 'first', detail: 'text' }, ...events])
    assert.deepEqual(await store.events('none'), [])
  })
}
