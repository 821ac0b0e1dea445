import type { Status } from './task.ts'

/** What a notice tells a client about a task: its new status, or that it was deleted. */
export type NoticeKind = Exclude<Status, 'queued'> | 'deleted'

/** Numbers grow, and clients use them as cursors. A notice may become visible after one with a greater number. */
export interface Notice {
  number: number
  owner: string
  task: string
  at: number
  kind: NoticeKind
}

/**
 * Which numbers were seen. A number is assigned before its transaction commits, so it may become visible after a
 * greater one. The number of a transaction that was rolled back never does.
 */
export interface Sequence {
  /** The greatest number that was seen. */
  newest(): number
  /** The numbers below the newest that may still become visible, in order. */
  missing(): number[]
  /** The greatest number up to which nothing is missing. */
  safe(): number
  /** Adds the numbers of one read, in order, and gives up on those that have been missing for too long. */
  take(numbers: readonly number[], now: number): void
}

/** No transaction of ours takes longer: a number that is still missing by then was rolled back. */
export const longestTransactionMs = 10_000

/** More transactions are never open at once: of a larger gap, left by hand, only the last numbers may still come. */
export const mostMissing = 10_000

/** `start`: all numbers up to it count as seen. */
export function openSequence(start: number): Sequence {
  let newest = start
  // In the order of the numbers: each read only adds numbers beyond the newest.
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
      for (const [number, since] of missing) if (Math.abs(now - since) >= longestTransactionMs) missing.delete(number)
      for (const number of numbers) {
        missing.delete(number)
        if (number <= newest) continue
        addGap(newest + 1, number, now)
        newest = number
      }
    },
  }
}
