import type { Clock } from '../core/clock.ts'
import { stepRows } from '../core/row.ts'
import { deliveriesKeptMs } from '../core/webhook.ts'
import type { DeliveryStore, NoticeStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface UpkeepOptions {
  store: DeliveryStore & NoticeStore
  clock: Clock
  log: Log
}

/** A client that reconnects within this time receives every notice that it missed. */
export const noticesKeptMs = 24 * 3_600_000

const everyMs = 60_000

/** Drops old notices and deliveries: at the start, and every minute. */
export function startUpkeep({ store, clock, log }: UpkeepOptions): AsyncDisposable {
  const stop = new AbortController()
  /** Each call drops at most `stepRows` rows and returns how many it dropped. */
  const trims = {
    'old notices': () => store.trimNotices(clock.now() - noticesKeptMs, stepRows),
    'old deliveries': () => store.trimDeliveries(clock.now() - deliveriesKeptMs, stepRows),
    'deliveries to deleted endpoints': () => store.trimStrayDeliveries(stepRows),
  }

  async function trim(rows: string, step: () => Promise<number>): Promise<void> {
    try {
      while (!stop.signal.aborted) if ((await step()) < stepRows) return
    } catch (error) {
      // The next try is in a minute.
      log.warn(`${rows} could not be dropped`, { cause: error })
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
