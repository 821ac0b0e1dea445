import type { Problem, ProblemCode } from './problem.ts'
import type { Task } from './task.ts'

/** A lease covers one action; work of a killed process is taken up again when it ends. */
export const leaseMs = 9_000
export const renewMs = leaseMs / 3

/** How long the row of a finished task stays readable after its bytes went. */
export const recordRetentionMs = 30 * 24 * 3_600_000

/** How often an action that met a retryable problem is tried again before the task fails. */
const retries: Partial<Record<ProblemCode, number>> = {
  generation_failed: 1,
  output_unavailable: 3,
  image_unavailable: 2,
}
const defaultRetries = 4

/** Once a provider has the work, only its own word or this ends it: a way there that is blocked does not. */
export const deadlineMs = 24 * 3_600_000

export interface Retry {
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
  task: Pick<Task, 'tries' | 'startedAt'>,
  now: number,
  chance: number,
): Retry | null {
  const { tries, startedAt } = task
  const spread = 0.75 + chance / 2
  if (problem.code === 'storage_unavailable') return { delayMs: Math.round(3_000 * spread), tries }
  if (!problem.retryable) return null
  const delayMs = Math.round(Math.min(30_000, 1_000 * 2 ** Math.min(tries, 5)) * spread)
  const patient = startedAt !== null && retries[problem.code] === undefined
  const again = patient ? now < startedAt + deadlineMs : tries < (retries[problem.code] ?? defaultRetries)
  return again ? { delayMs, tries: tries + 1 } : null
}

/** Whole seconds, so that the `expires_at` a client reads is the moment itself. */
export function expiryOf(completedAt: number, retentionMs: number): number {
  return (Math.floor(completedAt / 1000) + Math.max(1, Math.floor(retentionMs / 1000))) * 1000
}
