import type { Clock, Random } from './core/clock.ts'
import { Problem } from './core/problem.ts'
import { apply, type Change } from './core/states.ts'
import { isFinished, type Task } from './core/task.ts'
import { leaseMs, renewMs, retryDelay } from './core/timing.ts'
import type { Log } from './log.ts'
import type { Lane, Store } from './stores/store.ts'
import type { Decision, Tools, Worker } from './workers/worker.ts'

export interface EngineOptions {
  store: Store
  workers: readonly Worker[]
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
export function startEngine({ store, workers, tools, clock, random, log }: EngineOptions): Engine {
  const lanes = [...layLanes(workers, tools)]
  // Runs, not ids: after a long stall this process may be given a task anew while its old run still winds down.
  const active = new Set<Run>()
  const stop = new AbortController()
  const ended = new AbortController()
  let wake = Promise.withResolvers<void>()
  const stopListening = store.onDue(() => wake.resolve())

  async function claimLoop(): Promise<void> {
    while (!stop.signal.aborted) {
      wake = Promise.withResolvers<void>()
      let delay = idleMs
      try {
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
    begun.done = run(task, lane.worker, begun.abort.signal)
      .catch((error) => log.error('action failed', { task: task.id, worker: lane.worker.name, error }))
      .finally(() => {
        active.delete(begun)
        wake.resolve()
      })
  }

  async function run(task: Task, worker: Worker, signal: AbortSignal): Promise<void> {
    let decision: Decision
    try {
      decision = await worker.run(task, tools, signal)
    } catch (thrown) {
      if (signal.aborted) return
      const problem = Problem.from(thrown)
      decision = { change: afterFailure(task, problem) }
      const { code, message, cause } = problem
      log.warn('action met a problem', { task: task.id, worker: worker.name, code, message, cause, tries: task.tries })
    }
    const after = 'change' in decision ? apply(task, decision.change) : undefined
    if (!(await record(task, after, signal))) return
    if (after && after.state !== task.state)
      log.info(`task ${after.state}`, { task: task.id, ...(after.error && { error: after.error }) })
    if ('afterwards' in decision) await decision.afterwards?.()
  }

  /** Another try later, or the end. A finished task only has its bytes left to lose: that is tried for ever. */
  function afterFailure(task: Task, problem: Problem): Change {
    const chance = (random(1)[0] ?? 0) / 256
    const delay = isFinished(task) ? idleMs * 30 : retryDelay(problem, task.tries, chance)
    const now = clock.now()
    if (delay !== null) return { dueAt: now + delay, tries: task.tries + 1 }
    return { state: 'failed', error: { code: problem.code, message: problem.message }, dueAt: now }
  }

  /** A decision that the store can't take now is held on to: it may be the only trace of work that was paid for. */
  async function record(task: Task, after: Task | undefined, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      try {
        return after ? await store.record(after) : await store.remove(task)
      } catch (error) {
        log.error('a decision could not be recorded', { task: task.id, error })
        if (signal.aborted || !(error instanceof Problem) || !error.retryable) return false
        await clock.sleep(idleMs, signal)
      }
    }
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
