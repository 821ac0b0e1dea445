import { Problem } from './problem.ts'
import type { UsageRecord } from './usage.ts'

/* Sums of usage, by the values of some dimensions. */

export const usageDimensions = ['token', 'project', 'model', 'account', 'error_code', 'day', 'hour'] as const
export type UsageDimension = (typeof usageDimensions)[number]

/** How many days a report has: by default, and at most. */
export const reportDays = { usual: 30, most: 400, mostByHour: 31 } as const

/** Only records with these values count. */
export interface UsageFilter {
  token?: string
  model?: string
  account?: string
  code?: string
}

export interface UsageSum {
  /** In the order of the dimensions; null if a record has no value. */
  readonly values: readonly (string | null)[]
  /** Null if nothing in it has a price. */
  currency: string | null
  completed: number
  failed: number
  cancelled: number
  /** The length of completed videos, as it was requested. */
  seconds: number
  /** Those of them that have a price. */
  pricedSeconds: number
  /** Micros. */
  revenue: number
  cost: number
  /** How many completed tasks took how long, in milliseconds to three significant digits. */
  readonly durations: Map<number, number>
}

interface SumOptions {
  by: readonly UsageDimension[]
  filter?: UsageFilter
  /** Whether attempts that no task uses count. They have a cost, and no revenue. */
  countsUnused: boolean
  /** How many groups there may be. */
  most: number
}

interface UsageSums {
  /** Throws `invalid_value` if there are too many groups. */
  add(record: UsageRecord): void
  /** In the order of their values. */
  groups(): UsageSum[]
}

export function openUsageSums({ by, filter = {}, countsUnused, most }: SumOptions): UsageSums {
  /** By their values. There is more than one only if the currency was changed: its amounts are never added to others. */
  const groups = new Map<string, UsageSum[]>()
  let size = 0
  const { token, model, account, code } = filter
  const isWanted = (record: UsageRecord) =>
    (countsUnused || record.outcome !== 'unused') &&
    (token === undefined || record.token === token) &&
    (model === undefined || record.model === model) &&
    (account === undefined || record.account === account) &&
    (code === undefined || record.code === code)

  function sumFor(record: UsageRecord): UsageSum {
    const { currency } = record
    const values = by.map((name) => readValue[name](record))
    const key = values.join('\0')
    const known = groups.get(key) ?? []
    // A free task has no currency, and counts with the others.
    const found = known.find((sum) => currency === null || sum.currency === null || sum.currency === currency)
    if (found) {
      found.currency ??= currency
      return found
    }
    if (size === most) throw tooMany(most)
    size += 1
    const counts = { completed: 0, failed: 0, cancelled: 0, seconds: 0, pricedSeconds: 0, revenue: 0, cost: 0 }
    const sum: UsageSum = { values, currency, ...counts, durations: new Map() }
    groups.set(key, [...known, sum])
    return sum
  }

  return {
    add(record) {
      if (!isWanted(record)) return
      const sum = sumFor(record)
      sum.revenue += record.revenue
      sum.cost += record.cost
      if (record.outcome !== 'unused') sum[record.outcome] += 1
      if (record.outcome !== 'completed') return
      sum.seconds += record.seconds
      if (record.currency !== null) sum.pricedSeconds += record.seconds
      const ms = Number(record.tookMs.toPrecision(3))
      sum.durations.set(ms, (sum.durations.get(ms) ?? 0) + 1)
    },
    groups: () => [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, sums]) => sums),
  }
}

/** Days and hours are those of UTC. */
const readValue: Readonly<Record<UsageDimension, (record: UsageRecord) => string | null>> = {
  token: ({ token }) => token,
  project: ({ owner }) => owner,
  model: ({ model }) => model,
  account: ({ account }) => account,
  error_code: ({ code }) => code,
  day: ({ at }) => new Date(at).toISOString().slice(0, 10),
  hour: ({ at }) => `${new Date(at).toISOString().slice(0, 13)}:00Z`,
}

function tooMany(most: number): Problem {
  const message = `There are more than ${most} groups. Shorten the time from \`since\` to \`before\`, group by fewer fields, or filter by one.`
  return new Problem('invalid_value', message, { param: 'group_by' })
}

/** How long each of these parts of the completed tasks took at most; undefined if no task was completed. */
export function percentilesOf({ completed, durations }: UsageSum, parts: readonly number[]): (number | undefined)[] {
  const sorted = [...durations].sort(([a], [b]) => a - b)
  return parts.map((part) => {
    let left = Math.ceil(part * completed)
    return sorted.find(([, count]) => {
      left -= count
      return left <= 0
    })?.[0]
  })
}

/** The part of the ended tasks that was completed, without cancelled ones; null if no task was completed or failed. */
export function successRateOf({ completed, failed }: UsageSum): number | null {
  return completed + failed === 0 ? null : Number((completed / (completed + failed)).toFixed(4))
}
