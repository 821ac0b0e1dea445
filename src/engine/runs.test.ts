import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Attempt } from '../core/attempt.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { newTask } from '../stores/contract.ts'
import type { Decision, Worker } from '../workers/worker.ts'
import type { WorkerLane } from './lanes.ts'
import { memoryUnsentNotes, noHealths } from './memory.fixture.ts'
import type { EngineOptions } from './options.ts'
import { openOutcomes } from './outcome.ts'
import { openRecords } from './records.ts'
import { openRuns } from './runs.ts'

const task = newTask('1', { state: 'fetching' })

const attemptOf = (id: string): Attempt => ({
  id: `att_${id}`,
  task: id,
  number: 1,
  account: 'p',
  keyVersion: '1',
  upstreamModel: 'u',
  openedAt: 1,
  state: 'open',
  operation: null,
  settledAt: null,
  problem: null,
})

const lost = 'lost'

/** Runs of one worker on a store that accepts every decision, and then says that the leases of two tasks are lost. */
function openWorld(run: Worker['run'], tasks = [task], record = async () => true) {
  const clock = manualClock()
  const log = { info() {}, warn() {}, error: assert.fail }
  const store = {
    record,
    renew: async (leases: { id: string }[]) => leases.filter(({ id }) => id === task.id || id === lost),
  }
  const random = (count: number) => new Uint8Array(count)
  const options = {
    store,
    healths: noHealths,
    clock,
    random,
    log,
    redact: (text: string) => text,
    unsent: memoryUnsentNotes(),
    tools: { accounts: new Map() },
  }
  const outcomes = openOutcomes(options as unknown as EngineOptions)
  const records = openRecords(options as unknown as EngineOptions, outcomes)
  const ended = Promise.withResolvers<void>()
  const runs = openRuns(options as unknown as EngineOptions, {
    outcomes,
    records,
    nextLane: () => undefined,
    onEnd: ended.resolve,
  })
  const worker: Worker = { name: 'test', states: ['fetching'], limit: 1, run }
  const lane: WorkerLane = { worker, where: { state: 'fetching' }, lagMs: 0, hasBacklog: false }
  const begin = (one: Task) => runs.begin(one, lane)
  for (const one of tasks) begin(one)
  return { runs, begin, clock, ended: ended.promise }
}

it('a warning of a worker is logged, and is in the timeline', async () => {
  const logged: unknown[] = []
  const log = { warn: (message: string, fields: object) => logged.push([message, fields]) }
  const options = { clock: manualClock(), log, redact: (text: string) => text } as unknown as EngineOptions
  const { events = [] } = openOutcomes(options).entryOf(task, {
    change: { dueAt: 1 },
    warning: ['too much', 'a million'],
  })
  assert.deepEqual(
    events.map(({ name, detail }) => [name, detail]),
    [['too much', 'a million']],
  )
  assert.deepEqual(logged, [['too much', { task: task.id, account: task.account, detail: 'a million' }]])
})

it('`afterwards` is not aborted when the lease is lost, but when the service ends', async () => {
  const [begun, finish] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()]
  const { runs, ended } = openWorld(
    async (_task, _tools, { signal }): Promise<Decision> => ({
      change: { state: 'queued', dueAt: null },
      async afterwards() {
        begun.resolve(signal)
        await finish.promise
      },
    }),
  )
  const signal = await begun.promise
  await runs.renew()
  assert.equal(signal.aborted, false)
  for (const { abort } of runs.active) abort.abort()
  assert.equal(signal.aborted, true)
  finish.resolve()
  await ended
})

