import type { UnfinishedState } from '../../core/task.ts'
import { mostHeads } from '../../core/turns.ts'
import type { Store } from '../store.ts'
import { byTime } from './claims.ts'
import type { Database } from './database.ts'

/** What is unfinished, for the operator. */
export function openOverview(database: Database): Pick<Store, 'countUnfinished' | 'oldestQueued'> {
  return {
    async countUnfinished() {
      const rows = await database.read(countStatement)
      const counts = new Map(rows.map(({ state, count }) => [String(state), Number(count)]))
      const of = (state: UnfinishedState) => counts.get(state) ?? 0
      return {
        fetching: of('fetching'),
        queued: of('queued'),
        held: of('held'),
        running: of('running'),
        storing: of('storing'),
      }
    },
    async oldestQueued() {
      const rows = await database.read(oldestStatement, [mostHeads])
      return new Map(rows.map(({ card, oldest }) => [String(card), Number(oldest)]))
    },
  }
}

/** Each part counts in an index of its own. */
const countStatement = `SELECT 'fetching' AS state, count(*) AS count FROM tasks WHERE state = 'fetching'
  UNION ALL SELECT 'queued', count(*) FROM tasks WHERE state = 'queued'
  UNION ALL SELECT state, count(*) FROM tasks
    WHERE state IN ('held', 'running', 'storing') AND ${byTime} GROUP BY state`

/** By steps from one queue to the next in the index. */
const oldestStatement = `WITH RECURSIVE heads AS (
    (SELECT card, owner, created_at FROM tasks WHERE state = 'queued' ORDER BY card, owner, due_at LIMIT 1)
    UNION ALL
    SELECT next.card, next.owner, next.created_at FROM heads, LATERAL (
      SELECT card, owner, created_at FROM tasks
      WHERE state = 'queued' AND (tasks.card, tasks.owner) > (heads.card, heads.owner)
      ORDER BY card, owner, due_at LIMIT 1
    ) AS next
  ) SELECT card, min(created_at) AS oldest FROM (SELECT * FROM heads LIMIT $1) AS first_heads GROUP BY card`
