import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operationKey } from './core/attempt.ts'
import { Problem } from './core/problem.ts'
import type { Json, Task } from './core/task.ts'
import { leaseMs } from './core/timing.ts'
import { type Run, task, wakeUntil, world } from './engine/world.fixture.ts'
import { newAttempt } from './stores/contract/world.ts'
import { newTask } from './stores/contract.ts'
import type { Store } from './stores/store.ts'
import type { Decision } from './workers/worker.ts'

const ofAlice = [{ owner: 'alice', limit: 1 }]
const toQueued = (operation: string): Decision => ({
  change: { state: 'queued', operation, dueAt: null },
})

it('a new task is claimed at once and its decision recorded', async () => {
  await using engine = await world(async () => toQueued('done'))
  await engine.store.insert(task)
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'done')
})

it('after a retryable problem the action is tried again, and the task fails with it in the end', async () => {
  let runs = 0
  await using engine = await world(async () => {
    runs += 1
    throw new Problem('image_unavailable', 'no luck', { retryable: true })
  })
  await engine.store.insert(task)
  for (const count of [1, 2]) {
    await engine.until(({ tries }) => tries === count)
    engine.clock.advance(5_000)
  }
  const failed = await engine.until(({ state }) => state === 'failed')
  assert.deepEqual(failed.error, { code: 'image_unavailable', message: 'no luck' })
  assert.equal(runs, 3)
})

it('an unexpected error is not shown to the client, and its task fails', async () => {
  await using engine = await world(async () => {
    throw new Error('password=hunter2')
  })
  await engine.store.insert(task)
  for (let tries = 1; tries <= 4; tries += 1) {
    await engine.until((found) => found.tries === tries)
    engine.clock.advance(60_000)
  }
  const failed = await engine.until(({ state }) => state === 'failed')
  assert.equal(failed.error?.code, 'internal')
  assert.ok(!JSON.stringify(failed).includes('hunter2'))
})

it('a decision that the store can not accept is kept until it can', async () => {
  let refusals = 3
  const fullDisk = (store: Store): Store => ({
    ...store,
    async record(after) {
      if (refusals-- > 0) throw new Problem('storage_unavailable', 'full', { retryable: true })
      return store.record(after)
    },
  })
  let runs = 0
  await using engine = await world(async () => {
    runs += 1
    return toQueued('paid for')
  }, fullDisk)
  await engine.store.insert(task)
  await wakeUntil(engine.clock, () => refusals < 0)
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'paid for')
  assert.equal(runs, 1)
})

it('a response that the store can not accept is kept in the spill for as long', async () => {
  let refusals = 3
  const kept: number[] = []
  const away = (store: Store): Store => ({
    ...store,
    async record(entry) {
      if (!entry.fact) return store.record(entry)
      kept.push(engine.spill.all().length)
      if (refusals-- > 0) throw new Problem('storage_unavailable', 'away', { retryable: true })
      return store.record(entry)
    },
  })
  await using engine = await world(
    async (_task, _tools, { commit }) => {
      await commit({ state: 'held', attempt: 'a', attempts: 1, dueAt: null }, newAttempt('a', task))
      const fact = { id: 'a', state: 'accepted', operation: 'paid for', settledAt: 1, problem: null } as const
      return { change: { state: 'running', operation: 'paid for', startedAt: 1, dueAt: 1e9 }, fact }
    },
    away,
    ['queued'],
  )
  await engine.store.insert(newTask('1'))
  await wakeUntil(engine.clock, () => refusals < 0)
  await engine.until(({ state }) => state === 'running')
  await wakeUntil(engine.clock, () => engine.spill.all().length === 0)
  assert.deepEqual(kept, [0, 1, 1, 1])
})

it('a clock that leaps ahead does not take a running action away', async () => {
  const release = Promise.withResolvers<void>()
  let runs = 0
  await using engine = await world(async () => {
    runs += 1
    await release.promise
    return toQueued('once')
  })
  await engine.store.insert(task)
  await wakeUntil(engine.clock, () => runs > 0)
  for (let at = 0; at < 5; at += 1) {
    engine.clock.advance(3_600_000)
    await engine.store.find(task.id)
    await new Promise(setImmediate)
  }
  release.resolve()
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'once')
  assert.equal(runs, 1)
})

it('a lease is renewed while its action runs', async () => {
  const release = Promise.withResolvers<void>()
  const renewed: number[] = []
  const watch = (store: Store): Store => ({
    ...store,
    async renew(leases, leaseUntil) {
      renewed.push(leaseUntil)
      return store.renew(leases, leaseUntil)
    },
  })
  await using engine = await world(async () => {
    await release.promise
    return toQueued('slow')
  }, watch)
  await engine.store.insert(task)
  await wakeUntil(engine.clock, () => renewed.length >= 5)
  const times = { now: engine.clock.now(), leaseUntil: 0 }
  assert.deepEqual(await engine.store.claimShares({ state: 'fetching' }, ofAlice, times), [])
  release.resolve()
  assert.equal((await engine.until(({ state }) => state === 'queued')).operation, 'slow')
})

