import type { Clock } from './core/clock.ts'
import type { Log } from './log.ts'
import type { Store } from './stores/store.ts'

export interface UpkeepOptions {
  store: Store
  clock: Clock
  log: Log
}

/** How long a client may have been away and still learn what happened meanwhile. */
export const noticesKeptMs = 24 * 3_600_000

const everyMs = 60_000
/** So many at once, so that whoever writes meanwhile need not wait for long. */
const pageSize = 1_000

/** Drops what nobody will ask for any more, now and then every minute. */
export function startUpkeep({ store, clock, log }: UpkeepOptions): AsyncDisposable {
  const stop = new AbortController()

  async function trim(): Promise<void> {
    const before = clock.now() - noticesKeptMs
    while (!stop.signal.aborted) if ((await store.trimNotices(before, pageSize)) < pageSize) return
  }
  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      // A store that is away is asked again in a minute.
      await trim().catch((error) => log.warn('old notices could not be dropped', { cause: error }))
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
