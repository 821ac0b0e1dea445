import type { Clock } from '../../core/clock.ts'
import type { Database } from './database.ts'

const everyMs = 10_000
const tries = 3

/**
 * A time that is never later than the clock of the database: a process with a wrong clock must not claim what others
 * hold. It is constant within a statement, so that the index is used.
 */
export const due = (now: string) => `least(${now}::bigint, (extract(epoch FROM now()) * 1000)::bigint)`

export interface DatabaseClock extends Clock, AsyncDisposable {
  /** Reads the clock of the database again: it may have been set. */
  measure(): Promise<void>
}

/**
 * The clock of the database, which all processes share: a lease ends at the same time for each, whatever the clocks of
 * the machines say. Between two measurements the monotonic clock of this machine counts.
 */
export async function followClock(
  database: Database,
  monotonic: () => number,
  sleep: Clock['sleep'],
): Promise<DatabaseClock> {
  const stop = new AbortController()
  let offset = await measureOffset(database, monotonic)

  async function measure(): Promise<void> {
    // If the database is unavailable, the last offset is good enough.
    offset = await measureOffset(database, monotonic).catch(() => offset)
  }
  async function follow(): Promise<void> {
    for (;;) {
      await sleep(everyMs, stop.signal)
      if (stop.signal.aborted) return
      await measure()
    }
  }
  const following = follow()
  return {
    now: () => Math.round(monotonic() + offset),
    sleep,
    measure,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await following
    },
  }
}

/** The difference of the two clocks. The quickest of the tries is the most exact. */
async function measureOffset(database: Database, monotonic: () => number): Promise<number> {
  let best = { took: Number.POSITIVE_INFINITY, offset: 0 }
  for (let at = 0; at < tries; at += 1) {
    const sentAt = monotonic()
    const [row] = await database.read('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')
    const took = monotonic() - sentAt
    if (took < best.took) best = { took, offset: Number(row?.now) - sentAt - took / 2 }
  }
  return best.offset
}
