import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OperatorUsageGroup, UsageGroup } from '../../src/wire/usage.ts'
import { withQuery } from './api.ts'
import { readTexts } from './search.ts'

/* Reports of usage: of one's own project from the public API, or of everyone from the operator API. */

export const groupings = ['model', 'token', 'project', 'account', 'error_code'] as const
export type Grouping = (typeof groupings)[number]
export const measures = ['tasks', 'seconds', 'cost', 'revenue'] as const
export type Measure = (typeof measures)[number]
export const ranges = [7, 30, 90] as const
export type Range = (typeof ranges)[number]

/** What a client may group by and measure: what they pay is their cost. */
export const clientGroupings: readonly Grouping[] = ['model', 'token', 'error_code']
export const clientMeasures: readonly Measure[] = ['tasks', 'seconds', 'cost']

/** What the page shows. It is the query of its address. */
export interface UsageFilters {
  by?: Grouping
  measure?: Measure
  days?: Range
  model?: string
  token?: string
  error_code?: string
  /** Of operators alone. */
  project?: string
  account?: string
}

export function readUsageFilters(search: Readonly<Record<string, unknown>>): UsageFilters {
  const by = groupings.find((one) => one === search.by)
  const measure = measures.find((one) => one === search.measure)
  const days = ranges.find((one) => one === Number(search.days))
  return {
    ...readTexts(search, groupings),
    ...(by && { by }),
    ...(measure && { measure }),
    ...(days && { days }),
  }
}

/** A group as either API has it. */
export type UsageData = UsageGroup & Partial<Pick<OperatorUsageGroup, 'token_name' | 'project' | 'account' | 'revenue'>>

export interface UsageReport {
  data: readonly UsageData[]
}

/** Sums of groups. */
export interface UsageTotal {
  tasks: number
  completed: number
  failed: number
  seconds: number
  /** Of the videos that are part of the amounts. */
  pricedSeconds: number
  successRate: number | null
  /** By currency: there are several if it was changed, and their amounts are never added. */
  amounts: readonly { currency: string; cost: number; revenue: number }[]
}

export function totalOf(groups: readonly UsageData[]): UsageTotal {
  const [completed, failed] = [sumOf(groups, (group) => group.completed), sumOf(groups, (group) => group.failed)]
  const byCurrency = Map.groupBy(groups, ({ currency }) => currency)
  const amounts = [...byCurrency].flatMap(([currency, ones]) =>
    currency === null
      ? []
      : [{ currency, cost: sumOf(ones, (group) => group.cost), revenue: sumOf(ones, (group) => group.revenue ?? 0) }],
  )
  return {
    ...{ completed, failed, amounts },
    tasks: sumOf(groups, (group) => group.tasks),
    seconds: sumOf(groups, (group) => group.seconds),
    pricedSeconds: sumOf(groups, (group) => group.priced_seconds),
    successRate: successRateOf(completed, failed),
  }
}

export function sumOf<Group extends UsageData>(groups: readonly Group[], read: (group: Group) => number): number {
  return groups.reduce((all, group) => all + read(group), 0)
}

/** To three digits: most quotients have no end. Videos without a price are not part of the cost. */
export function perSecondOf({ cost, priced_seconds: seconds }: UsageData): number | null {
  return seconds === 0 ? null : Number((cost / seconds).toPrecision(3))
}

/** Cancelled videos do not count. */
export function successRateOf(completed: number, failed: number): number | null {
  return completed + failed === 0 ? null : completed / (completed + failed)
}

/** The currency that a chart is drawn in: the newest one. Null if nothing has a price. */
export function currencyOf(groups: readonly UsageData[]): string | null {
  const timeOf = ({ day, hour }: UsageData) => hour ?? day ?? ''
  const priced = groups.filter(({ currency }) => currency !== null)
  return priced.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b))).at(-1)?.currency ?? null
}

