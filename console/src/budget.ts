import type { SpentInPeriod } from '../../src/wire/spend.ts'

/* What a token has spent of its budgets, and whether another video allows. */

export type Period = 'day' | 'month' | 'total'

/** Prices have up to 6 digits after the point. Sums of them are not exact otherwise. */
function toMicros(amount: string | number): number {
  return Math.round(Number(amount) * 1e6)
}

export function isSpent({ amount, limit }: SpentInPeriod): boolean {
  return toMicros(amount) >= toMicros(limit)
}

/** Whether videos that cost this much fit into it. Free videos always do. */
export function allows({ amount, limit }: SpentInPeriod, cost: number): boolean {
  return cost === 0 || toMicros(amount) + toMicros(cost) <= toMicros(limit)
}
