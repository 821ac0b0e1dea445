import { openFairTurns } from '../core/fair.ts'
import { openOutages } from '../core/outage.ts'
import type { DecisionRecord } from '../core/plan.ts'
import { Problem } from '../core/problem.ts'
import { apply } from '../core/states.ts'
import { isFinished, type Task } from '../core/task.ts'
import { leaseMs } from '../core/timing.ts'
import { type Span, taskFields } from '../core/trace.ts'
import type { Removal } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Action, Decision, Tools, Worker } from '../workers/worker.ts'
import type { WorkerLane } from './lanes.ts'
import type { EngineOptions } from './options.ts'
import type { Outcomes } from './outcome.ts'
import type { Records } from './records.ts'
import { openTaskSpans } from './spans.ts'

/** A task that a worker of this process is working on. */
interface Run {
  task: Task
  lane: WorkerLane
  worker: Pick<Worker, 'name' | 'run' | 'persists'>
  readonly abort: AbortController
  /** The store has its decision, and refuses it if the lease is lost: losing the lease aborts nothing any more. */
  decided: boolean
  /** The decision is written, so there is no lease any more. */
  written: boolean
  /** The awaited attempt of a held task was accepted when the worker began. */
  knowsAccepted: boolean
  /** When its lease ends, unless it is renewed: then another process may have taken the task over. */
  leaseUntil: number
  /** Its turn to commit an attempt and send it. */
  turn?: Disposable
  done: Promise<void>
}

export interface Runs {
  /** Runs, not ids: after a long stall this process may claim a task again while an old run of it still ends. */
  readonly active: ReadonlySet<Run>
  begin(task: Task, lane: WorkerLane): void
  /** Renews all leases. A run that lost its lease is aborted, unless it has decided or its worker persists. */
  renew(): Promise<void>
  /** When `renew` last succeeded. */
  readonly renewedAt: number
}

class LeaseLost extends Error {}

function leaseEnded(): Problem {
  const message = 'The request was not sent: the lease of the task ended before.'
  return new Problem('storage_unavailable', message, { retryable: true })
}

/**
 * How many attempts may be committed and not yet sent. Each waits for the writes of the others, and a machine that crashes
 * leaves the outcome of all of them unknown. A lower limit sends a queue that filled up during an outage more slowly.
 * Owners take turns: the few tasks of one do not wait for the many of another.
 */
const maxUnsent = 6
/** Other cleanups may succeed during an outage. */
const cleanupCalmMs = 60_000

interface RunsOptions {
  outcomes: Outcomes
  records: Records
  /** The lane in which a task goes on at once, under the lease that it has; undefined if it has to wait to be claimed. */
  nextLane: (before: Task, after: Task, active: Runs['active']) => WorkerLane | undefined
  onEnd: () => void
}

