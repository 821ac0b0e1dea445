import { readDuration } from '../core/duration.ts'
import { UsageFailure } from './failure.ts'

/** From a time, or from a duration before now. */
export function timeBefore(option: string, text: string, now: number): number {
  const ms = readDuration(text)
  const at = ms === undefined ? timeOf(text) : now - ms
  if (!Number.isNaN(at)) return Math.max(0, at)
  throw new UsageFailure(
    `--${option} ${text}: use 90m, 24h or 3d (ago), 2026-11-15, or a time such as 2026-11-15T09:00Z`,
  )
}

/** From a time, or from a duration after now. */
export function timeAfter(option: string, text: string, now: number): number {
  const ms = readDuration(text)
  const at = ms === undefined ? timeOf(text) : now + ms
  if (!Number.isNaN(at)) return at
  throw new UsageFailure(`--${option} ${text}: use 90m, 24h, 30d, a time such as 2027-01-31T00:00Z, or none`)
}

/** Without a time zone it is a time of this machine. A day begins in UTC. `Date.parse` also reads 'last 7': in 2001. */
function timeOf(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text)
  return isTime ? Date.parse(text) : Number.NaN
}
