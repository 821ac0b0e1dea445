/*
 * What we know of an account's ability to take work. It is kept in memory: after a restart the first task finds out
 * again. A pause never fails a task; it only keeps new ones from being sent.
 */
export interface Health {
  /** Failures in a row. */
  failures: number
  /** Nothing new is sent before this. After it one task goes first, and the others follow if it gets through. */
  pausedUntil: number
  reason: PauseReason | null
}

export type PauseReason =
  | 'credentials' // it refused our key, or has no credit: an operator has to act
  | 'busy' //        it asked us to slow down
  | 'failing' //     it can't be reached, or answers with nonsense, several times in a row

export const healthy: Health = { failures: 0, pausedUntil: 0, reason: null }

const credentialsPauseMs = 5 * 60_000
const longestPauseMs = 10 * 60_000
const failuresBeforePause = 5

/** `retryAfterMs`: what the provider asked for, which may be absurd. */
export function afterRefusal(
  health: Health,
  blame: 'account' | 'busy',
  now: number,
  retryAfterMs: number | undefined,
): Health {
  const failures = health.failures + 1
  if (blame === 'account') return { failures, pausedUntil: now + credentialsPauseMs, reason: 'credentials' }
  const wanted = retryAfterMs ?? 1_000 * 2 ** Math.min(health.failures, 6)
  const pauseMs = Math.min(longestPauseMs, Math.max(1_000, Number.isFinite(wanted) ? wanted : longestPauseMs))
  return { failures, pausedUntil: now + pauseMs, reason: 'busy' }
}

/** It could not be reached, or its answer was none. */
export function afterFault(health: Health, now: number): Health {
  const failures = health.failures + 1
  if (failures < failuresBeforePause) return { ...health, failures }
  const pauseMs = Math.min(longestPauseMs, 10_000 * 2 ** Math.min(failures - failuresBeforePause, 6))
  return { failures, pausedUntil: now + pauseMs, reason: 'failing' }
}

/** How many new tasks it may be given now, its slots aside. */
export function roomOf(health: Health, now: number): number {
  if (now < health.pausedUntil) return 0
  return health.reason === null ? Number.POSITIVE_INFINITY : 1
}