export function openRuns(options: EngineOptions, { outcomes, records, nextLane, onEnd }: RunsOptions): Runs {
  const { store, discard, tools, healths, clock, log, unsent, meter } = options
  const active = new Set<Run>()
  const turns = openFairTurns({ slots: maxUnsent })
  const reportPause = openPauses(tools, log)
  const spans = openTaskSpans(options)
  const lines = { down: 'cleanup failed', up: 'cleanup succeeds again', level: 'warn' } as const
  const cleanups = openOutages({ log, clock, ...lines, calmMs: cleanupCalmMs })
  let renewedAt = clock.now()

  async function act(run: Run): Promise<void> {
    let goesOn: boolean
    do {
      const decision = await decide(run)
      goesOn = decision !== undefined && (await conclude(run, decision))
    } while (goesOn)
  }

  /** Undefined if there is nothing to write. */
  async function decide(run: Run): Promise<Decision | undefined> {
    const decision = await runWorker(run)
    if (!decision) return undefined
    const met = 'change' in decision ? decision.met : undefined
    const account = met?.account ?? run.task.account
    reportPause(account, met?.problem)
    await healths.report(account ?? '')
    return decision
  }

  async function runWorker(run: Run): Promise<Decision | undefined> {
    const { worker, abort } = run
    const span = spans.start(run.task, worker)
    let decision: Decision
    try {
      decision = await worker.run(run.task, tools, await actionOf(run, span))
    } catch (thrown) {
      const isAborted = abort.signal.aborted || thrown instanceof LeaseLost
      spans.end(span, run.task, { error: isAborted ? 'aborted' : Problem.from(thrown).code })
      if (isAborted) return undefined
      return outcomes.afterFailure(run.task, Problem.from(thrown), worker)
    }
    // What is measured must not turn a response of a provider into a failure.
    spans.end(span, run.task, { decision })
    outcomes.reportOutage(run.task, worker, decision)
    return decision
  }

  /** Writes the decision. Returns whether the task goes on at once, with its next worker and the same lease. */
  async function conclude(run: Run, decision: Decision): Promise<boolean> {
    if ('remove' in decision) {
      await remove(run, decision)
      return false
    }
    const { task: before, worker } = run
    const decided = outcomes.entryOf(before, decision)
    const lane = decision.afterwards ? undefined : nextLane(before, decided.task, active)
    // Counted in its next lane while this is written, so that no other task gets the same slot.
    if (lane) run.lane = lane
    run.decided = lane === undefined
    const known = run.knowsAccepted ? { ...decided, knowsAccepted: true as const } : decided
    const entry = lane ? { ...known, keepsLease: true } : known
    const written = await records.record(run, entry)
    if (!written) return false
    meter?.decided(before, written)
    const { state, error } = written.task
    if (state !== before.state) log.info(`task ${state}`, { ...taskFields(before), ...(error && { error }) })
    if (isFinished(written.task) && !isFinished(before)) spans.taskEnded(written.task)
    if (lane && written === entry) {
      run.task = written.task
      run.worker = lane.worker
      return true
    }
    run.written = true
    if (written === entry && decision.afterwards) await cleanUp(before, worker, decision.afterwards)
    return false
  }

  async function remove(run: Run, removal: Removal & { work?: string }): Promise<void> {
    const { task } = run
    const sendSpans = await spans.removing(task)
    const id = meter && !isFinished(task) ? task.attempt : null
    // It may be removed with the task. A failure to read it must not stop the removal.
    const attempt = id === null ? undefined : await store.attempt(id).catch(() => undefined)
    if (await records.remove(run, removal)) meter?.removed(task, { end: removal.end, attempt })
    sendSpans()
    if (removal.work) log.info('deleted task removed', { ...taskFields(task), work: removal.work })
  }

  /** A failure here changes nothing about the task. */
  async function cleanUp(
    task: Task,
    { name: worker }: Pick<Worker, 'name'>,
    afterwards: () => Promise<void>,
  ): Promise<void> {
    try {
      await afterwards()
      cleanups.worked(worker)
    } catch (thrown) {
      const cause = Problem.from(thrown)
      cleanups.failed(worker, { ...taskFields(task), worker, cause }, cause.code)
    }
  }

  async function actionOf(run: Run, span: Span): Promise<Action> {
    const { task, abort } = run
    const attempt = task.state === 'held' && task.attempt ? ((await store.attempt(task.attempt)) ?? null) : null
    run.knowsAccepted = attempt?.state === 'accepted'
    return {
      span,
      signal: abort.signal,
      attempt,
      bound: (account, operations) => store.bound(account, operations),
      rivals: (attempt, since, limit) => store.rivals(attempt, since, limit),
      attempts: () => store.attempts(task.id),
      leave() {
        // This process may have been stopped since the commit: another one may have sent a request for this task.
        if (clock.now() >= run.leaseUntil) throw leaseEnded()
        unsent.strike(task.id)
        run.turn?.[Symbol.dispose]()
      },
      async commit(change, attempt, isOpen = () => true) {
        run.turn = await turns.take(task.owner, abort.signal)
        // Its wait for the turn may have been longer than the provider keeps a connection without a request.
        if (!isOpen()) {
          run.turn[Symbol.dispose]()
          throw new Problem('provider_unreachable', 'The connection was closed before the request was sent.', {
            retryable: true,
          })
        }
        const after = apply(task, change)
        // The search for an unknown outcome is limited in time, counted from here: the request leaves after the turn.
        const opened = { ...attempt, openedAt: clock.now() }
        const { id, number, account, upstreamModel } = opened
        const detail = { attempt: id, number, account, model: upstreamModel }
        const entry: DecisionRecord = {
          task: after,
          opened,
          keepsLease: true,
          events: [outcomes.eventOf('attempt opened', detail)],
        }
        unsent.add({ attempt: id, task: task.id, fence: task.fence })
        try {
          if (!(await store.record(entry))) throw new LeaseLost('the lease was lost, or the task deleted')
        } catch (thrown) {
          run.turn[Symbol.dispose]()
          throw thrown
        }
        meter?.opened(account)
        run.task = after
        return { task: after, attempt: opened }
      },
    }
  }

  return {
    active,
    get renewedAt() {
      return renewedAt
    },
    begin(task, lane) {
      const worker = task.deletedAt === null ? lane.worker : discard
      const run: Run = {
        task,
        lane,
        worker,
        abort: new AbortController(),
        decided: false,
        written: false,
        knowsAccepted: false,
        // A claim makes a task due when its lease ends.
        leaseUntil: task.dueAt ?? 0,
        done: Promise.resolve(),
      }
      active.add(run)
      run.done = act(run)
        .finally(() => {
          // A run that was aborted may have written no decision: its note stays for the next process.
          if (!run.abort.signal.aborted) unsent.strike(task.id)
        })
        .catch((error) => log.error('action crashed', { ...taskFields(task), worker: run.worker.name, error }))
        .finally(() => {
          run.turn?.[Symbol.dispose]()
          active.delete(run)
          onEnd()
        })
    },
    async renew() {
      const runs = [...active].filter(({ written }) => !written)
      const leases = runs.map(({ task: { id, fence } }) => ({ id, fence }))
      const now = clock.now()
      const lostLeases = leases.length === 0 ? [] : await store.renew(leases, now + leaseMs)
      renewedAt = now
      const isLost = ({ task }: Run) => lostLeases.some(({ id, fence }) => task.id === id && task.fence === fence)
      for (const run of runs)
        if (!isLost(run)) run.leaseUntil = now + leaseMs
        else if (!run.decided && !run.worker.persists) run.abort.abort()
    },
  }
}

/**
 * Logs when an account is paused, and when it works again: the operator may have to fix it. Pauses for the same reason
 * that follow each other are one outage.
 */
function openPauses({ accounts }: Pick<Tools, 'accounts'>, log: Log) {
  /** The last pause of each account, and how many it had for this reason. */
  const last = new Map<string, { until: number; reason: string | null; pauses: number }>()
  return (name: string | null, problem?: Problem): void => {
    const health = accounts.get(name ?? '')?.health
    const before = last.get(name ?? '') ?? { until: 0, reason: null, pauses: 0 }
    if (!name || !health || before.until === health.pausedUntil) return
    const isSame = before.reason === health.reason
    last.set(name, {
      until: health.pausedUntil,
      reason: health.reason,
      pauses: health.reason === null ? 0 : (isSame ? before.pauses : 0) + 1,
    })
    if (isSame) return
    const reason = health.isCredit ? 'credit' : health.reason
    const fields = { account: name, reason, until: new Date(health.pausedUntil).toISOString(), cause: problem }
    if (health.reason === 'credentials') log.error('account paused', fields)
    else if (health.reason) log.warn('account paused', fields)
    else log.info('account works again', { account: name, pauses: before.pauses })
  }
}
