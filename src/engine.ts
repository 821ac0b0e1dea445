import type { Clock, Random } from './core/clock.ts'
import { Problem } from './core/problem.ts'
import { apply, type Change } from './core/states.ts'
import { isFinished, type Task } from './core/task.ts'
import { leaseMs, nextTry, renewMs } from './core/timing.ts'
import type { Log } from './log.ts'
import type { Lane, Store } from './stores/store.ts'
import type { Decision, Tools, Worker } from './workers/worker.ts'

export interface EngineOptions {
  store: Store
  workers: readonly Worker[]
  /** Takes every task that its owner deleted, whatever its state. */
  discard: Worker
  tools: Tools
  clock: Clock
  random: Random
  log: Log
}

/** Disposing drains: no new claims, actions under way get `graceMs` to end, the rest is aborted and left to its lease. */
export type Engine = AsyncDisposable

interface WorkerLane extends Lane {
  worker: Worker
  cap?: number
}

interface Run {
  task: Task
  lane: WorkerLane
  abort: AbortController
  done: Promise<void>
}

/** An idle engine looks again after this long even if nothing woke it. */
const idleMs = 1_000
/** Tasks that are due but wait for a free slot are looked at this often; a slot that frees wakes us earlier. */
const crowdedMs = 100
const graceMs = 10_000

/**
 * claim → run → record, for every lane. The only place that retries. One loop and one renewal timer serve all tasks, so
 * that thousands in flight cost no timer each.
 */
export function startEngine({ store, workers, discard, tools, clock, random, log }: EngineOptions): Engine {
  const lanes = [...layLanes(workers, tools)]
  // Runs, not ids: after a long stall this process may be given a task anew while its old run still winds down.
  const active = new Set<Run>()
  const stop = new AbortController()
  const ended = new AbortController()
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
    for (const lane of lanes) {
      if (unrecorded > 0) break
      const room = lane.worker.limit - [...active].filter((run) => run.lane === lane).length
      const due = room > 0 ? await store.nextDue(lane) : undefined
      if (due === undefined || stop.signal.aborted) continue
      const now = clock.now()
      if (due <= now) {
        const { worker: _, ...where } = lane
        for (const task of await store.claim({ ...where, limit: room, now, leaseUntil: now + leaseMs }))
          begin(task, lane)
      }
      delay = Math.min(delay, Math.max(crowdedMs, due - now))
    }
    return delay
  }

  function begin(task: Task, lane: WorkerLane): void {
    const begun: Run = { task, lane, abort: new AbortController(), done: Promise.resolve() }
    active.add(begun)
    const worker = task.deletedAt === null ? lane.worker : discard
    begun.done = run(task, worker, begun.abort.signal)
      .catch((error) => log.error('action failed', { task: task.id, worker: worker.name, error }))
      .finally(() => {
        active.delete(begun)
        wake.resolve()
      })
  }

  async function run(task: Task, worker: Worker, signal: AbortSignal): Promise<void> {
    let decision: Decision | undefined
    let after: Task | null
    try {
      decision = await worker.run(task, tools, signal)
      after = 'change' in decision ? apply(task, decision.change) : null
    } catch (thrown) {
      if (signal.aborted) return
      after = apply(task, afterFailure(task, Problem.from(thrown), worker))
    }
    if (!(await record(task, after, worker, signal))) return
    if (after && after.state !== task.state)
      log.info(`task ${after.state}`, { task: task.id, ...(after.error && { error: after.error }) })
    if (decision && 'afterwards' in decision) await decision.afterwards?.()
  }

  /** Another try later, or the end. A finished task only has its bytes left to lose: that is tried for ever. */
  function afterFailure(task: Task, problem: Problem, worker: Worker): Change {
    const { code, message, cause } = problem
    log.warn('action met a problem', { task: task.id, worker: worker.name, code, message, cause, tries: task.tries })
    const chance = (random(1)[0] ?? 0) / 256
    const now = clock.now()
    if (isFinished(task)) return { dueAt: now + 30 * idleMs }
    const retry = nextTry(problem, task, now, chance)
    if (retry) return { dueAt: now + retry.delayMs, tries: retry.tries }
    return { state: 'failed', error: { code, message }, dueAt: now }
  }

  /**
   * False if the lease was lost. A decision that the store can't take now is held on to: it may be the only trace of
   * work that was paid for. Until it is taken nothing is claimed, so that this task can't be claimed from under it.
   * One that the store will never take fails the task, or its action would be repeated without end.
   */
  async function record(task: Task, after: Task | null, worker: Worker, signal: AbortSignal): Promise<boolean> {
    try {
      return after ? await store.record(after) : await store.remove(task)
    } catch (error) {
      log.error('a decision could not be recorded', { task: task.id, error })
      const problem = Problem.from(error)
      if (signal.aborted) return false
      if (problem.code !== 'storage_unavailable') {
        const final = new Problem('internal', 'Something went wrong on our side.', { cause: error })
        return store.record(apply(task, afterFailure(task, final, worker)))
      }
    }
    unrecorded += 1
    await clock.sleep(idleMs, signal)
    unrecorded -= 1
    return record(task, after, worker, signal)
  }

  async function renewLoop(): Promise<void> {
    for (;;) {
      await clock.sleep(renewMs, ended.signal)
      if (ended.signal.aborted) return
      if (active.size === 0) continue
      try {
        const runs = [...active]
        const lost = await store.renew(
          runs.map(({ task: { id, fence } }) => ({ id, fence })),
          clock.now() + leaseMs,
        )
        for (const { id, fence } of lost) runs.find(({ task }) => task.id === id && task.fence === fence)?.abort.abort()
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

/** Queued tasks go by provider, so that one with no free slot holds up nobody else's. */
function* layLanes(workers: readonly Worker[], { providers }: Tools): Iterable<WorkerLane> {
  for (const worker of workers) {
    for (const state of worker.states) {
      if (state !== 'queued') yield { worker, state }
      else for (const [provider, { concurrency }] of providers) yield { worker, state, provider, cap: concurrency }
    }
  }
}
