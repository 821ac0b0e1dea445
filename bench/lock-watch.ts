import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

/** Not more often: its queries are part of what the bench measures of the database. */
const everyMs = 50

/** Watches how much of their time the connections of the service spend waiting for locks of others. */
export async function watchLocks(url: string): Promise<{ end(): Promise<number> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const stop = new AbortController()
  const looking = look(client, stop.signal)
  return {
    /** Returns the share of the time. It exceeds 1 if several wait at once. */
    async end() {
      stop.abort()
      return looking.finally(() => client.end())
    },
  }
}

async function look(client: pg.Client, signal: AbortSignal): Promise<number> {
  let [looks, waiting] = [0, 0]
  while (!signal.aborted) {
    const { rowCount } = await client.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'filmgate' AND wait_event_type = 'Lock'
         AND datname = current_database()`,
    )
    looks += 1
    waiting += rowCount ?? 0
    await pause(everyMs)
  }
  return waiting / Math.max(1, looks)
}
