import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operationKey } from '../../core/attempt.ts'
import { decide, factOf, fresh, newAttempt, newTask, type StoreWorld, sent, taken } from './world.ts'

/** Attempts whose work a provider's list may show, and adopted operations. */
export function testAdoptions(world: StoreWorld): void {
  testRivals(world)
  testDisowned(world)
  testRemoved(world)
}

function testRivals(world: StoreWorld): void {
  it('knows the attempts of other tasks on an account whose work a list may show', async () => {
    await using store = await fresh(world)
    const rivals = async (task: string, since = 0, account = 'p') =>
      (await store.rivals({ task: newTask(task).id, account }, since, 10))
        .map(({ id, prompt }) => `${id} ${prompt}`)
        .sort()
    const fox = await sent(store, '1', 'a', { prompt: 'a fox' })
    assert.deepEqual(await rivals('1'), [])
    const hen = await sent(store, '2', 'b', { prompt: 'a hen', owner: 'bob' })
    const elsewhere = await taken(store, '3', { prompt: 'a fox' })
    await store.record({ task: elsewhere, opened: newAttempt('c', elsewhere, { account: 'q' }), keepsLease: true })
    assert.deepEqual([await rivals('1'), await rivals('2'), await rivals('3', 0, 'q')], [['b a hen'], ['a a fox'], []])
    assert.equal((await store.rivals({ task: 'none', account: 'p' }, 0, 1)).length, 1)
    const answered = await sent(store, '4', 'd', { prompt: 'a cat' })
    await store.record(decide(answered, { state: 'running' }, { fact: factOf('d', 'accepted', 'op') }))
    assert.deepEqual(await rivals('1'), ['b a hen'])
    // An earlier attempt of the same task is no rival.
    await store.record({ task: fox, opened: newAttempt('e', fox, { number: 2 }), keepsLease: true })
    assert.deepEqual(await rivals('1'), ['b a hen'])
    // An abandoned attempt may have been accepted, unless it is old.
    await store.record(decide(hen, { state: 'failed' }, { fact: factOf('b', 'abandoned') }))
    const { openedAt } = (await store.attempt('b')) ?? { openedAt: 0 }
    assert.deepEqual([await rivals('1', openedAt), await rivals('1', openedAt + 1)], [['b a hen'], []])
  })

  it('returns a rival without a prompt if its task is gone', async () => {
    await using store = await fresh(world)
    const fox = await sent(store, '1', 'a', { prompt: 'a fox' })
    const gone = await sent(store, '2', 'b', { prompt: 'a hen' })
    assert.ok(await store.remove(gone))
    assert.deepEqual(await store.rivals({ task: fox.id, account: 'p' }, 0, 10), [{ id: 'b', prompt: null }])
  })
}

function testRemoved(world: StoreWorld): void {
  it('keeps the operation of a removed task reserved until its attempt is trimmed', async () => {
    await using store = await fresh(world)
    const accept = async (task: string, id: string, openedAt: number) => {
      const sending = await taken(store, task)
      const rest = { opened: newAttempt(id, sending, { openedAt }), fact: factOf(id, 'accepted', id) }
      await store.record(decide(sending, { state: 'running', attempt: id, dueAt: 5 }, rest))
      const [running] = await store.claim({ state: 'running', account: 'p', limit: 1, now: 10, leaseUntil: 99 })
      assert.ok(running && (await store.remove(running)))
    }
    const isTaken = async (id: string) => (await store.bound('p', [operationKey(id)])).size === 1
    await accept('1', 'a', 1_000)
    assert.equal(await isTaken('a'), true)
    assert.deepEqual(await store.attemptsIn('orphan', 9), [])
    await accept('2', 'b', 1_001)
    await accept('3', 'c', 2_000)
    assert.equal(await store.trimRemovedAttempts(1_000, 9), 0)
    assert.equal(await isTaken('a'), true)
    assert.equal(await store.trimRemovedAttempts(999, 9), 1)
    assert.deepEqual([await isTaken('a'), await isTaken('b'), await isTaken('c')], [false, true, true])
  })
}

