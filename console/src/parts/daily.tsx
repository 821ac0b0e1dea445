import { type ReactNode, useMemo } from 'react'
import { useText } from '../text.tsx'
import { useDays } from '../usage.ts'
import { Chart, type ChartProps } from './chart.tsx'

interface DailyChartProps extends Pick<ChartProps, 'series' | 'format' | 'isCount'> {
  title: string
  /** How many, up to today. */
  days: number
  /** The days that have values. All of them, unless it is set. Keep it the same until the values change. */
  times?: readonly number[]
  /** Shown in place of the chart. */
  instead?: ReactNode
}

/** A chart of the last days, with its title. */
export function DailyChart({ title, days, times, instead, ...drawn }: DailyChartProps) {
  const t = useText()
  const dates = useDays(days)
  const all = useMemo(() => dates.map((day) => Date.parse(day)), [dates])
  return (
    <section>
      <h2>{title}</h2>
      {instead || (
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
