import type { Clock, Random } from './core/clock.ts'
import { roomOf } from './core/health.ts'
import { Problem } from './core/problem.ts'
import { chance, orderRoutes } from './core/routing.ts'
import { apply, type Change } from './core/states.ts'
import { isFinished, type Json, type Task, type TaskEvent } from './core/task.ts'
import { leaseMs, nextTry, renewMs } from './core/timing.ts'
import type { QueueCard } from './core/turns.ts'
import { layLanes, nextDues, type WorkerLane } from './engine/lanes.ts'
import type { Log } from './log.ts'
import type { Entry, Store } from './stores/store.ts'
import type { Action, Decision, Tools, Worker } from './workers/worker.ts'

export interface EngineOptions {
  store: Store
  workers: readonly Worker[]
  /** Takes every task that its owner deleted, whatever its state. */
  discard: Worker
  tools: Tools
  /** How many tasks a token may have in work at once, for those that are limited. */
  ownerCaps: Readonly<Record<string, number>>
  clock: Clock
  random: Random
  log: Log
  /** Cuts secrets out of a piece of JSON. */
  redact: (json: string) => string
}

/** Disposing drains: no new claims, actions under way get `graceMs` to end, the rest is aborted and left to its lease. */
export type Engine = AsyncDisposable

interface Run {
  task: Task
  lane: WorkerLane
  worker: Worker
  abort: AbortController
  done: Promise<void>
}

/** An idle engine looks again after this long even if nothing woke it. */
const idleMs = 1_000
/** Tasks that are due but wait for a free slot are looked at this often; a slot that frees wakes us earlier. */
const crowdedMs = 100
const graceMs = 10_000

class LeaseLost extends Error {}

