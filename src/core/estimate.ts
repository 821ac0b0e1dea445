/** Enough to know what is usual, few enough to follow a change. */
const remembered = 50

/** With `took` added, the oldest forgotten. */
export function remember(durations: readonly number[], took: number): number[] {
  return [...durations, took].slice(-remembered)
}

/** The middle one; undefined of none. */
function median(durations: readonly number[]): number | undefined {
  return [...durations].sort((a, b) => a - b)[Math.floor(durations.length / 2)]
}

/**
 * A guess where the provider says nothing: towards 90 % at the usual time, then ever slower. Without any past, a minute
 * is taken as usual.
 */
export function estimateProgress(elapsedMs: number, durations: readonly number[]): number {
  const usual = Math.max(1, median(durations) ?? 60_000)
  const share = Math.max(0, elapsedMs) / usual
  return share <= 1 ? share * 90 : 99 - 9 / share
}

/** What is known of how long a model takes. */
export interface Pace {
  /** How long its last tasks took from start to end, the shortest first. */
  durations: readonly number[]
  /** What its provider says, for as long as nothing else is known. */
  usuallyMs: number | null
}

/**
 * How long a task that has run for so long still takes: by the middle of those that took longer. One that outlasts them
 * all is expected to take a tenth of its time more. Null where nothing is known.
 */
export function remainingMs(elapsedMs: number, { durations, usuallyMs }: Pace): number | null {
  const elapsed = Math.max(0, elapsedMs)
  const known = durations.length > 0 ? durations : usuallyMs === null ? [] : [usuallyMs]
  if (known.length === 0) return null
  const first = firstAbove(known, elapsed)
  const longer = known[first + Math.floor((known.length - first) / 2)]
  return longer === undefined ? Math.max(1_000, elapsed / 10) : longer - elapsed
}

/** What serves a line: so many tasks at once, and so many of these places are free. */
export interface Slots {
  atOnce: number
  free: number
}

/**
 * The same of one that has not started: 1 is next in line, 0 is about to start. Who finds a free place starts at once;
 * the others wait until those before them are through, so many at once.
 */
export function queuedMs(position: number, { atOnce, free }: Slots, pace: Pace): number | null {
  const each = remainingMs(0, pace)
  return each === null ? null : each * (Math.max(0, position - free) / atOnce + 1)
}

/** When a client should ask again: after a tenth of the time that is left, so that it learns of the end soon after. */
export function pollAfter(etaSeconds: number | null, usuallyAfterMs: number): number {
  if (etaSeconds === null) return usuallyAfterMs
  return Math.min(20_000, Math.max(etaSeconds * 100, Math.min(1_000, usuallyAfterMs)))
}

/** Where the first is that is greater; the length if none is. */
function firstAbove(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) > value) high = middle
    else low = middle + 1
  }
  return low
}
