import { type AttemptFact, operationKey } from '../core/attempt.ts'
import { chance } from '../core/clock.ts'
import { openOutages } from '../core/outage.ts'
import type { DecisionRecord } from '../core/plan.ts'
import { errorForOperator, kindOf, Problem } from '../core/problem.ts'
import { attemptFact } from '../core/recovery.ts'
import { apply, type Change } from '../core/states.ts'
import { isFinished, type Json, type Task, type TaskError, type TaskEvent } from '../core/task.ts'
import { eventsOf, type Note } from '../core/timeline.ts'
import { nextTry, tidyRetryMs } from '../core/timing.ts'
import { taskFields } from '../core/trace.ts'
import type { Decision, Worker } from '../workers/worker.ts'
import type { EngineOptions } from './options.ts'

/** A decision that keeps the task. */
type Step = Exclude<Decision, { remove: true }>

/** Turns decisions and failures into the entries that are written. */
export type Outcomes = ReturnType<typeof openOutcomes>

export function openOutcomes({ store, clock, random, log, redact }: EngineOptions) {
  const lines = { down: 'a task met a problem', up: 'tasks no longer meet a problem', level: 'warn' } as const
  const outages = openOutages({ log, clock, ...lines, calmMs })

  function safe<T>(value: T): T {
    const text = JSON.stringify(value)
    const redacted = redact(text)
    return redacted === text ? value : (JSON.parse(redacted) as T)
  }

  /** Secrets are cut out of what people read. An operation stays as it is: its provider must recognise it. */
  function entryOf(before: Task, { change, fact, isFactFenced, note, warning, releasesSlots }: Step): DecisionRecord {
    const task = apply(before, change)
    if (warning) log.warn(warning[0], { ...taskFields(task), account: task.account, detail: warning[1] })
    const events = safe(eventsOf(before, task, clock.now(), warning ?? note))
    return {
      task,
      events,
      releasesSlots: releasesSlots ?? false,
      ...(fact && { fact: { ...fact, problem: safe(fact.problem) } }),
      ...(isFactFenced && { isFactFenced }),
    }
  }

  /** Decides whether the action is tried again later, or the task fails. */
  async function afterFailure(task: Task, problem: Problem, worker: Pick<Worker, 'name'>): Promise<Step> {
    const { code } = problem
    logProblem(task, problem, worker)
    const change = changeAfter(task, problem)
    const detailed = errorForOperator(problem)
    const note: Note = [`${worker.name} met a problem`, { ...detailed, tries: task.tries }]
    if (change.state !== 'failed') return (await isNoted(task, note[0], code)) ? { change } : { change, note }
    if (task.state !== 'held' || task.attempt === null) return { change, note }
    // The task has failed, so nothing looks for the outcome of its attempt any more.
    return { change, note, fact: attemptFact(task.attempt, 'abandoned', detailed, clock.now()) }
  }

  /** An outage fails many tasks, each many times. The timeline of each task has its own problems. */
  function logProblem(task: Task, { code, message, cause }: Problem, worker: Pick<Worker, 'name'>): void {
    const { account, tries } = task
    const fields = { ...taskFields(task), worker: worker.name, account, code, message, cause, tries }
    if (outageCodes.has(code)) outages.failed(outageKey(worker.name, account), fields, `${code} ${kindOf(cause)}`)
    else log.warn(lines.down, fields)
  }

  /** Logs that a worker met a problem with an account, or no longer does. */
  function reportOutage(task: Task, { name: worker }: Pick<Worker, 'name'>, decision: Decision): void {
    const met = 'change' in decision ? decision.met : undefined
    const key = outageKey(worker, met?.account ?? task.account)
    // The pause of the account is logged, with its cause.
    if (met?.isRefusal) return
    if (met) {
      const { code, message, cause } = met.problem
      const fields = { ...taskFields(task), worker, account: met.account, code, message, cause }
      outages.failed(key, fields, `${code} ${kindOf(cause)}`)
    } else outages.worked(key, { worker, account: task.account })
  }

  function changeAfter(task: Task, problem: Problem): Change {
    const now = clock.now()
    if (isFinished(task)) return { dueAt: now + tidyRetryMs }
    const retry = nextTry(problem, task, now, chance(random))
    if (retry) return { dueAt: now + retry.delayMs, tries: retry.tries }
    const { code, message } = problem
    return { state: 'failed', error: { code, message }, dueAt: now }
  }

  /** Each problem is noted once for each state of the task: otherwise an outage of two days would fill the timeline. */
  async function isNoted(task: Task, name: string, code: string): Promise<boolean> {
    const events = await store.events(task.id).catch(() => [])
    const here = events.slice(events.findLastIndex((event) => event.name === task.state) + 1)
    return here.some((event) => event.name === name && notedCode(event) === code)
  }

  /**
   * For a decision that the store will never accept: the task fails, or its action would be repeated forever. The fact
   * stays: it may be the only trace of work that was paid for.
   */
  async function failing(
    { fact, isFactFenced, knowsAccepted }: DecisionRecord,
    task: Task,
    worker: Pick<Worker, 'name'>,
    cause: unknown,
  ): Promise<DecisionRecord> {
    const problem = new Problem('internal', 'Something went wrong on our side.', { cause })
    const entry = entryOf(task, await afterFailure(task, problem, worker))
    return {
      ...entry,
      ...(fact && { fact }),
      ...(isFactFenced && { isFactFenced }),
      ...(knowsAccepted && { knowsAccepted }),
    }
  }

  /** For a fact that can't be written either: the attempt is abandoned, and the fact is in the log. */
  function givingUp({ fact, ...entry }: DecisionRecord, cause: unknown): DecisionRecord {
    if (!fact) return entry
    const { id, state, operation } = fact
    log.error('a response could not be recorded', { ...taskFields(entry.task), attempt: id, state, operation, cause })
    return { ...entry, fact: { ...fact, state: 'abandoned', operation: null, problem: safe(unstored) } }
  }

  /** The operation belongs to another attempt, too: the task is held instead. */
  function disputed(task: Task, fact: AttemptFact): DecisionRecord {
    const message = `The provider returned the job id of another attempt: ${operationKey(fact.operation)}`
    const problem: TaskError = { code: 'operation_taken', message: message.slice(0, 500) }
    const now = clock.now()
    return entryOf(task, {
      change: { state: 'held', dueAt: now + disputeMs },
      fact: attemptFact(fact.id, 'open', problem, now),
      note: ['operation disputed', problem.message],
    })
  }

  function eventOf(name: string, detail: Json): TaskEvent {
    return { at: clock.now(), name, detail: safe(detail) }
  }

  return { entryOf, afterFailure, reportOutage, failing, givingUp, disputed, eventOf }
}

/** Problems of a provider, of the store or of the bucket, and not of one task. */
const outageCodes = new Set<string>(['provider_unavailable', 'provider_unreachable', 'storage_unavailable'])

/** Other tasks may succeed during an outage. */
const calmMs = 30_000

function outageKey(worker: string, account: string | null): string {
  return `${worker} ${account}`
}

const unstored: TaskError = { code: 'internal', message: 'The response could not be stored. The log has it.' }

/** When a held task with a disputed operation is checked again: the other attempt may have lost it. */
const disputeMs = 60_000

function notedCode({ detail }: TaskEvent): Json | undefined {
  return detail !== null && typeof detail === 'object' && !Array.isArray(detail) ? detail.code : undefined
}
