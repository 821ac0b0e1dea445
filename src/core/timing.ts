import type { Problem, ProblemCode } from './problem.ts'
import type { Task } from './task.ts'

/** A lease covers one action; work of a killed process is taken up again when it ends. */
export const leaseMs = 9_000
export const renewMs = leaseMs / 3

/** How long the row of a finished task stays readable after its bytes went. */
export const recordRetentionMs = 30 * 24 * 3_600_000

/** How often an action that met a retryable problem is tried again before the task fails, if it has not begun. */
const retries: Partial<Record<ProblemCode, number>> = {
  image_unavailable: 2,
  // Our machine is short of something: that takes minutes to pass.
  overloaded: 20,
}
const defaultRetries = 4

/** A job that its provider does not know for so long is lost there. */
export const lostAfterMs = 2 * 60_000

/** So long the operation of a removed task stays known as taken: its provider may list it, and others look for theirs. */
export const removedMs = 24 * 3_600_000

/** The longest time between two polls, however old the task. */
const longestPollMs = 30_000

/** No unfinished task is ever put off for longer than this: one that is was so by a clock that was set back since. */
export const longestDelayMs = 120_000

/** A finished task only has its bytes left to lose: where that fails it is tried again so often, for ever. */
export const tidyRetryMs = 30_000

/** How long an unknown outcome is looked into before the task fails with `submission_unknown`. */
export const holdMs = 30 * 60_000
/** A provider may take this long to show what it accepted. */
export const settleMs = 2 * 60_000
/**
 * When nobody looks for the outcome of a submit any more. Past its deadline a task only waits for what its provider may
 * still be slow to show, which can then be stopped.
 */
export function lookUntil(openedAt: number, finishBy: number): number {
  return Math.min(openedAt + holdMs, Math.max(finishBy, openedAt + settleMs))
}

/** An old one is looked at so often: only the operator, or the end of its time, will bring news. */
const oldLookMs = 60_000

/**
 * How long to wait before the next look at an unknown outcome of that age, which is looked for so much longer.
 * `askable`: somebody may know more by then.
 */
export function nextLook(ageMs: number, leftMs: number, askable: boolean): number {
  const usual = ageMs < 10_000 ? 1_000 : ageMs < settleMs ? 5_000 : oldLookMs
  return Math.min(askable ? usual : oldLookMs, Math.max(1_000, leftMs))
}

/** How long to wait after so many tries that failed. */
export function backoff(tries: number): number {
  return Math.min(30_000, 1_000 * 2 ** Math.min(tries, 5))
}

interface Retry {
  delayMs: number
  tries: number
}

/**
 * When to try again, or null to give up. Where our own storage is at fault the task waits as long as it takes, and that
 * counts as no try: the work is done (and perhaps paid), only its place is missing. `chance` in [0, 1) spreads the tries
 * of many tasks.
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
  // What may have been paid for ends by its provider's word or its deadline, not by a way there that is blocked.
  const begun = state === 'held' || startedAt !== null
  const blocked = problem.code === 'provider_unavailable' || problem.code === 'provider_unreachable'
  if (!problem.retryable && !(begun && blocked)) return null
  const delayMs = Math.round(backoff(tries) * spread)
  const limit = begun ? undefined : retries[problem.code]
  const patience = begun ? finishBy : problem.code === 'provider_unavailable' ? startBy : 0
  const again = limit === undefined && patience > 0 ? now < patience : tries < (limit ?? defaultRetries)
  if (!again) return null
  // Not past the time that it has: its end should come when it was said to.
  return {
    delayMs: limit === undefined && patience > now ? Math.min(delayMs, patience - now) : delayMs,
    tries: tries + 1,
  }
}

/** A twentieth of its age between two polls of a task, so that an old one costs no more than a young one; never in step. */
export function nextPoll(cadenceMs: number, ageMs: number, chance: number): number {
  const usual = Math.max(cadenceMs, Math.min(longestPollMs, ageMs / 20))
  return Math.min(longestDelayMs, Math.round(usual * (0.9 + chance / 5)))
}

/** How long to wait with the next download of a result that has not been usable for so long: the first is at once. */
export function nextFetch(uselessMs: number): number {
  return uselessMs === 0 ? 0 : Math.min(30_000, Math.max(1_000, uselessMs))
}

/** Whole seconds, so that the `expires_at` a client reads is the moment itself. */
export function expiryOf(completedAt: number, retentionMs: number): number {
  return (Math.floor(completedAt / 1000) + Math.max(1, Math.floor(retentionMs / 1000))) * 1000
}
