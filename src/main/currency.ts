import { type PriceSettings, usualCurrency } from '../core/prices.ts'
import type { TaskStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

/**
 * Amounts in another currency do not count towards spend caps, so a change of the currency gives every token its whole budget
 * again. Throws unless the operator has confirmed that.
 */
export async function checkCurrency(
  store: Pick<TaskStore, 'currencies'>,
  prices: PriceSettings | null,
  { warn }: Pick<Log, 'warn'>,
): Promise<void> {
  const currency = prices?.currency ?? usualCurrency
  const known = [currency, ...(prices?.formerCurrencies ?? [])]
  const others = (await store.currencies()).filter((one) => !known.includes(one))
  if (others.length === 0) return
  if (prices === null)
    return warn('spend caps are in US dollars: amounts in other currencies do not count', { currencies: others })
  const confirmed = [...(prices.formerCurrencies ?? []), ...others].join(', ')
  const back = others.length === 1 ? `set it to ${others[0]}, or ` : ''
  throw new Error(
    `prices.currency: it is ${currency}, and the ledger has amounts in ${others.join(', ')}, which do not count towards spend caps: ` +
      `every token would get its whole budget again; ${back}confirm the change with prices.former_currencies: [${confirmed}]`,
  )
}
