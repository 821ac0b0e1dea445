import { useCallback } from 'react'
import { useLocale } from '../text.tsx'

/** An amount in its currency, as exact as it is given: prices may be fractions of a cent. */
export function Money({ amount, currency }: { amount: number | string; currency: string }) {
  return <span className="number">{useAmount()(amount, currency)}</span>
}

/** The same as text, for charts and sentences. Without prices there is no currency. */
export function useAmount(): (amount: number | string, currency: string | null) => string {
  const locale = useLocale()
  return useCallback(
    (amount, currency) => {
      const style = currency ? ({ style: 'currency', currency } as const) : {}
      // Text is a price, which has up to 12 digits; a number is computed.
      const maximumFractionDigits = typeof amount === 'string' ? 12 : 6
      return new Intl.NumberFormat(locale, { ...style, maximumFractionDigits }).format(Number(amount))
    },
    [locale],
  )
}
