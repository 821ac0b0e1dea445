import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { decide, factOf, sent } from '../stores/contract/world.ts'
import { openSqlite } from '../stores/sqlite.ts'
import { memoryUnsentNotes, noHealths } from './memory.fixture.ts'
import type { EngineOptions } from './options.ts'
import { openOutcomes } from './outcome.ts'
import { openRecords, recordFact } from './records.ts'
import { replay } from './replay.ts'
import { openSpill } from './spill.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-replay-'))
after(() => rmSync(folder, { recursive: true }))

/** A store, and the spill with responses that it could not accept. */
async function openWorld() {
  const data = mkdtempSync(join(folder, 'store-'))
  const open = () => openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
  const store = await open()
  let opened = store
  const lines: string[] = []
  const say = (event: string, fields: object = {}) => void lines.push(`${event} ${JSON.stringify(fields)}`)
  const spilled = join(data, 'spill')
  return {
    store,
    lines,
    spill: openSpill(spilled, say),
    unsent: memoryUnsentNotes(),
    log: { info: say, warn: say, error: say },
    clock: manualClock(),
    files: () => readdirSync(spilled),
    async reopen() {
      await opened[Symbol.asyncDispose]()
      opened = await open()
      return opened
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

const operation = { id: 'paid for' }
const accepted = (attempt: string) => factOf(attempt, 'accepted', operation)

it('a response whose operation belongs to another attempt by now is set aside, and does not stop the start', async () => {
  await using world = await openWorld()
  const { store, spill } = world
  const first = await sent(store, '1', 'att_1')
  await store.record(decide(first, { state: 'failed' }, { fact: factOf('att_1', 'abandoned') }))
  const second = await sent(store, '2', 'att_2')
  await store.record(decide(second, { state: 'running' }, { fact: accepted('att_2') }))
  await sent(store, '3', 'att_3')
  spill.keep(accepted('att_1'))
  spill.keep(factOf('att_3', 'accepted', 'another'))

  await replay(world)
  assert.deepEqual((await store.attempt('att_3'))?.operation, 'another', 'the others are recorded')
  assert.equal((await store.attempt('att_1'))?.state, 'abandoned')
  assert.deepEqual(world.files(), ['att_1.json.refused'])
  assert.match(world.lines.join('\n'), /^a spilled response was refused and set aside .*"att_1".*"paid for"/m)
  const before = world.lines.length
  await replay(world)
  assert.equal(world.lines.length, before)
})

it('a response beats the adoption of its operation by another attempt', async () => {
  await using world = await openWorld()
  const { store, spill } = world
  const first = await sent(store, '1', 'att_1')
  const adopted = { ...accepted('att_1'), adopted: true as const }
  await store.record(decide(first, { state: 'running', operation }, { fact: adopted }))
  await sent(store, '2', 'att_2')
  spill.keep(accepted('att_2'))
  await replay(world)
  assert.deepEqual((await store.attempt('att_2'))?.operation, operation)
  assert.deepEqual([(await store.attempt('att_1'))?.state, (await store.find(first.id))?.state], ['open', 'held'])
  assert.deepEqual(world.files(), [])
})

/** A task of a lookup that found another job than the response named. After each disowning, a worker adopts it again. */
async function openAdopted(times: number, returned: 'this one' | 'another one' = 'this one') {
  const world = await openWorld()
  const { store, spill } = world
  const task = await sent(store, '1', 'att_1')
  const adopted = { ...factOf('att_1', 'accepted', 'found'), adopted: true as const }
  await store.record(decide(task, { state: 'running', operation: 'found' }, { fact: adopted }))
  spill.keep(accepted('att_1'))
  let again = 0
  const disown: typeof store.disown = async (...given) => {
    const loser = await store.disown(...given)
    const next = again++ < times ? await store.claimOne(task.id, 'held', 1e9) : undefined
    if (next) await store.record(decide(next, { state: 'running', operation: 'found' }, { fact: adopted }))
    return returned === 'this one' ? loser : undefined
  }
  return { ...world, task, adopted, store: { ...store, disown }, attempt: () => store.attempt('att_1') }
}

for (const returned of ['this one', 'another one'] as const)
  it(`a response beats an adoption by its own attempt that ${returned} disowns, also if a worker adopts again`, async () => {
    await using world = await openAdopted(1, returned)
    await replay(world)
    const [attempt, after] = [await world.attempt(), await world.store.find(world.task.id)]
    assert.deepEqual([attempt?.operation, attempt?.adopted, after?.state], [operation, undefined, 'held'])
    assert.deepEqual(world.files(), [])
  })

it('a response stays spilt as long as workers adopt another operation for its attempt', async () => {
  await using world = await openAdopted(Number.POSITIVE_INFINITY)
  await assert.rejects(replay(world), { code: 'storage_unavailable' })
  assert.deepEqual(world.files(), ['att_1.json'])
})

for (const next of ['', ', and adopted again'])
  it(`a response is recorded if its operation was disowned by another process meanwhile${next}`, async () => {
    await using world = await openWorld()
    const { store, spill } = world
    const [first] = [await sent(store, '1', 'att_1'), await sent(store, '2', 'att_2')]
    const adopted = { ...accepted('att_1'), adopted: true as const }
    await store.record(decide(first, { state: 'running', operation }, { fact: adopted }))
    spill.keep(accepted('att_2'))
    let tries = 0
    const disown: typeof store.disown = async (...given) => {
      const loser = await store.disown(...given)
      if (tries++ > 0) return loser
      if (next) await store.settle(first.id, adopted)
      return undefined
    }
    await replay({ ...world, store: { ...store, disown } })
    assert.deepEqual([(await store.attempt('att_2'))?.operation, world.files()], [operation, []])
  })

it('a response is an orphan if another one replaces the adoption before the look at its attempt', async () => {
  await using world = await openAdopted(0)
  const { store } = world
  let writes = 0
  const settle: typeof store.settle = async (...given) => {
    await store.settle(...given)
    if (writes++ > 0) return
    await store.disown('p', 'found', 1)
    await store.settle(world.task.id, factOf('att_1', 'accepted', 'third'))
  }
  await replay({ ...world, store: { ...store, settle } })
  assert.equal((await store.attempt('att_1'))?.operation, 'third')
  assert.deepEqual(
    (await store.attemptsIn('orphan', 9)).map((orphan) => orphan.operation),
    [operation],
  )
  assert.deepEqual(world.files(), [])
})

it('a response beats adoptions of its operation by another attempt, also if that adopts it again', async () => {
  await using world = await openWorld()
  const { store, spill } = world
  const [first] = [await sent(store, '1', 'att_1'), await sent(store, '2', 'att_2')]
  const adopted = { ...accepted('att_1'), adopted: true as const }
  await store.settle(first.id, adopted)
  spill.keep(accepted('att_2'))
  let again = 0
  const disown: typeof store.disown = async (...given) => {
    const loser = await store.disown(...given)
    // The decision of a worker that had read the adoption.
    if (again++ < 2) await store.settle(first.id, adopted)
    return loser
  }
  await replay({ ...world, store: { ...store, disown } })
  assert.deepEqual(
    [(await store.attempt('att_2'))?.operation, (await store.attempt('att_1'))?.operation],
    [operation, null],
  )
  assert.deepEqual(world.files(), [])
})

it('a lookup that found another operation than the response named is logged', async () => {
  await using world = await openWorld()
  const { store } = world
  const task = await sent(store, '1', 'att_1')
  await store.settle(task.id, accepted('att_1'))
  const found = { ...factOf('att_1', 'accepted', 'found'), adopted: true as const }
  const entry = decide(task, { state: 'running', operation: 'found' }, { fact: found })
  assert.equal(await recordFact(world, 'p', found, () => store.record(entry)), false)
  assert.match(world.lines.join('\n'), /^a lookup found a second operation .*"operation":"found","first":\{"id":"paid/m)
})

it('a response that names another operation than the operator adopted is an orphan, and logged', async () => {
  await using world = await openWorld()
  const { store, spill } = world
  const task = await sent(store, '1', 'att_1')
  await store.record(
    decide(task, { state: 'running', operation: 'found' }, { fact: factOf('att_1', 'accepted', 'found') }),
  )
  spill.keep(accepted('att_1'))
  await replay(world)
  const orphans = await store.attemptsIn('orphan', 9)
  assert.deepEqual(
    orphans.map((attempt) => [attempt.task, attempt.operation]),
    [[task.id, operation]],
  )
  assert.match(world.lines.join('\n'), /^a response named a second operation .*"first":"found"/m)
  assert.deepEqual(world.files(), [])
})

it('a response is kept for the next start if the store is unavailable', async () => {
  await using world = await openWorld()
  await sent(world.store, '1', 'att_1')
  world.spill.keep(accepted('att_1'))
  const settle = () => Promise.reject(new Problem('storage_unavailable', 'away', { retryable: true }))
  await assert.rejects(replay({ ...world, store: { ...world.store, settle } }), { code: 'storage_unavailable' })
  assert.deepEqual(world.files(), ['att_1.json'])
})

it('the lines about a response and about an unsent attempt have the trace of their task', async () => {
  await using world = await openWorld()
  const { store, spill, unsent } = world
  const traceOf = (digit: string) => digit.repeat(32)
  const withTrace = (digit: string) => ({ trace: `00-${traceOf(digit)}-${'1'.repeat(16)}-01` })
  await sent(store, '1', 'att_1', withTrace('a'))
  spill.keep(accepted('att_1'))
  await sent(store, '2', 'att_2', withTrace('b'))
  // It has the operation of the first.
  spill.keep(accepted('att_2'))
  const { id, fence } = await sent(store, '3', 'att_3', withTrace('c'))
  unsent.add({ attempt: 'att_3', task: id, fence })
  await replay(world)
  for (const [attempt, event, digit] of [
    ['att_1', 'a spilled response was recorded', 'a'],
    ['att_2', 'a spilled response was refused and set aside', 'b'],
    ['att_3', 'an attempt was not sent', 'c'],
  ] as const) {
    const line = world.lines.find((one) => one.startsWith(event) && one.includes(`"attempt":"${attempt}"`))
    assert.ok(line?.includes(`"trace_id":"${traceOf(digit)}"`), line ?? event)
  }
})

it('an operation that was accepted for a task whose row is gone is shown to the operator', async () => {
  await using world = await openWorld()
  const { store } = world
  const task = await sent(store, '1', 'att_1')
  await store.delete('alice', task.id, 50)
  assert.ok(await store.remove(task))
  world.spill.keep(accepted('att_1'))
  await replay(world)
  const orphans = await store.attemptsIn('orphan', 10)
  assert.deepEqual(
    orphans.map(({ id, operation }) => ({ id, operation })),
    [{ id: 'att_1', operation }],
  )
  assert.deepEqual(world.files(), [])
  assert.match(world.lines.join('\n'), /^a spilled response was recorded/)
})

function recordsOf(given: object) {
  const random = (count: number) => new Uint8Array(count)
  const rest = { healths: noHealths, random, redact: (text: string) => text }
  const options = { ...given, ...rest } as unknown as EngineOptions
  return openRecords(options, openOutcomes(options))
}

for (const last of ['its lease is held', 'its lease is lost']) {
  it(`a spilt response whose operation turns out to belong to another attempt leaves no file: ${last}`, async () => {
    await using world = await openWorld()
    const { store } = world
    const taken = await sent(store, '1', 'att_1')
    await store.record(decide(taken, { state: 'running' }, { fact: accepted('att_1') }))
    const task = await sent(store, '2', 'att_2')
    let tries = 0
    const record: typeof store.record = (entry) => {
      tries += 1
      return tries === 1 ? Promise.reject(new Problem('storage_unavailable', 'away')) : store.record(entry)
    }
    const clock = { ...manualClock(), sleep: async () => void kept.push(...world.files()) }
    const kept: string[] = []
    const records = recordsOf({ ...world, store: { ...store, record }, clock })
    const held = last.endsWith('held') ? task : { ...task, fence: task.fence - 1 }
    const by = { task: held, worker: { name: 'submit' }, abort: new AbortController() }
    await records.record(by, decide(held, { state: 'running' }, { fact: accepted('att_2') }))
    assert.deepEqual(kept, ['att_2.json'])
    assert.deepEqual(world.files(), [])
    const { state, problem } = (await store.attempt('att_2')) ?? {}
    assert.deepEqual([state, problem?.code], ['open', 'operation_taken'])
  })
}

it('what a lookup found is not spilt, and leaves the spilt response to its attempt', async () => {
  await using world = await openWorld()
  const { store, spill } = world
  const task = await sent(store, '1', 'att_1')
  spill.keep(accepted('att_1'))
  let tries = 0
  const record: typeof store.record = (entry) => {
    tries += 1
    return tries === 1 ? Promise.reject(new Problem('storage_unavailable', 'away')) : store.record(entry)
  }
  const clock = { ...manualClock(), sleep: async () => {} }
  const records = recordsOf({ ...world, store: { ...store, record }, clock })
  const by = { task, worker: { name: 'submit' }, abort: new AbortController() }
  const fact = { ...factOf('att_1', 'accepted', 'found'), adopted: true as const }
  assert.ok(await records.record(by, decide(task, { state: 'running', operation: 'found' }, { fact })))
  assert.deepEqual(
    spill.all().map((spilt) => spilt.operation),
    [operation],
  )
})

it('a decision that the store never accepts ends with another one, also if it knew of an accepted attempt', async () => {
  await using world = await openWorld()
  const { store } = world
  const task = await sent(store, '1', 'att_1')
  await store.settle(task.id, accepted('att_1'))
  let tries = 0
  const record: typeof store.record = (entry) => {
    tries += 1
    return tries === 1 ? Promise.reject(new Error('no such row')) : store.record(entry)
  }
  const records = recordsOf({ ...world, store: { ...store, record }, clock: manualClock(5_000) })
  const by = { task, worker: { name: 'submit' }, abort: new AbortController() }
  assert.ok(await records.record(by, { ...decide(task, { state: 'running' }), knowsAccepted: true }))
  assert.equal((await store.find(task.id))?.state, 'failed')
})

it('a fenced refusal stays fenced if its decision is never accepted', async () => {
  await using world = await openWorld()
  const { store } = world
  const task = await sent(store, '1', 'att_1')
  let tries = 0
  const record: typeof store.record = (entry) => {
    tries += 1
    return tries === 1 ? Promise.reject(new Error('no such row')) : store.record(entry)
  }
  const records = recordsOf({ ...world, store: { ...store, record }, clock: manualClock(5_000) })
  const lost = { ...task, fence: task.fence - 1 }
  const by = { task: lost, worker: { name: 'submit' }, abort: new AbortController() }
  const fact = factOf('att_1', 'refused')
  assert.equal(await records.record(by, decide(lost, { state: 'queued' }, { fact, isFactFenced: true })), undefined)
  assert.deepEqual([tries, (await store.attempt('att_1'))?.state], [2, 'open'])
})

describe('an attempt that was committed and not sent', () => {
  const note = (attempt: string, { id, fence }: Task) => ({ attempt, task: id, fence })

  it('is refused at the next start, and its task queued again', async () => {
    await using world = await openWorld()
    const { store, unsent } = world
    const task = await sent(store, '1', 'att_1')
    unsent.add(note('att_1', task))
    await replay(world)
    const [after, attempt] = [await store.find(task.id), await store.attempt('att_1')]
    assert.deepEqual([after?.state, attempt?.state], ['queued', 'refused'])
    const events = (await store.events(task.id)).map(({ name }) => name)
    assert.deepEqual(events.slice(-2), ['attempt not sent', 'queued'])
    assert.deepEqual(unsent.all(), [])
  })

  it('is so too if the store has ended all leases since, as SQLite does when it is opened', async () => {
    await using world = await openWorld()
    const { unsent } = world
    const task = await sent(world.store, '1', 'att_1')
    unsent.add(note('att_1', task))
    const store = await world.reopen()
    await replay({ ...world, store })
    assert.deepEqual([(await store.find(task.id))?.state, (await store.attempt('att_1'))?.state], ['queued', 'refused'])
    assert.equal((await store.claim({ state: 'held', account: 'p', now: 1e12, leaseUntil: 2e12, limit: 9 })).length, 0)
  })

  it('is left to another process that has claimed its task since, and may have sent it', async () => {
    await using world = await openWorld()
    const { store, unsent } = world
    const task = await sent(store, '1', 'att_1')
    unsent.add(note('att_1', task))
    const later = { now: 1_000_000, leaseUntil: 2_000_000, limit: 10 }
    const [claimed] = await store.claim({ state: 'held', account: 'p', ...later })
    assert.equal(claimed?.id, task.id)
    await replay(world)
    assert.deepEqual([(await store.find(task.id))?.state, (await store.attempt('att_1'))?.state], ['held', 'open'])
    assert.deepEqual(unsent.all(), [])
  })

  it('is settled later if the store is unavailable', async () => {
    await using world = await openWorld()
    const { store, unsent } = world
    unsent.add(note('att_1', await sent(store, '1', 'att_1')))
    const renew = () => Promise.reject(new Problem('storage_unavailable', 'away', { retryable: true }))
    await assert.rejects(replay({ ...world, store: { ...store, renew } }), { code: 'storage_unavailable' })
    assert.equal(unsent.all().length, 1)
    await replay(world)
    assert.equal((await store.attempt('att_1'))?.state, 'refused')
  })

  it('whose note can not be struck does not stop the start', async () => {
    await using world = await openWorld()
    const { store, unsent } = world
    for (const number of ['1', '2']) unsent.add(note(`att_${number}`, await sent(store, number, `att_${number}`)))
    const strike = () => {
      throw new Error('no disk')
    }
    await replay({ ...world, unsent: { ...unsent, strike } })
    for (const id of ['att_1', 'att_2']) assert.equal((await store.attempt(id))?.state, 'refused')
    assert.match(world.lines.join('\n'), /an unsent attempt could not be requeued/)
  })

  it('whose response was spilt has been sent', async () => {
    await using world = await openWorld()
    const { store, spill, unsent } = world
    const task = await sent(store, '1', 'att_1')
    unsent.add(note('att_1', task))
    spill.keep(accepted('att_1'))
    await replay(world)
    assert.equal((await store.attempt('att_1'))?.state, 'accepted')
    assert.equal((await store.find(task.id))?.state, 'held')
  })
})