/** The groups that are shown one by one. Those who look at errors do not look for videos without one. */
export function distinctOf(groups: readonly UsageData[], by: Grouping): readonly UsageData[] {
  return by === 'error_code' ? groups.filter((group) => group.error_code) : groups
}

type Query = Readonly<Record<string, string | undefined>>

export function usagePath(seesAll: boolean, query: Query): string {
  return withQuery(seesAll ? '/operator/v1/usage' : '/v1/usage', query)
}

const dayMs = 86_400_000

/** The last days up to today, as reports have them: in UTC. */
export function daysUntilToday(count: number, now = Date.now()): string[] {
  const today = Math.floor(now / dayMs) * dayMs
  return Array.from({ length: count }, (_, at) => new Date(today - (count - 1 - at) * dayMs).toISOString().slice(0, 10))
}

/** The same, as one array until the day changes. */
export function useDays(count: number): readonly string[] {
  const today = Math.floor(Date.now() / dayMs) * dayMs
  return useMemo(() => daysUntilToday(count, today), [count, today])
}

/** How many tasks of a token ended on each of the days. */
export type DailyCounts = ReadonlyMap<string, readonly number[]>

interface CountsWanted {
  days: number
  project?: string
  token?: string
}

/** For operators. There are no counts until they are known, and if there are too many groups to report. */
export function useDailyCounts({ days, project, token }: CountsWanted) {
  const dates = useDays(days)
  const path = usagePath(true, { group_by: 'token,day', since: dates[0], project, token })
  const report = useQuery<UsageReport>({ queryKey: [path], staleTime: 60_000, refetchInterval: 60_000 })
  const { data } = report
  const counts: DailyCounts = useMemo(() => {
    const counts = new Map<string, number[]>()
    const at = new Map(dates.map((day, index) => [day, index]))
    for (const group of data?.data ?? []) {
      const key = group.token ?? ''
      const values = counts.get(key) ?? dates.map(() => 0)
      const index = at.get(group.day ?? '')
      if (index !== undefined) values[index] = (values[index] ?? 0) + group.tasks
      counts.set(key, values)
    }
    return counts
  }, [data, dates])
  return { counts, report }
}

interface NamedValues {
  /** Null: the groups that have no line of their own. */
  key: string | null
  name: string | null
  values: number[]
}

const mostLines = 5

interface Lines {
  lines: NamedValues[]
  /** Of the amounts. Those of other currencies are not drawn. Null if nothing that is drawn has a price. */
  currency: string | null
}

/** The largest groups by day, and the others together. */
export function toLines(
  groups: readonly UsageData[],
  { by, measure, days }: { by: Grouping; measure: Measure; days: readonly string[] },
): Lines {
  const at = new Map(days.map((day, index) => [day, index]))
  const data = distinctOf(groups, by)
  const currency = currencyOf(data)
  const isAmount = measure === 'cost' || measure === 'revenue'
  const all = new Map<string, NamedValues>()
  for (const group of data) {
    const key = group[by] ?? ''
    const line = all.get(key) ?? { key, name: nameOf(group, by), values: days.map(() => 0) }
    const index = at.get(group.day ?? '')
    const value = isAmount && group.currency !== currency ? 0 : (group[measure] ?? 0)
    if (index !== undefined) line.values[index] = (line.values[index] ?? 0) + value
    all.set(key, line)
  }
  const whole = ({ values }: NamedValues) => values.reduce((a, b) => a + b, 0)
  const sorted = [...all.values()].toSorted((a, b) => whole(b) - whole(a))
  const rest = sorted.slice(mostLines)
  if (rest.length === 0) return { lines: sorted, currency }
  const values = days.map((_, index) => rest.reduce((total, line) => total + (line.values[index] ?? 0), 0))
  return { lines: [...sorted.slice(0, mostLines), { key: null, name: null, values }], currency }
}

/** Null if the tasks of the group have no such value: no token was stored, or no account had them. */
export function nameOf(group: UsageData, by: Grouping): string | null {
  if (by === 'token') return group.token_name ?? group.token ?? null
  return group[by] ?? null
}
