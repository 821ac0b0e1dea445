import { useCallback, useEffect, useState } from 'react'
import { useLocale, useText } from '../text.tsx'
import { toSpan } from './span.ts'

/** A time in the reader's zone: how long ago, and exactly in its title; or exactly at once. */
export function Time({ at, exact = false }: { at: number; exact?: boolean }) {
  const locale = useLocale()
  const now = useNow(!exact)
  const whole = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={whole}>
      {exact ? whole : relative(at - now, locale)}
    </time>
  )
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

function relative(distance: number, locale: string): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const [unit, ms] = units.find(([, one]) => Math.abs(distance) >= one) ?? ['second', 1_000]
  return format.format(Math.round(distance / ms), unit)
}

/** The time, every 5 seconds while it is needed. */
function useNow(isNeeded: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isNeeded) return
    const timer = setInterval(() => setNow(Date.now()), 5_000)
    return () => clearInterval(timer)
  }, [isNeeded])
  return now
}

/** A length of time: 850 ms, 8.4 s, 3 min 20 s. */
export function useSpan(): (ms: number) => string {
  const t = useText()
  return useCallback((ms: number) => t(...toSpan(ms)), [t])
}
