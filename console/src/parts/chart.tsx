import { useEffect, useRef, useState } from 'react'
import { usePreferences } from '../preferences.ts'
import { loadScript } from '../scripts.ts'
import { useLocale, useText } from '../text.tsx'

export interface Series {
  name: string
  /** One for each time; null leaves a gap. */
  values: readonly (number | null)[]
  /** A custom property of the style: `--accent`. */
  colour: string
}

export interface ChartProps {
  /** In milliseconds, in order. */
  times: readonly number[]
  /** The first and the last time of the axis, whether or not there are values. */
  range: readonly [from: number, until: number]
  /** How far apart the times are: days of UTC, or hours in the reader's zone. Days, unless it is set. */
  unit?: 'day' | 'hour'
  /** What a time is: a day, an hour. */
  timeName: string
  series: readonly Series[]
  /** How a value is written. */
  format(value: number): string
  /** The values are whole, so the lines of the axis are as well. */
  isCount?: boolean
  /** Read aloud in place of the picture. */
  label: string
}

const height = 180

/** Lines over time. The library is loaded with the first chart. */
export function Chart(props: ChartProps) {
  const { theme } = usePreferences()
  // Drawn again in the colours of another theme.
  return <Lines key={theme} {...props} />
}

function Lines({ times, range, unit = 'day', timeName, series, format, isCount = false, label }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const t = useText()
  const locale = useLocale()
  const [hasFailed, setFailed] = useState(false)
  const [from, until] = range
  useEffect(() => {
    const element = place.current
    if (!element) return
    let drawn: { destroy(): void; setSize(size: { width: number; height: number }): void } | undefined
    let isGone = false
    const resize = new ResizeObserver(() => drawn?.setSize({ width: element.clientWidth, height }))
    async function draw(place: HTMLDivElement): Promise<void> {
      const { plot } = await loadScript('plot', () => import('./plot.ts'))
      if (isGone) return
      drawn = plot(place, { times, range: [from, until], unit, timeName, series, format, isCount, locale, height })
      resize.observe(place)
    }
    draw(element).catch(() => !isGone && setFailed(true))
    return () => {
      isGone = true
      resize.disconnect()
      drawn?.destroy()
    }
  }, [times, from, until, unit, timeName, series, format, isCount, locale])
  if (hasFailed) return <p className="notice mild">{t('chart.failed')}</p>
  return <div ref={place} className="chart" role="img" aria-label={label} />
}
