/*
 * What we know of an account's ability to take work. A process that is alone starts afresh: its first task finds out
 * again. Those that share a store tell each other (`healths.ts`), so there a pause outlives who made it. A pause never
 * fails a task; it only keeps new ones from being sent.
 */
export interface Health {
  /** Failures in a row. */
  failures: number
  /** Nothing new is sent before this. After it one task of each process goes first, the others follow if it gets through. */
  pausedUntil: number
  reason: PauseReason | null
}

type PauseReason =
  | 'credentials' // it refused our key, has no credit, or is set up wrong: an operator has to act
  | 'busy' //        it asked us to slow down
  | 'failing' //     it can't be reached, or answers with nonsense, several times in a row

export const healthy: Health = { failures: 0, pausedUntil: 0, reason: null }

const credentialsPauseMs = 5 * 60_000
const longestPauseMs = 10 * 60_000
const failuresBeforePause = 5

/** Answers to sends of one moment come with moments between: what lengthens a pause by less than this is no news. */
const noNewsMs = 1_000

/**
 * A pause speaks of what is sent after it. An answer to a send that was begun before its end is old news: it neither
 * clears the pause nor counts as one more failure in a row, and can only make it longer.
 */
export interface Answered {
  /** When the send was begun. */
  begunAt: number
  now: number
}

/** It took the request, or had a reason of the request's own not to. */
export function afterAnswer(health: Health, answered: Answered): Health {
  return isOld(health, answered) ? health : healthy
}

/** `retryAfterMs`: what the provider asked for, which may be absurd. */
export function afterRefusal(
  health: Health,
  blame: 'account' | 'busy',
  answered: Answered,
  retryAfterMs: number | undefined,
): Health {
  const { now } = answered
  const old = isOld(health, answered)
  const failures = old ? health.failures : health.failures + 1
  const next: Health =
    blame === 'account'
      ? { failures, pausedUntil: now + credentialsPauseMs, reason: 'credentials' }
      : { failures, pausedUntil: now + busyMs(failures, retryAfterMs), reason: 'busy' }
  return old ? longer(health, next) : next
}

function busyMs(failures: number, retryAfterMs: number | undefined): number {
  const wanted = retryAfterMs ?? 1_000 * 2 ** Math.min(Math.max(0, failures - 1), 6)
  return Math.min(longestPauseMs, Math.max(1_000, Number.isFinite(wanted) ? wanted : longestPauseMs))
}

/** A key that is refused is said first: nothing else ends that but the operator. */
function longer(health: Health, next: Health): Health {
  const lengthens = next.pausedUntil >= health.pausedUntil + noNewsMs
  const [pausedUntil, failures] = [lengthens ? next.pausedUntil : health.pausedUntil, health.failures]
  if (health.reason === 'credentials') return { ...health, pausedUntil }
  if (next.reason === 'credentials' || lengthens) return { failures, pausedUntil, reason: next.reason }
  return health
}

/** It could not be reached, or its answer was none. */
export function afterFault(health: Health, answered: Answered): Health {
  if (isOld(health, answered)) return health
  const failures = health.failures + 1
  if (failures < failuresBeforePause) return { ...health, failures }
  const pauseMs = Math.min(longestPauseMs, 10_000 * 2 ** Math.min(failures - failuresBeforePause, 6))
  return { failures, pausedUntil: answered.now + pauseMs, reason: 'failing' }
}

export function isPaused(health: Health, now: number): boolean {
  return isOld(health, { begunAt: now, now })
}

/** A pause with an end further away than any is long was made before the clock was set back: it is over. */
function isOld({ pausedUntil }: Health, { begunAt, now }: Answered): boolean {
  return begunAt < pausedUntil && pausedUntil <= now + longestPauseMs
}

/** How many new tasks it may be given by this process now, its slots aside. */
export function roomOf(health: Health, now: number): number {
  if (isPaused(health, now)) return 0
  return health.reason === null ? Number.POSITIVE_INFINITY : 1
}
