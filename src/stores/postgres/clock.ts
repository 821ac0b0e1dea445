import type { Clock } from '../../core/clock.ts'
import type { Database } from './database.ts'

const everyMs = 10_000
const tries = 3

/**
 * Nobody's clock runs ahead of the database's here: a process whose own is wrong must not take what others hold. It is
 * stable within a statement, so that the index is used.
 */
export const due = (now: string) => `least(${now}::bigint, (extract(epoch FROM now()) * 1000)::bigint)`

export interface DatabaseClock extends Clock, AsyncDisposable {
  /** Asks the database now: its time has turned out to be another. */
  look(): Promise<void>
}

/**
 * The database's time, which all its processes share: leases end for everybody at once, whatever the clocks of the
 * machines say. Between two looks it is counted by this machine's monotonic clock, which nobody sets.
 */
export async function followClock(
  database: Database,
  monotonic: () => number,
  sleep: Clock['sleep'],
): Promise<DatabaseClock> {
  const stop = new AbortController()
  let offset = await measure(database, monotonic)

  async function look(): Promise<void> {
    // Where the database can't be asked, the last answer is good enough.
    offset = await measure(database, monotonic).catch(() => offset)
  }
  async function follow(): Promise<void> {
    for (;;) {
      await sleep(everyMs, stop.signal)
      if (stop.signal.aborted) return
      await look()
    }
  }
  const following = follow()
  return {
    now: () => Math.round(monotonic() + offset),
    sleep,
    look,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await following
    },
  }
}

/** How far the database's clock is from ours. The quickest answer is the least wrong. */
async function measure(database: Database, monotonic: () => number): Promise<number> {
  let best = { took: Number.POSITIVE_INFINITY, offset: 0 }
  for (let at = 0; at < tries; at += 1) {
    const asked = monotonic()
    const [row] = await database.read('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')
    const took = monotonic() - asked
    if (took < best.took) best = { took, offset: Number(row?.now) - asked - took / 2 }
  }
  return best.offset
}
