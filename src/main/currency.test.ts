import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PriceSettings } from '../core/prices.ts'
import { checkCurrency } from './currency.ts'

const pricesIn = (currency: string, fields: Partial<PriceSettings> = {}): PriceSettings => ({
  currency,
  unpriced: 'free',
  region: null,
  rules: [],
  ...fields,
})
const log = { warn: assert.fail }
const storeOf = (...currencies: string[]) => ({ currencies: async () => currencies })

it('refuses a start with another currency than that of the ledger, unless the operator confirms it', async () => {
  await checkCurrency(storeOf(), pricesIn('EUR'), log)
  await checkCurrency(storeOf('EUR'), pricesIn('EUR'), log)
  await assert.rejects(
    checkCurrency(storeOf('EUR', 'USD'), pricesIn('EUR'), log),
    /^Error: prices\.currency: it is EUR, and the ledger has amounts in USD.*set it to USD, or .*former_currencies: \[USD\]$/,
  )
  await checkCurrency(storeOf('EUR', 'USD'), pricesIn('EUR', { formerCurrencies: ['USD'] }), log)
  await assert.rejects(
    checkCurrency(storeOf('CNY', 'USD'), pricesIn('EUR', { formerCurrencies: ['USD'] }), log),
    /amounts in CNY/,
  )
})

it('warns if prices are no longer set, and caps are in US dollars again', async () => {
  const warnings: unknown[] = []
  const listening = { warn: (_event: string, fields = {}) => void warnings.push(fields) }
  await checkCurrency(storeOf('USD'), null, log)
  await checkCurrency(storeOf('EUR', 'USD'), null, listening)
  assert.deepEqual(warnings, [{ currencies: ['EUR'] }])
})
