import { useMemo } from 'react'
import { useText } from '../text.tsx'
import { type UsageReport, useDays } from '../usage.ts'
import { Chart, type ChartProps } from './chart.tsx'
import { useReason } from './prose.tsx'

interface DailyChartProps extends Pick<ChartProps, 'series' | 'format' | 'isCount'> {
  title: string
  /** How many, up to today. */
  days: number
  /** The days that have values. All of them, unless it is set. Keep it the same until the values change. */
  times?: readonly number[]
  /** What is drawn, as far as it was read. */
  report: { data: UsageReport | undefined; error: Error | null }
  /** Shown in place of a chart without values. */
  none?: string | false
}

/** A chart of the last days, with its title. */
export function DailyChart({ title, days, times, report: { data, error }, none, ...drawn }: DailyChartProps) {
  const t = useText()
  const reason = useReason()
  const dates = useDays(days)
  const all = useMemo(() => dates.map((day) => Date.parse(day)), [dates])
  return (
    <section>
      <h2>{title}</h2>
      {!data && error && <p className="notice mild">{reason(error)}</p>}
      {data && none && <p className="quiet">{none}</p>}
      {data && !none && (
        <Chart
          times={times ?? all}
          range={[all[0] ?? 0, all.at(-1) ?? 0]}
          timeName={t('usage.day')}
          label={title}
          {...drawn}
        />
      )}
    </section>
  )
}
