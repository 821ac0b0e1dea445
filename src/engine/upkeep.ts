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

/** How long a client may have been away and still learn what happened meanwhile. */
export const noticesKeptMs = 24 * 3_600_000

const everyMs = 60_000

/** Drops what nobody will ask for any more, now and then every minute. */
export function startUpkeep({ store, clock, log }: UpkeepOptions): AsyncDisposable {
  const stop = new AbortController()
  /** Each drops so many at most, and says how many it did. */
  const trims = {
    'old notices': () => store.trimNotices(clock.now() - noticesKeptMs, stepRows),
    'old deliveries': () => store.trimDeliveries(clock.now() - deliveriesKeptMs, stepRows),
    'deliveries to deleted endpoints': () => store.trimStrayDeliveries(stepRows),
  }

  async function trim(what: string, step: () => Promise<number>): Promise<void> {
    try {
      while (!stop.signal.aborted) if ((await step()) < stepRows) return
    } catch (error) {
      // A store that is away is asked again in a minute.
      log.warn(`${what} could not be dropped`, { cause: error })
    }
  }
  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      for (const [what, step] of Object.entries(trims)) await trim(what, step)
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
