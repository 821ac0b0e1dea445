import type { Clock } from './clock.ts'

/*
 * An outage is two lines in the log: one when something stops working, and one when it works again, with the number of
 * failures in between. A line for each failed request would bury all others.
 */

type Line = (event: string, fields?: Record<string, unknown>) => void

export type OutageLog = Record<'info' | 'warn' | 'error', Line>

interface OutageOptions {
  log: OutageLog
  clock: Pick<Clock, 'now'>
  /** The line at its start. */
  down: string
  /** The line at its end. */
  up: string
  /** How serious its start is; `error` by default. */
  level?: 'warn' | 'error'
  /** A success ends it only this long after the last failure, as some requests may succeed all the time; 0 by default. */
  calmMs?: number
}

interface Outages {
  /** `fields` are of this failure. Within an outage, only the first failure of each kind is logged. */
  failed(key: string, fields: Record<string, unknown>, kind?: string): void
  worked(key: string, fields?: Record<string, unknown>): void
}

interface OpenOutage {
  readonly since: number
  readonly kinds: Set<string>
  failures: number
  lastAt: number
  /** The last success; 0 if there was none. */
  workedAt: number
}

/** How many outages are open at once at most: beyond it, new ones are not logged. */
const mostOpen = 1_000
/** A failure that comes this long after the one before it begins another outage: not every success is reported. */
const staleMs = 15 * 60_000
const mostKinds = 20

/** Many things of one sort that may stop working, such as the endpoints of clients. */
export function openOutages(options: OutageOptions): Outages {
  const { log, clock, down, up, level = 'error', calmMs = 0 } = options
  const open = new Map<string, OpenOutage>()

  // The clock may have been set back.
  const age = ({ lastAt }: OpenOutage) => Math.abs(clock.now() - lastAt)

  function begin(): OpenOutage | undefined {
    const [oldest] = open
    if (open.size >= mostOpen && oldest) {
      if (age(oldest[1]) < staleMs) return undefined
      open.delete(oldest[0])
    }
    return { since: clock.now(), kinds: new Set(), failures: 0, lastAt: 0, workedAt: 0 }
  }

  function end(key: string, { since, failures }: OpenOutage, at: number, fields: Record<string, unknown>): void {
    open.delete(key)
    log.info(up, { ...fields, failures, seconds: Math.max(0, Math.round((at - since) / 1000)) })
  }

  /** The outage that a failure belongs to. A success may have ended the one before it without a line, as the calm had to come. */
  function current(key: string): OpenOutage | undefined {
    const outage = open.get(key)
    if (!outage) return begin()
    const isOver = outage.workedAt >= outage.lastAt && age(outage) >= calmMs
    if (isOver) end(key, outage, outage.workedAt, {})
    return isOver || age(outage) >= staleMs ? begin() : outage
  }

  return {
    failed(key, fields, kind = '') {
      const outage = current(key)
      if (!outage) return
      outage.failures += 1
      outage.lastAt = clock.now()
      // The one that failed longest ago is the first.
      open.delete(key)
      open.set(key, outage)
      if (outage.kinds.has(kind) || outage.kinds.size >= mostKinds) return
      outage.kinds.add(kind)
      log[level](down, fields)
    },
    worked(key, fields = {}) {
      const outage = open.size === 0 ? undefined : open.get(key)
      if (!outage) return
      outage.workedAt = clock.now()
      if (age(outage) >= calmMs) end(key, outage, clock.now(), fields)
    },
  }
}

export interface Outage {
  failed(fields: Record<string, unknown>, kind?: string): void
  worked(): void
}

/** One thing that may stop working. */
export function openOutage(options: OutageOptions): Outage {
  const outages = openOutages(options)
  return {
    failed: (fields, kind) => outages.failed('', fields, kind),
    worked: () => outages.worked(''),
  }
}
