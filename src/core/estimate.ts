/** Enough for a typical duration, few enough to follow a change. */
const remembered = 50

/** Adds `took` and drops the oldest. */
export function remember(durations: readonly number[], took: number): number[] {
  return [...durations, took].slice(-remembered)
}

function median(durations: readonly number[]): number | undefined {
  return [...durations].sort((a, b) => a - b)[Math.floor(durations.length / 2)]
}

/**
 * The progress if the provider reports none: 90 % at the usual duration, then ever slower. Without earlier tasks the
 * usual duration is a minute.
 */
export function estimateProgress(elapsedMs: number, durations: readonly number[]): number {
  const usual = Math.max(1, median(durations) ?? 60_000)
  const share = Math.max(0, elapsedMs) / usual
  return share <= 1 ? share * 90 : 99 - 9 / share
}

/** How long a model takes. */
export interface Pace {
  /** The durations of its last tasks from start to end, the shortest first. */
  durations: readonly number[]
  /** The provider's own figure, used until there are durations. */
  usuallyMs: number | null
}

/**
 * How long a running task still takes: the median of the tasks that took longer than it has run. If it has run longer
 * than all of them, a tenth of its time is added. Null if nothing is known.
 */
export function remainingMs(elapsedMs: number, { durations, usuallyMs }: Pace): number | null {
  const elapsed = Math.max(0, elapsedMs)
  const known = durations.length > 0 ? durations : usuallyMs === null ? [] : [usuallyMs]
  if (known.length === 0) return null
  const first = firstAbove(known, elapsed)
  const longer = known[first + Math.floor((known.length - first) / 2)]
  return longer === undefined ? Math.max(1_000, elapsed / 10) : longer - elapsed
}

/** The slots that serve a queue: all of them, and those that are free. */
export interface Slots {
  atOnce: number
  free: number
}

/**
 * How long a queued task still takes. Position 1 is the next one, 0 is about to start. A task with a free slot starts
 * at once; the others wait until the tasks before them have finished, `atOnce` at a time.
 */
export function queuedMs(position: number, { atOnce, free }: Slots, pace: Pace): number | null {
  const each = remainingMs(0, pace)
  return each === null ? null : each * (Math.max(0, position - free) / atOnce + 1)
}

/** When a client should poll again: after a tenth of the time that is left, so that it sees the end soon. */
export function pollAfter(etaSeconds: number | null, usuallyAfterMs: number): number {
  if (etaSeconds === null) return usuallyAfterMs
  return Math.min(20_000, Math.max(etaSeconds * 100, Math.min(1_000, usuallyAfterMs)))
}

/** The index of the first greater value; the length if there is none. */
function firstAbove(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) > value) high = middle
    else low = middle + 1
  }
  return low
}
