import { accountScope, lineUp, type Queue } from '../../core/turns.ts'
import type { Store } from '../store.ts'
import type { Query } from './session.ts'

/** Who waits for a card, and in which order. */
export function openLines(query: Query): Store['queueOf'] {
  return async (card, limit) => {
    const queues = (await findQueues(query, [card])).sort((one, other) => one.served - other.served)
    // Of those behind these nobody has a place.
    const owners = queues.slice(0, limit).map(({ owner }) => owner)
    return lineUp(owners.length, limit, async (each) => {
      const rows = await query(lineStatement, [card, owners, each])
      const lines = Map.groupBy(rows, ({ owner }) => String(owner))
      return owners.map((owner) => (lines.get(owner) ?? []).map(({ id }) => String(id)))
    })
  }
}

/** Counted in an index. */
export function openInWork(query: Query): Store['inWork'] {
  return async (accounts) => {
    const [row] = await query('SELECT count(*) AS used FROM slots WHERE scope = ANY($1)', [accounts.map(accountScope)])
    return Number(row?.used)
  }
}

/** One that is under lease is about to be sent. */
const lineStatement = `SELECT asked.owner, line.id FROM unnest($2::text[]) AS asked (owner), LATERAL (
    SELECT id, due_at FROM tasks
    WHERE state = 'queued' AND card = $1::text COLLATE "C" AND owner = asked.owner COLLATE "C"
      AND due_at IS NOT NULL AND NOT leased AND deleted_at IS NULL
    ORDER BY due_at LIMIT $3
  ) AS line ORDER BY line.due_at`

/** Who waits, by steps from one (card, owner) to the next in the index: however long the queues, only they are read. */
export async function findQueues(query: Query, cards: readonly string[]): Promise<Queue[]> {
  const rows = await query(
    `WITH RECURSIVE queues AS (
       SELECT first.* FROM unnest($1::text[]) AS asked (card), LATERAL (
         SELECT card, owner FROM tasks WHERE state = 'queued' AND tasks.card = asked.card COLLATE "C"
         ORDER BY card, owner LIMIT 1
       ) AS first
       UNION ALL
       SELECT next.* FROM queues, LATERAL (
         SELECT card, owner FROM tasks
         WHERE state = 'queued' AND tasks.card = queues.card AND tasks.owner > queues.owner
         ORDER BY card, owner LIMIT 1
       ) AS next
     )
     SELECT card, owner, coalesce(served, 0) AS served FROM queues LEFT JOIN turns USING (card, owner)`,
    [cards],
  )
  return rows.map(({ card, owner, served }) => ({ card: String(card), owner: String(owner), served: Number(served) }))
}
