import { useCallback, useMemo } from 'react'
import { boundsOf, type RangeName, ranges, type Trend } from '../overview.ts'
import { Chart, type Series } from '../parts/chart.tsx'
import { useAmount } from '../parts/money.tsx'
import { useCount, usePercent } from '../parts/number.ts'
import { useSpan } from '../parts/time.tsx'
import { useText } from '../text.tsx'

/** What happened in the range, over time: how tasks ended, how many succeeded, how long they took, and money. */
export function Trends({ trend, range }: { trend: Trend; range: RangeName }) {
  const t = useText()
  const [count, percent, span, money] = [useCount(), usePercent(), useSpan(), useMoney(trend.currency)]
  const ended = useMemo(
    () => [
      { name: t('status.completed'), colour: '--good', values: trend.completed },
      { name: t('status.failed'), colour: '--bad', values: trend.failed },
      { name: t('overview.cancelled'), colour: '--wait', values: trend.cancelled },
    ],
    [t, trend],
  )
  const success = useMemo(() => [{ name: t('usage.success'), colour: '--good', values: trend.successRate }], [t, trend])
  const times = useMemo(
    () => [
      { name: t('model.p50'), colour: '--accent', values: trend.p50 },
      { name: t('model.p95'), colour: '--warm', values: trend.p95 },
    ],
    [t, trend],
  )
  const amounts = useMemo(
    () => [
      { name: t('usage.measure.cost'), colour: '--warm', values: trend.cost },
      { name: t('usage.measure.revenue'), colour: '--good', values: trend.revenue },
    ],
    [t, trend],
  )
  const drawn = { times: trend.times, range }
  return (
    <div className="two even trends">
      <TrendChart {...drawn} title={t('overview.ended')} series={ended} format={count} isCount />
      <TrendChart {...drawn} title={t('usage.success')} series={success} format={percent} />
      <TrendChart {...drawn} title={t('overview.durations')} series={times} format={span} />
      {trend.currency !== null && <TrendChart {...drawn} title={t('overview.money')} series={amounts} format={money} />}
    </div>
  )
}

interface TrendChartProps {
  title: string
  times: readonly number[]
  range: RangeName
  series: readonly Series[]
  format(value: number): string
  isCount?: boolean
}

function TrendChart({ title, times, range, ...drawn }: TrendChartProps) {
  const t = useText()
  const { unit } = ranges[range]
  const { first, last } = boundsOf(range)
  return (
    <section>
      <h2>{title}</h2>
      <Chart
        times={times}
        range={[first, last]}
        unit={unit}
        timeName={unit === 'day' ? t('model.day') : t('overview.hour')}
        {...drawn}
        label={title}
      />
    </section>
  )
}

function useMoney(currency: string | null): (amount: number) => string {
  const amount = useAmount()
  return useCallback((value: number) => amount(value, currency), [amount, currency])
}