it('an action that lost its lease is aborted and writes nothing', async () => {
  const started = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  await using engine = await world(async (_task, _tools, { signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    stopped.resolve()
    return toQueued('late')
  })
  await engine.store.insert(task)
  await started.promise
  const later = { now: 1_000 + leaseMs, leaseUntil: 1e9 }
  const [other] = await engine.store.claimShares({ state: 'fetching' }, ofAlice, later)
  assert.ok(other)
  await wakeUntil(engine.clock, () => stopped.promise)
  assert.equal(await engine.store.record({ task: { ...other, operation: 'other', dueAt: null } }), true)
  assert.equal((await engine.store.find(task.id))?.operation, 'other')
})

it('a deleted task goes to discard, also if it is deleted during an action', async () => {
  const release = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  await using engine = await world(async () => {
    started.resolve()
    await release.promise
    return { change: { dueAt: 1e9 } }
  })
  await engine.store.insert(task)
  await started.promise
  await engine.store.delete('alice', task.id, 1_000)
  release.resolve()
  // Its id is free again once the row is gone.
  while (
    await engine.store.insert(task).then(
      () => false,
      () => true,
    )
  )
    await new Promise((resolve) => setImmediate(resolve))
})

it('draining waits for the running action and starts no other', async () => {
  const begun: string[] = []
  const started = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const engine = await world(async ({ id }) => {
    begun.push(id)
    started.resolve()
    await release.promise
    return toQueued('finished')
  })
  await engine.store.insert(task)
  await started.promise
  const drained = engine[Symbol.asyncDispose]()
  await engine.store.insert(newTask('2', { state: 'fetching' }))
  release.resolve()
  await drained
  assert.deepEqual(begun, [task.id])
})

const inAccounts = ['queued', 'held', 'running', 'storing', 'completed'] as const

/** Sends a queued task as attempt a (task 1), b (task 2) and so on. Leaves tasks of other states as they are. */
const sends =
  (operation: Json, { adopts }: { adopts?: string } = {}): Run =>
  async (task, _tools, { commit }) => {
    if (task.state !== 'queued') return { change: { dueAt: null } }
    const id = String.fromCharCode(96 + Number(task.id.slice(-1)))
    await commit({ state: 'held', attempt: id, attempts: 1, dueAt: null }, newAttempt(id, task))
    const adoption = adopts === id ? { adopted: true as const } : {}
    const fact = { id, state: 'accepted', operation, settledAt: 7, problem: null, ...adoption } as const
    return { change: { state: 'running', operation, dueAt: null }, fact }
  }

it('a problem is noted once, however often it occurs, and so is each other one', async () => {
  let runs = 0
  const fails: Run = async () => {
    runs += 1
    const message = `no way there: hunter2, ${runs}`
    throw new Problem(runs % 2 ? 'provider_unavailable' : 'storage_unavailable', message, { retryable: true })
  }
  for (const state of ['running', 'completed'] as const) {
    runs = 0
    await using engine = await world(fails, undefined, inAccounts)
    await engine.store.insert(newTask('1', { state, account: 'p', startedAt: 1 }))
    await wakeUntil(engine.clock, () => runs >= 30)
    assert.deepEqual(
      (await engine.store.events(task.id)).map(({ name, detail }) => [name, detail]),
      [
        ['test met a problem', { code: 'provider_unavailable', message: 'no way there: [redacted], 1', tries: 0 }],
        [
          'test met a problem',
          {
            code: 'storage_unavailable',
            message: 'no way there: [redacted], 2',
            tries: state === 'completed' ? 0 : 1,
          },
        ],
      ],
    )
  }
})

it('a problem is noted again when the task fails with it', async () => {
  await using engine = await world(async () => {
    throw new Problem('image_unavailable', 'gone', { retryable: true })
  })
  await engine.store.insert(task)
  for (const tries of [1, 2]) {
    await engine.until((found) => found.tries === tries)
    engine.clock.advance(5_000)
  }
  await engine.until(({ state }) => state === 'failed')
  assert.deepEqual(
    (await engine.store.events(task.id)).map(({ name }) => name),
    ['test met a problem', 'test met a problem', 'failed'],
  )
})

it('an operation is stored as it came, even if it contains a secret of the configuration', async () => {
  const operation = { id: 'x', prompt: 'the hunter2 of the north' }
  await using engine = await world(sends(operation), undefined, inAccounts)
  await engine.store.insert(newTask('1'))
  const running = await engine.until(({ state }) => state === 'running')
  assert.deepEqual([running.operation, (await engine.store.attempt('a'))?.operation], [operation, operation])
  assert.equal((await engine.store.bound('p', [operationKey(operation)])).size, 1)
})

it('a response with the operation of another attempt holds its task, and logs an error', async () => {
  await using engine = await world(sends({ id: 'same' }), undefined, inAccounts)
  await engine.store.insert(newTask('1'))
  await engine.until(({ state }) => state === 'running')
  const second = newTask('2')
  await engine.store.insert(second)
  const isLeft = ({ state, dueAt }: Task) => state === 'held' && (dueAt ?? 0) > engine.clock.now() + leaseMs
  await engine.until(isLeft, second.id)
  const { state, operation, problem } = (await engine.store.attempt('b')) ?? {}
  assert.deepEqual([state, operation, problem?.code], ['open', null, 'operation_taken'])
  assert.match(problem?.message ?? '', /of another attempt: \{"id":"same"\}$/)
  assert.match(engine.lines.join('\n'), /two attempts claim one operation .*"attempt":"b".*"operation":\{"id":"same"\}/)
  assert.equal((await engine.store.find(newTask('1').id))?.state, 'running')
})

it('a response beats an adoption: the task of the response runs, and the other is held again', async () => {
  await using engine = await world(sends({ id: 'same' }, { adopts: 'a' }), undefined, inAccounts)
  const [first, second] = [newTask('1'), newTask('2')]
  await engine.store.insert(first)
  await engine.until(({ state }) => state === 'running')
  await engine.store.insert(second)
  const isSettled = ({ state, dueAt }: Task) =>
    state === 'running' || (state === 'held' && (dueAt ?? 0) > engine.clock.now() + leaseMs)
  assert.equal((await engine.until(isSettled, second.id)).state, 'running')
  assert.deepEqual((await engine.store.attempt('b'))?.operation, { id: 'same' })
  const { state, problem } = (await engine.store.attempt('a')) ?? {}
  assert.deepEqual(
    [state, problem?.code, (await engine.store.find(first.id))?.state],
    ['open', 'operation_taken', 'held'],
  )
  assert.match(engine.lines.join('\n'), /a wrong operation was adopted .*"loser":"a"/)
})

it('a response is recorded even if the store will never accept its decision', async () => {
  const refusesRunning = (store: Store): Store => ({
    ...store,
    record: async (entry) => {
      if (entry.task.state === 'running') throw new Error('no such column')
      return store.record(entry)
    },
  })
  await using engine = await world(sends({ id: 'paid' }), refusesRunning, inAccounts)
  await engine.store.insert(newTask('1'))
  await engine.until(({ state }) => state === 'failed')
  const { state, operation } = (await engine.store.attempt('a')) ?? {}
  assert.deepEqual([state, operation], ['orphan', { id: 'paid' }])
})

it('a response that the store will never accept is in the log, and its attempt is abandoned', async () => {
  const refusesAnswers = (store: Store): Store => ({
    ...store,
    record: async (entry) => {
      if (entry.fact?.operation) throw new Error('no such column')
      return store.record(entry)
    },
  })
  await using engine = await world(sends({ id: 'paid' }), refusesAnswers, inAccounts)
  await engine.store.insert(newTask('1'))
  await engine.until(({ state }) => state === 'failed')
  assert.equal((await engine.store.attempt('a'))?.state, 'abandoned')
  assert.match(engine.lines.join('\n'), /a response could not be recorded .*"operation":\{"id":"paid"\}/)
})

it('a task that is deleted between its claim and its submit is not sent', async () => {
  const claimed = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  let sent = false
  await using engine = await world(
    async (task, tools, action) => {
      claimed.resolve()
      await release.promise
      await action.commit({ state: 'held', attempt: 'a', attempts: 1, dueAt: null }, newAttempt('a', task))
      sent = true
      return sends('op')(task, tools, action)
    },
    undefined,
    inAccounts,
  )
  await engine.store.insert(newTask('1'))
  await claimed.promise
  await engine.store.delete('alice', task.id, 1_000)
  release.resolve()
  const gone = async () => {
    while (await engine.store.find(task.id)) await new Promise((resolve) => setImmediate(resolve))
  }
  await wakeUntil(engine.clock, gone)
  assert.deepEqual([sent, await engine.store.attempts(task.id)], [false, []])
})

it('tasks of an account that only another process has are claimed after a while', async () => {
  const begun: string[] = []
  await using engine = await world(
    async ({ id }) => {
      begun.push(id)
      return { change: { dueAt: null } }
    },
    undefined,
    inAccounts,
  )
  await engine.store.insert(newTask('1', { state: 'running', account: 'elsewhere' }))
  await wakeUntil(engine.clock, () => begun.length > 0)
  assert.deepEqual(begun, [task.id])
})
