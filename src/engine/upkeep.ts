import { isLocalName } from '../core/account.ts'
import { alarmsKeptMs } from '../core/alarms.ts'
import type { Clock } from '../core/clock.ts'
import { openOutages } from '../core/outage.ts'
import { stepRows } from '../core/row.ts'
import { removedMs } from '../core/timing.ts'
import { deliveriesKeptMs } from '../core/webhook.ts'
import type { AlarmStore, AttemptStore, DeliveryStore, HealthStore, NoticeStore, UsageStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface UpkeepOptions {
  store: AttemptStore &
    DeliveryStore &
    HealthStore &
    NoticeStore &
    Pick<UsageStore, 'trimUsage'> &
    Pick<AlarmStore, 'trimAlarms'>
  clock: Clock
  log: Log
  /** How long the usage of ended tasks is kept. */
  usageRetentionMs: number
}

/** A client that reconnects within this time receives every notice that it missed. */
export const noticesKeptMs = 24 * 3_600_000

/** How long after its last report a process is forgotten. */
export const reportsKeptMs = 24 * 3_600_000

const everyMs = 60_000

/** Drops rows that are not needed any more: at the start, and every minute. */
export function startUpkeep({ store, clock, log, usageRetentionMs }: UpkeepOptions): AsyncDisposable {
  const stop = new AbortController()
  const lines = { down: 'old rows could not be dropped', up: 'old rows are dropped again' }
  const outages = openOutages({ log, clock, ...lines, level: 'warn' })
  /** Each call returns how many rows it dropped: fewer than `stepRows` if none are left. */
  const trims = {
    'old notices': () => store.trimNotices(clock.now() - noticesKeptMs, stepRows),
    'old deliveries': () => store.trimDeliveries(clock.now() - deliveriesKeptMs, stepRows),
    'deliveries to deleted endpoints': () => store.trimStrayDeliveries(stepRows),
    'attempts of removed tasks': () => store.trimRemovedAttempts(removedMs, stepRows),
    'reports of ended processes': () => trimReports(clock.now() - reportsKeptMs),
    'old usage': () => store.trimUsage(clock.now() - usageRetentionMs, stepRows),
    'old alarms': () => store.trimAlarms(clock.now() - alarmsKeptMs, stepRows),
  }

  /** Each process that works reports under the names of its local accounts, or under its own. */
  async function trimReports(before: number): Promise<number> {
    const old = (await store.healths()).filter(({ account, changedAt }) => isLocalName(account) && changedAt < before)
    return old.length === 0
      ? 0
      : store.trimHealths(
          old.map(({ account }) => account),
          before,
        )
  }

  async function trim(rows: string, step: () => Promise<number>): Promise<void> {
    try {
      while (!stop.signal.aborted && (await step()) >= stepRows);
      outages.worked(rows, { rows })
    } catch (error) {
      // The next try is in a minute.
      outages.failed(rows, { rows, cause: error })
    }
  }
  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      for (const [rows, step] of Object.entries(trims)) await trim(rows, step)
      await clock.sleep(everyMs, stop.signal)
    }
  }
  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
