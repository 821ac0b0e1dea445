import { figureColumns, mostOwners, toAttemptFigure, toQueueFigure, toWorkFigure } from '../../core/figures.ts'
import { accountScope } from '../../core/turns.ts'
import type { Store } from '../store.ts'
import { byTime } from './claims.ts'
import type { Database } from './database.ts'

/** One statement after the other, so that a scrape uses one connection, and none of them takes long. */
export function openFigures({ read }: Database, accountsInUse: Store['accountsInUse']): Pick<Store, 'figures'> {
  return {
    async figures({ accounts, mostCounted, mostAttempts }) {
      const cards = await read(cardStatement)
      const queues = await inOrder(cards, async ({ card }) => {
        const [row] = await read(queueStatement, [card, mostCounted])
        return toQueueFigure({ card, ...row })
      })
      const work = await inOrder(await accountsInUse(), async (account) => {
        const rows = await read(workStatement, [account, mostCounted])
        return rows.map((row) => toWorkFigure({ account, ...row }))
      })
      const slots = await read(slotStatement, [accounts.map(accountScope)])
      const used = new Map(slots.map((row) => [row.scope, Number(row.used)]))
      const [counts] = await read(countStatement, [mostCounted])
      const open = await read(attemptStatement('open', 'ASC'), [mostAttempts])
      const orphans = await read(attemptStatement('orphan', 'DESC'), [mostAttempts])
      const abandoned = await read(attemptStatement('abandoned', 'DESC'), [mostAttempts])
      return {
        queues,
        work: work.flat(),
        slots: accounts.map((account) => ({ account, used: used.get(accountScope(account)) ?? 0 })),
        fetching: Number(counts?.fetching),
        pendingDeliveries: Number(counts?.pending),
        open: open.map(toAttemptFigure),
        orphans: orphans.map(toAttemptFigure),
        abandoned: abandoned.map(toAttemptFigure),
      }
    },
  }
}

async function inOrder<Item, Result>(items: readonly Item[], read: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await read(item))
  return results
}

/** By steps from one card to the next in the index: a DISTINCT would read all queued tasks. */
const cardStatement = `WITH RECURSIVE cards AS (
    (SELECT card FROM tasks WHERE state = 'queued' ORDER BY card LIMIT 1)
    UNION ALL
    SELECT next.card FROM cards, LATERAL (
      SELECT card FROM tasks WHERE state = 'queued' AND card > cards.card ORDER BY card LIMIT 1
    ) AS next
  ) SELECT card FROM cards`

/**
 * In the order of an index, so that no plan reads the whole table. The same holds for the next ones. The oldest task is found
 * by steps from one owner to the next.
 */
const queueStatement = `WITH RECURSIVE heads AS (
    (SELECT owner, created_at FROM tasks WHERE state = 'queued' AND card = $1 ORDER BY owner, due_at LIMIT 1)
    UNION ALL
    SELECT next.owner, next.created_at FROM heads, LATERAL (
      SELECT owner, created_at FROM tasks
      WHERE state = 'queued' AND card = $1 AND tasks.owner > heads.owner ORDER BY owner, due_at LIMIT 1
    ) AS next
  ) SELECT
    (SELECT min(created_at) FROM (SELECT created_at FROM heads LIMIT ${mostOwners}) AS known) AS oldest,
    (SELECT count(*) FROM (
      SELECT 1 FROM tasks WHERE state = 'queued' AND card = $1 ORDER BY owner, due_at LIMIT $2
    ) AS first) AS tasks`

const workStatement = `SELECT wanted.state, counted.tasks
  FROM (VALUES ('held'), ('running'), ('storing')) AS wanted (state), LATERAL (
    SELECT count(*) AS tasks FROM (
      SELECT 1 FROM tasks
      WHERE state IN ('held', 'running', 'storing') AND ${byTime} AND account = $1 AND state = wanted.state
      ORDER BY due_at LIMIT $2
    ) AS first
  ) AS counted`

const slotStatement = 'SELECT scope, count(*) AS used FROM slots WHERE scope = ANY($1) GROUP BY scope'

const countStatement = `SELECT
  (SELECT count(*) FROM (SELECT 1 FROM tasks WHERE state = 'fetching' ORDER BY owner LIMIT $1) AS first) AS fetching,
  (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE state = 'pending' ORDER BY endpoint LIMIT $1) AS first) AS pending`

/** The state is part of the text: with a parameter, the partial index could not be used. */
const attemptStatement = (state: 'open' | 'orphan' | 'abandoned', order: 'ASC' | 'DESC') =>
  `SELECT ${figureColumns} FROM (
     SELECT id, task, account, opened_at, problem FROM attempts WHERE state = '${state}' ORDER BY opened_at ${order} LIMIT $1
   ) AS attempts LEFT JOIN tasks ON tasks.id = attempts.task LEFT JOIN usages ON usages.id = attempts.id
   ORDER BY attempts.opened_at ${order}`
