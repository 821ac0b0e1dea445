import type { Clock } from '../core/clock.ts'
import { amountText } from '../core/money.ts'
import { type PriceSettings, pricesFor } from '../core/prices.ts'
import { Problem } from '../core/problem.ts'
import { capCounters } from '../core/spend.ts'
import { ownerOf, type Token } from '../core/token.ts'
import type { TaskStore } from '../stores/store.ts'
import type { SpentInPeriod } from '../wire/spend.ts'
import { iso } from './wire.ts'

interface SpendDependencies {
  store: Pick<TaskStore, 'spent'>
  clock: Clock
  prices?: PriceSettings | null
}

/** What the project of a token has spent in the current period of each cap of the token. */
export function openSpend({ store, clock, prices = null }: SpendDependencies) {
  return async (token: Token): Promise<SpentInPeriod[]> => {
    const caps = token.spend ?? []
    const currency = pricesFor(prices, token)?.currency ?? ''
    const counters = capCounters(caps, { owner: ownerOf(token), currency, at: clock.now() })
    const spent = await Promise.all(counters.map((counter) => store.spent(counter)))
    return caps.map(({ period, limit }, at) => ({
      period,
      amount: amountText(spent[at] ?? 0),
      limit: amountText(limit),
      currency,
      resets_at: period === 'total' ? null : iso(counters[at]?.ends ?? 0),
    }))
  }
}

/** Null if the store is unavailable. */
export async function orUnavailable<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (Problem.from(error).code === 'storage_unavailable') return null
    throw error
  }
}
