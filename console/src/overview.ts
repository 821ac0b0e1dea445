import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OperatorUsageGroup } from '../../src/wire/usage.ts'
import { dataOf, withQuery } from './api.ts'
import { currencyOf, successRateOf, sumOf, totalOf } from './usage.ts'

/* What the overview shows over time: the usage of ended tasks, by hours or days. */

export const ranges = {
  '24h': { unit: 'hour', steps: 24, rereadMs: 60_000 },
  '7d': { unit: 'hour', steps: 168, rereadMs: 300_000 },
  '30d': { unit: 'day', steps: 30, rereadMs: 300_000 },
  '90d': { unit: 'day', steps: 90, rereadMs: 600_000 },
} as const
export type RangeName = keyof typeof ranges
export const rangeNames = Object.keys(ranges) as RangeName[]
export const usualRange: RangeName = '24h'

const stepMs = { hour: 3_600_000, day: 86_400_000 } as const

/** The query of the page's address. */
export function readOverviewRange({ range }: Readonly<Record<string, unknown>>): { range?: RangeName } {
  const known = rangeNames.find((name) => name === range)
  return known && known !== usualRange ? { range: known } : {}
}

/** The first and the last step of a range, by their beginnings. Hours and days are those of UTC. */
export function boundsOf(range: RangeName, now = Date.now()): { first: number; last: number } {
  const { unit, steps } = ranges[range]
  const last = Math.floor(now / stepMs[unit]) * stepMs[unit]
  return { first: last - (steps - 1) * stepMs[unit], last }
}

interface Report {
  data: readonly OperatorUsageGroup[]
}

/** The usage of a range, by one field. A long range takes the service a while: it is read again less often. */
export function useUsage(range: RangeName, by: 'hour' | 'day' | 'model') {
  const { rereadMs } = ranges[range]
  const path = withQuery('/operator/v1/usage', { group_by: by, since: boundsOf(range).first / 1_000 })
  return useQuery<Report>({ queryKey: [path], staleTime: 30_000, refetchInterval: rereadMs })
}

/** One value for each time of the range. */
export interface Trend {
  times: readonly number[]
  completed: readonly number[]
  failed: readonly number[]
  cancelled: readonly number[]
  successRate: readonly (number | null)[]
  p50: readonly (number | null)[]
  p95: readonly (number | null)[]
  cost: readonly number[]
  revenue: readonly number[]
  /** Of the amounts; null if nothing has a price. */
  currency: string | null
}

export function useTrend(range: RangeName) {
  const data = dataOf(useUsage(range, ranges[range].unit))
  const { first, last } = boundsOf(range)
  const step = stepMs[ranges[range].unit]
  const trend = useMemo(() => data && trendOf(data.data, first, last, step), [data, first, last, step])
  const total = useMemo(() => data && totalOf(data.data), [data])
  return { trend, total }
}

function trendOf(groups: readonly OperatorUsageGroup[], first: number, last: number, step: number): Trend {
  const times = Array.from({ length: (last - first) / step + 1 }, (_, at) => first + at * step)
  const byTime = Map.groupBy(groups, ({ hour, day }) => Date.parse(hour ?? `${day}T00:00:00Z`))
  const points = times.map((time) => byTime.get(time) ?? [])
  // If the currency was changed, a time has a group for each. Amounts of another one are not drawn.
  const currency = currencyOf(groups)
  const drawn = (group: OperatorUsageGroup, amount: number) => (group.currency === currency ? amount : 0)
  const most = (point: readonly OperatorUsageGroup[]) => point.toSorted((a, b) => b.completed - a.completed)[0]
  const completed = points.map((one) => sumOf(one, (group) => group.completed))
  const failed = points.map((one) => sumOf(one, (group) => group.failed))
  return {
    ...{ times, completed, failed, currency },
    cancelled: points.map((one) => sumOf(one, (group) => group.cancelled)),
    successRate: completed.map((count, at) => successRateOf(count, failed[at] ?? 0)),
    p50: points.map((one) => most(one)?.p50_ms ?? null),
    p95: points.map((one) => most(one)?.p95_ms ?? null),
    cost: points.map((one) => sumOf(one, (group) => drawn(group, group.cost))),
    revenue: points.map((one) => sumOf(one, (group) => drawn(group, group.revenue))),
  }
}
