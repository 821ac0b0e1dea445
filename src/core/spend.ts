import { moneyText } from './money.ts'
import { Problem } from './problem.ts'
import type { Task } from './task.ts'

/* Caps on what an owner spends in a day, a month or in total, and the counters that they are compared with. */

export const spendPeriods = ['day', 'month', 'total'] as const

/** A limit of a token. Reserved and charged amounts count, in the period of the submit. */
export interface SpendCap {
  readonly period: (typeof spendPeriods)[number]
  /** Micros. */
  readonly limit: number
  /** The time zone whose midnight begins a day or a month. */
  readonly zone: string
}

/**
 * What an owner has spent on tasks that were submitted from `starts` until before `ends`. Its amount is the sum of the
 * entries of the owner's funds for those tasks, so a store can make a missing counter from the ledger.
 */
export interface Counter {
  readonly scope: string
  readonly currency: string
  /** `total`, `month 2026-11 Europe/Berlin`, `day 2026-11-17 UTC`. */
  readonly period: string
  readonly starts: number
  readonly ends: number
}

/** A cap in the period of a submit. */
export interface CapCounter extends Counter {
  readonly limit: number
}

/** A new task, the caps of its owner, and how many tasks of the owner may wait. */
export interface Admission {
  readonly task: Pick<Task, 'id' | 'owner' | 'createdAt' | 'price'>
  readonly caps: readonly CapCounter[]
  /** With this task; absent if the tasks that wait need not be counted. */
  readonly mostQueued?: number | undefined
}

/** The cap that does not allow a task. */
export interface CapRefusal {
  readonly cap: CapCounter
  /** Micros, without this task. */
  readonly spent: number
  readonly charge: number
}

/** The end of the last period: later than any task. */
const endOfTime = 8_640_000_000_000_000

/** The counter that every owner has. A change of any counter of the owner locks this one first. */
function totalCounter(scope: string, currency: string): Counter {
  return { scope, currency, period: 'total', starts: 0, ends: endOfTime }
}

/** Larger sums are not exact in JavaScript, and `node:sqlite` throws for them. Caps of operators are lower. */
export const largestTotal = Number.MAX_SAFE_INTEGER

/** The limit that every owner has, with caps or without. */
export function largestCap({ owner, currency }: { owner: string; currency: string }): CapCounter {
  return { ...totalCounter(owner, currency), limit: largestTotal }
}

/** Whether nothing is reserved for the task. */
export function isFree(price: Task['price']): boolean {
  return price === null || price.charge === 0
}

/** The counters that an admission depends on; the total first. */
export function countersOf({ task, caps }: Admission): Counter[] {
  if (task.price === null || isFree(task.price)) return []
  const total = totalCounter(task.owner, task.price.currency)
  return [total, ...caps.filter(({ period }) => period !== total.period)]
}

export function counterKey({ scope, currency, period }: Pick<Counter, 'scope' | 'currency' | 'period'>): string {
  return JSON.stringify([scope, currency, period])
}

/** The caps of a task that is submitted now. */
export function capsAt(caps: readonly SpendCap[], { owner, createdAt, price }: Admission['task']): CapCounter[] {
  return price === null ? [] : capCounters(caps, { owner, currency: price.currency, at: createdAt })
}

/** The counters that caps are compared with at that time, in the order of the caps. */
export function capCounters(
  caps: readonly SpendCap[],
  { owner, currency, at }: { owner: string; currency: string; at: number },
): CapCounter[] {
  return caps.map(({ period, limit, zone }) =>
    period === 'total'
      ? { ...totalCounter(owner, currency), limit }
      : { scope: owner, currency, limit, ...periodAt(period, zone, at) },
  )
}

/** The day or month of a time zone that a time belongs to. */
export function periodAt(
  period: 'day' | 'month',
  zone: string,
  at: number,
): Pick<Counter, 'period' | 'starts' | 'ends'> {
  const { year, month, day } = dateIn(zone, at)
  const name = `${year}-${two(month)}${period === 'day' ? `-${two(day)}` : ''}`
  const [from, until] =
    period === 'day'
      ? [Date.UTC(year, month - 1, day), Date.UTC(year, month - 1, day + 1)]
      : [Date.UTC(year, month - 1), Date.UTC(year, month)]
  return { period: `${period} ${name} ${zone}`, starts: midnight(zone, from), ends: midnight(zone, until) }
}

const two = (number: number) => String(number).padStart(2, '0')
const dayMs = 86_400_000

/** The first moment of a date in a time zone. The date is given as its midnight in UTC. */
function midnight(zone: string, utc: number): number {
  // The offsets before and after that date. Clocks may change at midnight: then only one of the two moments is that date.
  const moments = [utc - dayMs, utc + dayMs].map((near) => utc - offsetAt(zone, near)).sort((a, b) => a - b)
  const isThatDate = (moment: number) => {
    const { year, month, day } = dateIn(zone, moment)
    return Date.UTC(year, month - 1, day) === utc
  }
  return moments.find(isThatDate) ?? moments.at(-1) ?? utc
}

function offsetAt(zone: string, at: number): number {
  const { year, month, day, hour, minute, second } = dateIn(zone, at)
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000
}

interface LocalTime {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

function dateIn(zone: string, at: number): LocalTime {
  const parts = formatOf(zone).formatToParts(at)
  const numbers = parts.map(({ type, value }) => [type, Number(value)] as const)
  return Object.fromEntries(numbers) as unknown as LocalTime
}

/** Creating a format takes longer than all else here. There are no more than there are time zones. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const numeric = 'numeric' as const
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', { timeZone: zone, year: numeric, month: numeric, day: numeric, ...time })
  formats.set(zone, format)
  return format
}

export function isTimeZone(zone: string): boolean {
  try {
    formatOf(zone)
    return true
  } catch {
    return false
  }
}

export function overCap({ cap, spent, charge }: CapRefusal): Problem {
  const { limit, currency, period, ends, scope } = cap
  const used = `${moneyText(spent, currency)} is spent or reserved, and the video costs up to ${moneyText(charge, currency)}`
  if (limit === largestTotal) {
    const most = `The project '${scope}' can't spend more than ${moneyText(limit, currency)} in total`
    return new Problem('insufficient_quota', `${most}: ${used}. Ask your operator for a token of another project.`)
  }
  const [kind = '', , zone = ''] = period.split(' ')
  const name = kind === 'total' ? 'in total' : `a ${kind}`
  const reset =
    kind === 'total'
      ? 'This cap does not reset. Ask your operator to raise it.'
      : `The cap resets at ${new Date(ends).toISOString()}, when the ${kind} ends in the time zone ${zone}.`
  const message = `The spend cap of ${moneyText(limit, currency)} ${name} does not allow this video: ${used}. ${reset}`
  return new Problem('insufficient_quota', message)
}
