import { useCallback, useMemo } from 'react'
import { useLocale } from '../text.tsx'

/** A part of 1 in percent. */
export function usePercent(): (part: number) => string {
  const locale = useLocale()
  return useMemo(() => {
    const format = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
    return (part: number) => format.format(part)
  }, [locale])
}

/** How many of something. */
export function useCount(): (count: number) => string {
  const locale = useLocale()
  return useMemo(() => {
    const format = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
    return (count: number) => format.format(count)
  }, [locale])
}

const units = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** A size in the largest unit of 1000 that fits: 0.4 kB, 850 kB, 12.4 MB. */
export function useBytes(): (bytes: number) => string {
  const locale = useLocale()
  return useCallback(
    (bytes: number) => {
      const power = Math.min(units.length, Math.floor(Math.log10(Math.max(1_000, bytes)) / 3))
      const unit = units[power - 1] ?? 'kilobyte'
      const format = new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits: 1 })
      return format.format(bytes / 1_000 ** power)
    },
    [locale],
  )
}
