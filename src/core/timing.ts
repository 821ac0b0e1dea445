import type { Problem, ProblemCode } from './problem.ts'

/** A lease covers one action; work of a killed process is taken up again when it ends. */
export const leaseMs = 9_000
export const renewMs = leaseMs / 3

/** How long the row of a finished task stays readable after its bytes went. */
export const recordRetentionMs = 30 * 24 * 3_600_000

/**
 * How often an action that met a retryable problem is tried again before the task fails. Where our own storage is at
 * fault the task waits as long as it takes: the work is done (and perhaps paid), only its place is missing.
 */
const retries: Partial<Record<ProblemCode, number>> = {
  storage_unavailable: Number.POSITIVE_INFINITY,
  generation_failed: 1,
  image_unavailable: 2,
}
const defaultRetries = 4

/** Milliseconds until the next try, or null to give up. `chance` in [0, 1) spreads the tries of many tasks. */
export function retryDelay(problem: Problem, tries: number, chance: number): number | null {
  if (!problem.retryable || tries >= (retries[problem.code] ?? defaultRetries)) return null
  const delay = Math.min(30_000, 1_000 * 2 ** Math.min(tries, 5))
  return Math.round(delay * (0.75 + chance / 2))
}

/** Whole seconds, so that the `expires_at` a client reads is the moment itself. */
export function expiryOf(completedAt: number, retentionMs: number): number {
  return (Math.floor(completedAt / 1000) + Math.max(1, Math.floor(retentionMs / 1000))) * 1000
}
