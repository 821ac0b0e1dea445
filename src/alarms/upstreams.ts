import type { Clock } from '../core/clock.ts'
import type { UpstreamSight } from '../outbound.ts'
import type { Alarms } from '../telemetry/alarms.ts'

interface UpstreamOptions {
  alarms: Alarms
  clock: Clock
  /** The clock of this machine. That of a shared database may differ from it. */
  systemNow: () => number
  /** The subject of alarms about this process. */
  machine: string
}

/** More than a slow response and the whole seconds of a Date header explain. */
const mostSkewMs = 60_000
/** How long the time of a provider counts. */
const freshMs = 10 * 60_000

/** Watches the responses of providers: their clocks, and their certificates. */
export function watchUpstreams({ alarms, clock, systemNow, machine }: UpstreamOptions) {
  /** By how much the clock of each host is ahead of ours, and when that was seen. */
  const skews = new Map<string, { ms: number; at: number }>()
  let wasWrong = false
  return {
    see({ host, date, certificateFault }: UpstreamSight): void {
      if (date !== null) skews.set(host, { ms: date - clock.now(), at: clock.now() })
      // Another process may trust other authorities, or have another proxy.
      const subject = `${host} from ${machine}`
      if (certificateFault === undefined) alarms.clear('certificate_failing', subject)
      else alarms.raise('certificate_failing', subject, { code: certificateFault })
    },
    /** Compares the clock of this process with those of its database and its providers. */
    check(): void {
      const now = clock.now()
      for (const [host, { at }] of skews) if (Math.abs(now - at) > freshMs) skews.delete(host)
      const sorted = [...skews.values()].map(({ ms }) => ms).sort((a, b) => a - b)
      const database = now - systemNow()
      const isDatabase = Math.abs(database) > mostSkewMs
      // The one in the middle: a single provider may be wrong itself.
      const ms = isDatabase ? database : (sorted[Math.floor(sorted.length / 2)] ?? 0)
      const details = { against: isDatabase ? 'database' : 'providers', seconds: Math.round(ms / 1_000) }
      const isWrong = Math.abs(ms) > mostSkewMs
      if (isWrong) alarms.raise('clock_wrong', machine, details)
      // After a restart nothing is known before a provider responds.
      else if (sorted.length > 0 || wasWrong) alarms.clear('clock_wrong', machine)
      wasWrong = isWrong
    },
  }
}
