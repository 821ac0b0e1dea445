import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { queueLock } from '../src/stores/postgres/migrate.ts'

/** A claim holds the lock between its queries, too: a busy process holds it longer than an idle one. */
export interface LockUse {
  /** Share of the time in which it was held. */
  share: number
  claims: number
  /** How long one claim holds it, on average. */
  holdMs: number
}

const everyMs = 20

/** The server must have pg_stat_statements loaded, which also counts claims that found nothing. */
export async function watchLock(url: string): Promise<{ end(): Promise<LockUse> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  const stop = new AbortController()
  const [begun, before] = [performance.now(), await countClaims(client)]
  const looking = look(client, stop.signal)
  return {
    async end() {
      stop.abort()
      const share = await looking
      const claims = (await countClaims(client)) - before
      await client.end()
      return { share, claims, holdMs: (share * (performance.now() - begun)) / Math.max(1, claims) }
    },
  }
}

async function look(client: pg.Client, signal: AbortSignal): Promise<number> {
  let [looks, held] = [0, 0]
  while (!signal.aborted) {
    const { rowCount } = await client.query(
      "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND granted",
      [queueLock],
    )
    looks += 1
    held += rowCount ?? 0
    await pause(everyMs)
  }
  return held / Math.max(1, looks)
}

async function countClaims(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ calls: string }>(
    `SELECT coalesce(sum(calls), 0) AS calls FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid
     WHERE query LIKE 'SELECT pg_advisory_xact_lock%' AND datname = current_database()`,
  )
  return Number(rows[0]?.calls)
}