it('`afterwards` is not aborted by a renewal that overtook the decision', async () => {
  const [recording, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
  let wasAborted: boolean | undefined
  const { runs, ended } = openWorld(
    async (_task, _tools, { signal }): Promise<Decision> => ({
      change: { state: 'queued', dueAt: null },
      async afterwards() {
        wasAborted = signal.aborted
      },
    }),
    [task],
    () => {
      recording.resolve()
      return recorded.promise
    },
  )
  await recording.promise
  await runs.renew()
  recorded.resolve(true)
  await ended
  assert.equal(wasAborted, false)
})

interface SendingOptions {
  /** They say when the request is sent. */
  leaves?: boolean
  isOpen?: (id: string) => boolean
}

/** Runs that commit an attempt, and send it when the test says so. */
function openSending({ leaves = true, isOpen = () => true }: SendingOptions = {}) {
  const order: string[] = []
  const refused: string[] = []
  const openedAt = new Map<string, number>()
  const sends = new Map<string, () => void>()
  const world = openWorld(async ({ id }, _tools, action): Promise<Decision> => {
    const refuse = (thrown: unknown) => void refused.push(`${id} ${Problem.from(thrown).code}`)
    const committed = await action.commit({ dueAt: null }, attemptOf(id), () => isOpen(id)).catch(refuse)
    if (committed) {
      order.push(id)
      openedAt.set(id, committed.attempt.openedAt)
      await new Promise<void>((resolve) => sends.set(id, resolve))
      try {
        if (leaves) action.leave()
      } catch (thrown) {
        refuse(thrown)
      }
    }
    return { change: { state: 'queued', dueAt: null } }
  }, [])
  return { world, order, refused, openedAt, sends, settle: () => new Promise((resolve) => setImmediate(resolve)) }
}

/** How many attempts may be committed and unsent. */
const most = 6

it('few attempts are committed and unsent at once, and owners take turns', async () => {
  const { world, order, sends, settle } = openSending()
  const crowd = Array.from({ length: most + 2 }, (_, at) => `a${at}`)
  for (const id of crowd) world.begin({ ...task, id, owner: 'a' })
  await settle()
  world.begin({ ...task, id: 'b', owner: 'b' })
  await settle()
  assert.deepEqual(order, crowd.slice(0, most))
  for (const id of [...crowd.slice(0, most), 'b', ...crowd.slice(most)]) {
    sends.get(id)?.()
    await settle()
  }
  assert.deepEqual(order, [...crowd.slice(0, most), 'b', ...crowd.slice(most)])
})

it('a run that ends while it waits for its turn takes none', async () => {
  const { world, order, sends, settle } = openSending({ leaves: false })
  const ids = Array.from({ length: most + 2 }, (_, at) => String(at))
  for (const id of ids) world.begin({ ...task, id })
  await settle()
  for (const { task, abort } of world.runs.active) if (task.id === ids[most]) abort.abort()
  sends.get('0')?.()
  await settle()
  assert.deepEqual(order, [...ids.slice(0, most), ids[most + 1]])
})

it('an attempt is opened when its turn comes', async () => {
  const { world, openedAt, sends, settle } = openSending()
  for (let at = 0; at <= most; at += 1) world.begin({ ...task, id: String(at), dueAt: 1_000 })
  await settle()
  world.clock.advance(500)
  sends.get('0')?.()
  await settle()
  assert.deepEqual([openedAt.get('0'), openedAt.get(String(most))], [0, 500])
})

it('a request is not sent after the lease of its task ended, and is sent if that was renewed', async () => {
  const { world, refused, sends, settle } = openSending()
  world.begin({ ...task, id: 'late', dueAt: 1_000 })
  await settle()
  world.clock.advance(1_000)
  sends.get('late')?.()
  await settle()
  assert.deepEqual(refused, ['late storage_unavailable'])

  const renewing = openSending()
  renewing.world.begin({ ...task, id: 'renewed', dueAt: 1_000 })
  renewing.world.begin({ ...task, id: lost, dueAt: 1_000 })
  await renewing.settle()
  await renewing.world.runs.renew()
  renewing.world.clock.advance(1_000)
  for (const send of renewing.sends.values()) send()
  await renewing.settle()
  assert.deepEqual(renewing.refused, [`${lost} storage_unavailable`])
})

it('no attempt is committed for a connection that closed while it waited for its turn', async () => {
  const closed = new Set<string>()
  const { world, order, refused, sends, settle } = openSending({ isOpen: (id) => !closed.has(id) })
  for (let at = 0; at <= most + 1; at += 1) world.begin({ ...task, id: String(at) })
  await settle()
  closed.add(String(most))
  sends.get('0')?.()
  await settle()
  assert.deepEqual(refused, [`${most} provider_unreachable`])
  assert.equal(order.at(-1), String(most + 1))
})