function testDisowned(world: StoreWorld): void {
  const adoption = (id: string, operation: string) => ({ ...factOf(id, 'accepted', operation), adopted: true as const })

  it('keeps whether an operation was adopted or named in a response', async () => {
    await using store = await fresh(world)
    const [one, two] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    await store.record(decide(one, { state: 'running' }, { fact: adoption('a', 'found') }))
    await store.record(decide(two, { state: 'running' }, { fact: factOf('b', 'accepted', 'answered') }))
    assert.deepEqual([(await store.attempt('a'))?.adopted, (await store.attempt('b'))?.adopted], [true, undefined])
  })

  it('takes an operation from the attempt that adopted it: its task is held again, and its lease lost', async () => {
    await using store = await fresh(world)
    const [one, two] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    await store.record(decide(one, { state: 'running', operation: 'op', dueAt: 10 }, { fact: adoption('a', 'op') }))
    const [running] = await store.claim({ state: 'running', account: 'p', limit: 1, now: 20, leaseUntil: 99 })
    assert.ok(running)
    const answered = { ...decide(two, { state: 'running', operation: 'op' }), fact: factOf('b', 'accepted', 'op') }
    await assert.rejects(store.record(answered), { code: 'operation_taken' })
    assert.equal(await store.disown('p', 'op', 50), 'a')
    const { state, operation, adopted, problem } = (await store.attempt('a')) ?? {}
    assert.deepEqual([state, operation, adopted, problem?.code], ['open', null, undefined, 'operation_taken'])
    const after = await store.find(one.id)
    assert.deepEqual([after?.state, after?.operation, after?.dueAt], ['held', null, 50])
    assert.equal(await store.record(decide(running, { state: 'storing' })), false, 'its worker has lost it')
    assert.equal((await store.events(one.id)).at(-1)?.name, 'adoption overruled')
    assert.equal(await store.record(answered), true)
    assert.deepEqual((await store.attempt('b'))?.operation, 'op')
  })

  it('takes nothing from an attempt whose operation was named in a response, nor on another account', async () => {
    await using store = await fresh(world)
    const [one, two] = [await sent(store, '1', 'a'), await sent(store, '2', 'b')]
    await store.record(decide(one, { state: 'running' }, { fact: factOf('a', 'accepted', 'answered') }))
    await store.record(decide(two, { state: 'running' }, { fact: adoption('b', 'found') }))
    assert.equal(await store.disown('p', 'answered', 50), undefined)
    assert.equal(await store.disown('q', 'found', 50), undefined)
    assert.equal(await store.disown('p', 'nothing', 50), undefined)
    assert.deepEqual([(await store.attempt('a'))?.state, (await store.attempt('b'))?.state], ['accepted', 'accepted'])
  })

  it('takes an operation once if several processes do it at the same time, and none of them fails', async () => {
    await using store = await fresh(world)
    await using other = await world.open()
    const numbers = Array.from({ length: 20 }, (_, at) => `${at + 1}`)
    for (const number of numbers) {
      const task = await sent(store, number, number)
      await store.record(
        decide(task, { state: 'running', operation: `op ${number}` }, { fact: adoption(number, `op ${number}`) }),
      )
    }
    const losers = await Promise.all(
      numbers.map((number) => Promise.all([store, other].map((one) => one.disown('p', `op ${number}`, 50)))),
    )
    assert.deepEqual(
      losers.map((both) => both.filter((loser) => loser !== undefined)),
      numbers.map((number) => [number]),
    )
  })

  it('leaves a task that has ended with an adopted operation as it is, and abandons the attempt', async () => {
    await using store = await fresh(world)
    const one = await sent(store, '1', 'a')
    await store.record(decide(one, { state: 'running', operation: 'op', dueAt: 10 }, { fact: adoption('a', 'op') }))
    const [running] = await store.claim({ state: 'running', account: 'p', limit: 1, now: 20, leaseUntil: 99 })
    assert.ok(running)
    await store.record(decide(running, { state: 'failed' }))
    assert.equal(await store.disown('p', 'op', 50), 'a')
    assert.deepEqual([(await store.find(one.id))?.state, (await store.attempt('a'))?.state], ['failed', 'abandoned'])
  })
}
