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
