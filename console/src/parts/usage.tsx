import type { ColumnDef } from '@tanstack/react-table'
import { type ReactNode, useMemo } from 'react'
import { useText } from '../text.tsx'
import { perSecondOf, type UsageData, type UsageTotal } from '../usage.ts'
import { Money } from './money.tsx'
import { useCount, usePercent } from './number.ts'
import { columnFor } from './table.tsx'
import { useSpan } from './time.tsx'

/** A sum, in each currency that it has. */
export function Amounts({ total, of }: { total: UsageTotal; of: 'cost' | 'revenue' }) {
  if (total.amounts.length === 0) return '–'
  return total.amounts.map((one) => (
    <span key={one.currency} className="line">
      <Money amount={one[of]} currency={one.currency} />
    </span>
  ))
}

/** Which videos the amounts are of, if not of all. */
export function usePricedPart(): (total: UsageTotal) => string | null {
  const t = useText()
  const count = useCount()
  return ({ seconds, pricedSeconds, amounts }) =>
    amounts.length > 0 && pricedSeconds < seconds
      ? t('usage.pricedPart', { priced: count(pricedSeconds), all: count(seconds) })
      : null
}

/** What a report has for each group, after its name. A client sees what they pay, an operator cost and revenue. */
export function useUsageColumns(seesAll: boolean): ColumnDef<UsageData>[] {
  const t = useText()
  const [count, percent, span] = [useCount(), usePercent(), useSpan()]
  return useMemo(() => {
    const toColumn = columnFor<UsageData>()
    const column = (id: string, header: string, cell: (group: UsageData) => ReactNode) =>
      toColumn(id, header, (group) => <span className="number">{cell(group)}</span>)
    const time = (ms: number | null) => (ms === null ? '–' : span(ms))
    const money = (amount: number, currency: string | null) =>
      currency === null ? '–' : <Money amount={amount} currency={currency} />
    const perSecond = (group: UsageData) => {
      const amount = perSecondOf(group)
      return amount === null ? '–' : money(amount, group.currency)
    }
    const cost = ({ cost, currency, seconds, priced_seconds: priced }: UsageData) => (
      <>
        {money(cost, currency)}
        {currency !== null && priced < seconds && (
          <small className="line quiet">{t('usage.pricedPart', { priced: count(priced), all: count(seconds) })}</small>
        )}
      </>
    )
    return [
      column('tasks', t('usage.measure.tasks'), ({ tasks }) => count(tasks)),
      column('failed', t('status.failed'), ({ failed }) => count(failed)),
      column('success', t('usage.success'), ({ success_rate: rate }) => (rate === null ? '–' : percent(rate))),
      column('seconds', t('usage.measure.seconds'), ({ seconds }) => count(seconds)),
      column('p50', t('model.p50'), ({ p50_ms: ms }) => time(ms)),
      column('p95', t('model.p95'), ({ p95_ms: ms }) => time(ms)),
      column('cost', seesAll ? t('usage.measure.cost') : t('usage.paid'), cost),
      column('per-second', t('usage.perSecond'), perSecond),
      ...(seesAll
        ? [column('revenue', t('usage.measure.revenue'), ({ revenue = 0, currency }) => money(revenue, currency))]
        : []),
    ]
  }, [t, count, percent, span, seesAll])
}
