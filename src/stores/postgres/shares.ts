import { columns, fromRow, readable } from '../../core/row.ts'
import type { SharedLane, Store } from '../store.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import { lanes } from './reads.ts'

/** As long as other claims have. */
const withinMs = 3_000

/** Lanes that owners share. */
export function openShares(database: Database): Pick<Store, 'dueOwners' | 'claimShares'> {
  const accountOf = (lane: SharedLane) => ('account' in lane ? lane.account : '')
  return {
    async dueOwners(lane, now) {
      const rows = await database.read(ownersStatement(lane), [accountOf(lane), now])
      return rows.map(({ owner }) => String(owner))
    },
    async claimShares(lane, shares, { now, leaseUntil }) {
      const [owners, limits] = [shares.map(({ owner }) => owner), shares.map(({ limit }) => limit)]
      const values = [accountOf(lane), now, leaseUntil, owners, limits]
      return readable(await database.write((query) => query(claimStatement(lane), values), withinMs), fromRow)
    },
  }
}

/** The first value is said once more, for it needs a type where the lane has no account. */
const whereOf = ({ state }: SharedLane) => `$1::text IS NOT NULL AND ${lanes[state].where}`

/** From one owner to the next in the index. */
function ownersStatement(lane: SharedLane): string {
  const first = (more: string) =>
    `SELECT owner, due_at FROM tasks WHERE ${whereOf(lane)} AND due_at IS NOT NULL ${more} ORDER BY owner, due_at LIMIT 1`
  return `WITH RECURSIVE waiting AS (
      (${first('')})
      UNION ALL
      SELECT next.* FROM waiting, LATERAL (${first('AND tasks.owner > waiting.owner')}) AS next
    )
    SELECT owner FROM waiting WHERE due_at <= ${due('$2')} ORDER BY due_at`
}

/** An array, not a subquery: PostgreSQL would expect a tenth of all tasks to come from that, and read the whole table. */
function claimStatement(lane: SharedLane): string {
  return `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3 WHERE id = ANY(ARRAY(
      SELECT head.id FROM unnest($4::text[], $5::bigint[]) AS asked (owner, most), LATERAL (
        SELECT id FROM tasks
        WHERE ${whereOf(lane)} AND tasks.owner = asked.owner COLLATE "C" AND due_at <= ${due('$2')}
        ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
      ) AS head
    )) RETURNING ${columns.join(', ')}`
}
