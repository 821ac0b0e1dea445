/*
 * Whether an account can accept work now. A single process forgets this when it ends. Processes that share a store
 * share it (`accounts/healths.ts`), so a pause outlives the process that set it. A pause never fails a task; it only
 * stops new ones from being sent.
 */
export interface Health {
  /** Failures in a row. */
  failures: number
  /** Nothing new is sent before this time. After it each process sends one task, and the others if that succeeds. */
  pausedUntil: number
  reason: (typeof pauseReasons)[number] | null
  /** With the reason `credentials`: the account has no credit left. */
  isCredit?: true
  /** It accepted a request, or an operator resumed it. A process that just started does not know. */
  hasWorked?: true
}

export const pauseReasons = [
  'credentials', // it refused our key, has no credit, or is misconfigured: an operator has to act
  'busy', //        it asked us to slow down
  'failing', //     it can't be reached, or its responses make no sense, several times in a row
] as const

export const healthy: Health = { failures: 0, pausedUntil: 0, reason: null }

/** Known to be healthy: it accepted a request, or an operator resumed it. */
export const working: Health = { ...healthy, hasWorked: true }

const credentialsPauseMs = 5 * 60_000
const longestPauseMs = 10 * 60_000
const failuresBeforePause = 5

/** Responses to requests of the same moment arrive apart: less than this does not lengthen a pause. */
const minExtensionMs = 1_000

/**
 * When a request was sent, and now. A response to a request that was sent before the end of a pause does not clear the
 * pause and does not count as another failure. It can only make the pause longer.
 */
export interface RequestTimes {
  begunAt: number
  now: number
}

/** It accepted the request, or refused it for a reason in the request itself. */
export function afterResponse(health: Health, times: RequestTimes): Health {
  return isOld(health, times) ? health : working
}

/** `retryAfterMs`: what the provider asked for, unchecked. `isCredit`: the account is to blame, as it has no credit left. */
export function afterRefusal(
  health: Health,
  blame: 'account' | 'busy',
  times: RequestTimes,
  retryAfterMs: number | undefined,
  isCredit = false,
): Health {
  const { now } = times
  const old = isOld(health, times)
  const failures = old ? health.failures : health.failures + 1
  const credit = isCredit && { isCredit: true as const }
  const next: Health =
    blame === 'account'
      ? { failures, pausedUntil: now + credentialsPauseMs, reason: 'credentials', ...credit }
      : { failures, pausedUntil: now + busyMs(failures, retryAfterMs), reason: 'busy' }
  return old ? longer(health, next) : next
}

function busyMs(failures: number, retryAfterMs: number | undefined): number {
  const wanted = retryAfterMs ?? 1_000 * 2 ** Math.min(Math.max(0, failures - 1), 6)
  return Math.min(longestPauseMs, Math.max(1_000, Number.isFinite(wanted) ? wanted : longestPauseMs))
}

/** The reason 'credentials' wins: only the operator can end it. */
function longer(health: Health, next: Health): Health {
  const lengthens = next.pausedUntil >= health.pausedUntil + minExtensionMs
  const [pausedUntil, failures] = [lengthens ? next.pausedUntil : health.pausedUntil, health.failures]
  if (health.reason === 'credentials') return { ...health, pausedUntil }
  if (next.reason === 'credentials' || lengthens) return { ...next, failures, pausedUntil }
  return health
}

/** It could not be reached, or its response was unusable. */
export function afterFault(health: Health, times: RequestTimes): Health {
  if (isOld(health, times)) return health
  const failures = health.failures + 1
  if (failures < failuresBeforePause) return { ...health, failures }
  const pauseMs = Math.min(longestPauseMs, 10_000 * 2 ** Math.min(failures - failuresBeforePause, 6))
  return { failures, pausedUntil: times.now + pauseMs, reason: 'failing' }
}

export function isPaused(health: Health, now: number): boolean {
  return isOld(health, { begunAt: now, now })
}

/** A pause that ends later than any pause lasts was set before the clock was set back: it is over. */
function isOld({ pausedUntil }: Health, { begunAt, now }: RequestTimes): boolean {
  return begunAt < pausedUntil && pausedUntil <= now + longestPauseMs
}

/** How many new tasks this process may send to it now, apart from its slots. */
export function newTasksAllowed(health: Health, now: number): number {
  if (isPaused(health, now)) return 0
  return health.reason === null ? Number.POSITIVE_INFINITY : 1
}
