import type { ProblemCode } from './codes.ts'
import type { Problem } from './problem.ts'
import type { Task } from './task.ts'

/** A lease covers one action. When it ends, another process may continue the work of a killed one. */
export const leaseMs = 9_000
export const renewMs = leaseMs / 3

/** How long what is running may go on when the process stops. */
export const graceMs = 10_000

/** How long the row of a finished task stays readable after its bytes are removed. */
export const recordRetentionMs = 30 * 24 * 3_600_000

/** How often an action with a retryable problem is tried again before the task fails, if it has not begun. */
const retries: Partial<Record<ProblemCode, number>> = {
  image_unavailable: 2,
  // Our machine lacks memory or processes: that takes minutes to pass.
  overloaded: 20,
}
const defaultRetries = 4

/** A job that its provider has not known for this long is lost. */
export const lostAfterMs = 2 * 60_000

/** How long the operation of a removed task stays reserved: its provider may still list it for other lookups. */
export const removedMs = 24 * 3_600_000

/** The longest time between two polls. */
const longestPollMs = 30_000

/** The longest delay of an unfinished task. A later one was set before the clock was set back. */
export const longestDelayMs = 120_000

/** How often removing the bytes of a finished task is tried again, without end. */
export const tidyRetryMs = 30_000

/** How long an unknown outcome is looked up before the task fails with `submission_unknown`. */
export const holdMs = 30 * 60_000
/** A provider may take this long to show what it accepted. */
export const settleMs = 2 * 60_000
/**
 * When the search for the outcome of a submit ends. Past its deadline a task waits only for work that its provider may
 * be slow to show, so that it can be stopped.
 */
export function searchUntil(openedAt: number, finishBy: number): number {
  return Math.min(openedAt + holdMs, Math.max(finishBy, openedAt + settleMs))
}

/** How often an old one is checked: only the operator or the deadline can end it. */
const oldCheckMs = 60_000

/**
 * How long to wait before the next check of an unknown outcome. `leftMs`: how much longer it is searched for. `canAsk`:
 * the provider may know more by then.
 */
export function nextCheckDelay(ageMs: number, leftMs: number, canAsk: boolean): number {
  const usual = ageMs < 10_000 ? 1_000 : ageMs < settleMs ? 5_000 : oldCheckMs
  return Math.min(canAsk ? usual : oldCheckMs, Math.max(1_000, leftMs))
}

/** How long to wait after that many failed tries. */
export function backoff(tries: number): number {
  return Math.min(30_000, 1_000 * 2 ** Math.min(tries, 5))
}

interface Retry {
  delayMs: number
  tries: number
}

/**
 * When to try again, or null to give up. If our own storage fails, the task waits as long as it takes, and that is not
 * counted as a try: the work is done, and perhaps paid. `chance` in [0, 1) spreads the tries of many tasks.
 */
export function nextTry(
  problem: Problem,
  task: Pick<Task, 'tries' | 'state' | 'startedAt' | 'startBy' | 'finishBy'>,
  now: number,
  chance: number,
): Retry | null {
  const { tries, state, startedAt, startBy, finishBy } = task
  const spread = 0.75 + chance / 2
  if (problem.code === 'storage_unavailable') return { delayMs: Math.round(3_000 * spread), tries }
  // Work that may have been paid for ends by a response of its provider or at its deadline, not by a lost connection.
  const begun = state === 'held' || startedAt !== null
  const isUnreachable = problem.code === 'provider_unavailable' || problem.code === 'provider_unreachable'
  if (!problem.retryable && !(begun && isUnreachable)) return null
  const delayMs = Math.round(backoff(tries) * spread)
  const limit = begun ? undefined : retries[problem.code]
  const patience = begun ? finishBy : problem.code === 'provider_unavailable' ? startBy : 0
  const again = limit === undefined && patience > 0 ? now < patience : tries < (limit ?? defaultRetries)
  if (!again) return null
  // Not past its deadline: the task should fail on time.
  return {
    delayMs: limit === undefined && patience > now ? Math.min(delayMs, patience - now) : delayMs,
    tries: tries + 1,
  }
}

/** A twentieth of the task's age, so that old tasks cost no more than young ones; spread, so that polls do not align. */
export function nextPoll(cadenceMs: number, ageMs: number, chance: number): number {
  const usual = Math.max(cadenceMs, Math.min(longestPollMs, ageMs / 20))
  return Math.min(longestDelayMs, Math.round(usual * (0.9 + chance / 5)))
}

/** How long to wait before the next download of a result that has been unusable for that long. The first is at once. */
export function nextFetch(uselessMs: number): number {
  return uselessMs === 0 ? 0 : Math.min(30_000, Math.max(1_000, uselessMs))
}

/** Whole seconds, so that the `expires_at` of the API is exact. */
export function expiryOf(completedAt: number, retentionMs: number): number {
  return (Math.floor(completedAt / 1000) + Math.max(1, Math.floor(retentionMs / 1000))) * 1000
}
