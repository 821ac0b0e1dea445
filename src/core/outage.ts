import type { Clock } from './clock.ts'

/*
 * An outage is two lines in the log: one when something stops working, and one when it works again, with the number of
 * failures in between. A line for each failed request would bury all others.
 */

type Line = (event: string, fields?: Record<string, unknown>) => void

interface OutageOptions {
  log: Record<'info' | 'warn' | 'error', Line>
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
}

/** How many outages are open at once at most: beyond it, the end of the oldest is not logged. */
const mostOpen = 1_000
const mostKinds = 20

/** Many things of one sort that may stop working, such as the endpoints of clients. */
export function openOutages(options: OutageOptions): Outages {
  const { log, clock, down, up, level = 'error', calmMs = 0 } = options
  const open = new Map<string, OpenOutage>()

  function begin(key: string): OpenOutage {
    const [oldest = ''] = open.keys()
    if (open.size >= mostOpen) open.delete(oldest)
    const begun = { since: clock.now(), kinds: new Set<string>(), failures: 0, lastAt: 0 }
    open.set(key, begun)
    return begun
  }

  return {
    failed(key, fields, kind = '') {
      const outage = open.get(key) ?? begin(key)
      outage.failures += 1
      outage.lastAt = clock.now()
      if (outage.kinds.has(kind) || outage.kinds.size >= mostKinds) return
      outage.kinds.add(kind)
      log[level](down, fields)
    },
    worked(key, fields = {}) {
      const outage = open.size === 0 ? undefined : open.get(key)
      // The clock may have been set back.
      if (!outage || Math.abs(clock.now() - outage.lastAt) < calmMs) return
      open.delete(key)
      const seconds = Math.max(0, Math.round((clock.now() - outage.since) / 1000))
      log.info(up, { ...fields, failures: outage.failures, seconds })
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
