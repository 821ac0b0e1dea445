/*
 * Which numbers of a growing sequence were seen. Numbers are given before their transactions commit, so one may become
 * visible after a greater one, and one whose transaction was rolled back never does.
 */
export interface Sequence {
  /** The greatest that was seen. */
  newest(): number
  /** Those below the newest that may still come, in their order. */
  missing(): number[]
  /** The greatest number up to which nothing is missing: who has seen all up to it has lost nothing. */
  safe(): number
  /** Takes what was read in one look, in its order, and gives up on what has been missing for too long. */
  take(numbers: readonly number[], now: number): void
}

/** No transaction of ours lasts that long: what has not come by then was rolled back. */
export const patienceMs = 10_000

/** So many may be under way at once. A sequence that was moved on by hand leaves more behind, and none of it will come. */
export const mostMissing = 10_000

/** Everything up to that number was seen, or is of no interest. */
export function openSequence(start: number): Sequence {
  let newest = start
  // In the order of the numbers, for each look only adds beyond the newest.
  const missing = new Map<number, number>()

  const addGap = (from: number, to: number, now: number) => {
    for (let number = Math.max(from, to - mostMissing); number < to; number += 1) missing.set(number, now)
  }
  return {
    newest: () => newest,
    missing: () => [...missing.keys()],
    safe() {
      const [first] = missing.keys()
      return first === undefined ? newest : first - 1
    },
    take(numbers, now) {
      for (const [number, since] of missing) if (Math.abs(now - since) >= patienceMs) missing.delete(number)
      for (const number of numbers) {
        missing.delete(number)
        if (number <= newest) continue
        addGap(newest + 1, number, now)
        newest = number
      }
    },
  }
}
