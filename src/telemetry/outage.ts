import type { Clock } from '../core/clock.ts'
import type { Log } from './log.ts'

interface OutageOptions {
  log: Log
  clock: Pick<Clock, 'now'>
  /** The line at its start. */
  down: string
  /** The line at its end. */
  up: string
}

/** One thing that may stop working. It logs a line when that begins and one when it ends, however many requests fail. */
export interface Outage {
  /** `fields` are of the first failure. */
  failed(fields: Record<string, unknown>): void
  worked(fields?: Record<string, unknown>): void
}

export function openOutage({ log, clock, down, up }: OutageOptions): Outage {
  let [failures, since] = [0, 0]
  return {
    failed(fields) {
      failures += 1
      if (failures > 1) return
      since = clock.now()
      log.error(down, fields)
    },
    worked(fields = {}) {
      if (failures === 0) return
      log.info(up, { ...fields, failures, seconds: Math.max(0, Math.round((clock.now() - since) / 1000)) })
      failures = 0
    },
  }
}