/**
 * claim → run → record, for every lane. The only place that retries. One loop and one renewal timer serve all tasks, so
 * that thousands in flight cost no timer each.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { store, workers, discard, tools, ownerCaps, clock, random, log, redact } = options
  const accounts = new Set([...tools.accounts.keys(), ...(await store.accountsInUse())])
  const lanes = layLanes(workers, accounts)
  // Runs, not ids: after a long stall this process may be given a task anew while its old run still winds down.
  const active = new Set<Run>()
  const stop = new AbortController()
  const ended = new AbortController()
  /** Until when each account was last said to be paused. */
  const said = new Map<string, number>()
  let unrecorded = 0
  let wake = Promise.withResolvers<void>()
  const stopListening = store.onDue(() => wake.resolve())

  async function claimLoop(): Promise<void> {
    let last = clock.now()
    while (!stop.signal.aborted) {
      wake = Promise.withResolvers<void>()
      let delay = idleMs
      try {
        // A clock that was set back would leave everything in flight due in a future that is far away.
        if (clock.now() < last - idleMs) await store.recover(clock.now())
        last = clock.now()
        delay = await claimDue()
      } catch (error) {
        log.error('claim failed', { error })
      }
      const nap = new AbortController()
      await Promise.race([wake.promise, clock.sleep(delay, AbortSignal.any([nap.signal, stop.signal]))])
      nap.abort()
    }
  }

  /** Starts what is due and returns how long nothing else will be. */
  async function claimDue(): Promise<number> {
    let delay = idleMs
    const busy = new Map<WorkerLane, number>()
    for (const { lane } of active) busy.set(lane, (busy.get(lane) ?? 0) + 1)
    const dues = await nextDues(store, lanes)
    for (const lane of lanes) {
      if (unrecorded > 0 || stop.signal.aborted) break
      // One queue for all accounts, so its room is theirs: one that hangs must not use up that of the others.
      const room = lane.where === 'queue' ? lane.worker.limit : lane.worker.limit - (busy.get(lane) ?? 0)
      if (room > 0) delay = Math.min(delay, Math.max(crowdedMs, await claimIn(lane, room, dues.get(lane))))
    }
    return delay
  }

  /** Returns after how long the lane has something else to do. */
  async function claimIn(lane: WorkerLane, limit: number, due = Number.POSITIVE_INFINITY): Promise<number> {
    const now = clock.now()
    const leaseUntil = now + leaseMs
    if (lane.where === 'queue') {
      const cards = openCards(now, lane)
      const { tasks, nextDue } = await store.claimQueued({ cards, ownerCaps, limit, now, leaseUntil })
      for (const task of tasks) begin(task, lane)
      return (nextDue ?? Number.POSITIVE_INFINITY) - now
    }
    if (due <= now) for (const task of await store.claim({ ...lane.where, limit, now, leaseUntil })) begin(task, lane)
    return due - now
  }

  /** Every card with the accounts that may be given work now, the preferred first. */
  function openCards(now: number, queue: WorkerLane): QueueCard[] {
    const inQueue = [...active].filter(({ lane }) => lane === queue)
    const sending = Map.groupBy(inQueue, ({ task }) => task.account)
    const cards = new Set([...tools.catalog.entries.values()].map(({ card }) => card))
    return [...cards].map((card) => ({
      card: card.id,
      cap: card.concurrency,
      accounts: orderRoutes(card.routes, random).flatMap(({ account: name }) => {
        const account = tools.accounts.get(name)
        const most = account ? Math.min(queue.worker.limit, roomOf(account.health, now)) : 0
        const room = most - (sending.get(name)?.length ?? 0)
        return account && room > 0 ? [{ name, cap: account.concurrency, room }] : []
      }),
    }))
  }

  function begin(task: Task, lane: WorkerLane): void {
    const worker = task.deletedAt === null ? lane.worker : discard
    const begun: Run = { task, lane, worker, abort: new AbortController(), done: Promise.resolve() }
    active.add(begun)
    begun.done = run(begun)
      .catch((error) => log.error('action failed', { task: task.id, worker: worker.name, error }))
      .finally(() => {
        active.delete(begun)
        wake.resolve()
      })
  }

  async function run(begun: Run): Promise<void> {
    const { worker, abort } = begun
    let decision: Decision
    try {
      decision = await worker.run(begun.task, tools, await actionOf(begun))
    } catch (thrown) {
      if (abort.signal.aborted || thrown instanceof LeaseLost) return
      decision = afterFailure(begun.task, Problem.from(thrown), worker)
    }
    const { task } = begun
    sayIfPaused(task.account)
    if ('remove' in decision) {
      await record(begun, 'remove')
      return
    }
    const after = apply(task, decision.change)
    const { fact, note, releases = false } = decision
    const entry = { task: after, events: eventsOf(task, after, note), releases, ...(fact && { fact: safe(fact) }) }
    if (!(await record(begun, entry))) return
    if (after.state !== task.state)
      log.info(`task ${after.state}`, { task: task.id, ...(after.error && { error: after.error }) })
    await decision.afterwards?.()
  }

  /** Once for each pause, and once when it is over: an account that needs its operator must not go unnoticed. */
  function sayIfPaused(name: string | null): void {
    const health = tools.accounts.get(name ?? '')?.health
    if (!name || !health || said.get(name) === health.pausedUntil) return
    const before = said.get(name) ?? 0
    said.set(name, health.pausedUntil)
    const until = new Date(health.pausedUntil).toISOString()
    if (health.reason === 'credentials') log.error('account paused', { account: name, reason: health.reason, until })
    else if (health.reason) log.warn('account paused', { account: name, reason: health.reason, until })
    else if (before > 0) log.info('account works again', { account: name })
  }

  async function actionOf(begun: Run): Promise<Action> {
    const { task, abort } = begun
    return {
      signal: abort.signal,
      attempt: task.state === 'held' && task.attempt ? ((await store.attempt(task.attempt)) ?? null) : null,
      bound: (account, operations) => store.bound(account, operations),
      async commit(change, opened) {
        const after = apply(task, change)
        const { id, number, account, upstreamModel } = opened
        const detail = { attempt: id, number, account, model: upstreamModel }
        const entry: Entry = { task: after, opened, keep: true, events: [eventOf('attempt opened', detail)] }
        if (!(await store.record(entry))) throw new LeaseLost('the lease was lost before the attempt was opened')
        begun.task = after
        return after
      },
    }
  }

  function eventsOf(before: Task, after: Task, note: [string, Json?] | undefined): TaskEvent[] {
    const events = note ? [eventOf(note[0], note[1] ?? null)] : []
    if (after.state !== before.state) events.push(eventOf(after.state, after.error ? { ...after.error } : null))
    return events
  }

  function eventOf(name: string, detail: Json): TaskEvent {
    return { at: clock.now(), name, detail: safe(detail) }
  }

  function safe<T>(value: T): T {
    return JSON.parse(redact(JSON.stringify(value))) as T
  }

  /** Another try later, or the end. A finished task only has its bytes left to lose: that is tried for ever. */
  function afterFailure(task: Task, problem: Problem, worker: Worker): Exclude<Decision, { remove: true }> {
    const { code, message, cause } = problem
    log.warn('action met a problem', { task: task.id, worker: worker.name, code, message, cause, tries: task.tries })
    const now = clock.now()
    const change = ((): Change => {
      if (isFinished(task)) return { dueAt: now + 30 * idleMs }
      const retry = nextTry(problem, task, now, chance(random))
      if (retry) return { dueAt: now + retry.delayMs, tries: retry.tries }
      return { state: 'failed', error: { code, message }, dueAt: now }
    })()
    const text = cause instanceof Error ? `${message} (${cause.message})` : message
    const note: [string, Json] = [
      `${worker.name} met a problem`,
      { code, message: text.slice(0, 500), tries: task.tries },
    ]
    if (task.state !== 'held' || task.attempt === null || change.state !== 'failed') return { change, note }
    // Nobody will look for its outcome any more.
    const given = { code, message: text.slice(0, 500) }
    const fact = { id: task.attempt, state: 'abandoned', operation: null, settledAt: now, problem: given } as const
    return { change, note, fact }
  }

  /**
   * False if the lease was lost. A decision that the store can't take now is held on to: it may be the only trace of
   * work that was paid for. Until it is taken nothing is claimed, so that this task can't be claimed from under it.
   */
  async function record(begun: Run, entry: Entry | 'remove'): Promise<boolean> {
    const { task, abort } = begun
    try {
      return await (entry === 'remove' ? store.remove(task) : store.record(entry))
    } catch (error) {
      log.error('a decision could not be recorded', { task: task.id, error })
      if (abort.signal.aborted) return false
      if (Problem.from(error).code !== 'storage_unavailable')
        return entry !== 'remove' && (await store.record(insteadOf(entry, begun, error)))
    }
    unrecorded += 1
    await clock.sleep(idleMs, abort.signal)
    unrecorded -= 1
    return record(begun, entry)
  }

  /**
   * What the store will never take fails the task, or its action would be repeated without end. So it is with an answer
   * that names work which is another attempt's: whose it is can't be told, so its own attempt is given up.
   */
  function insteadOf({ fact }: Entry, { task, worker }: Run, cause: unknown): Entry {
    const problem = new Problem('internal', 'Something went wrong on our side.', { cause })
    const { change, note } = afterFailure(task, problem, worker)
    const after = apply(task, change)
    const given = fact && ({ ...fact, state: 'abandoned', operation: null } as const)
    return { task: after, events: eventsOf(task, after, note), ...(given && { fact: given }) }
  }

  async function renewLoop(): Promise<void> {
    for (;;) {
      await clock.sleep(renewMs, ended.signal)
      if (ended.signal.aborted) return
      if (active.size === 0) continue
      try {
        const runs = [...active]
        const leases = runs.map(({ task: { id, fence } }) => ({ id, fence }))
        for (const { id, fence } of await store.renew(leases, clock.now() + leaseMs)) {
          const lost = runs.find(({ task }) => task.id === id && task.fence === fence)
          if (lost && !lost.worker.persists) lost.abort.abort()
        }
      } catch (error) {
        log.error('leases could not be renewed', { error })
      }
    }
  }

  const loops = [claimLoop(), renewLoop()]
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      stopListening()
      await loops[0]
      const actions = Promise.all([...active].map(({ done }) => done))
      await Promise.race([actions, clock.sleep(graceMs, ended.signal)])
      for (const { abort } of active) abort.abort()
      await actions
      ended.abort()
      await loops[1]
    },
  }
}
