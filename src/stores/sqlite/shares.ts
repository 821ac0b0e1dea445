import type { DatabaseSync } from 'node:sqlite'
import { columns, fromRow, readable } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import type { OwnerClaim, SharedLane, Store } from '../store.ts'

/** Where the tasks of each shared lane are; `account` is empty where the lane has none. */
const lanes: Record<SharedLane['state'], string> = {
  fetching: "INDEXED BY tasks_fetching WHERE state = 'fetching' AND :account = ''",
  storing: "INDEXED BY tasks_storing WHERE state = 'storing' AND account = :account",
}

const accountOf = (lane: SharedLane) => ('account' in lane ? lane.account : '')

function prepareEach(database: DatabaseSync, statement: (from: string) => string) {
  const { fetching, storing } = lanes
  return { fetching: database.prepare(statement(fetching)), storing: database.prepare(statement(storing)) }
}

/** Runs in the writer thread, inside its transaction. */
export function prepareShares(database: DatabaseSync) {
  const claims = prepareEach(
    database,
    (from) => `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = :leaseUntil WHERE id IN (
      SELECT id FROM tasks ${from} AND owner = :owner AND due_at <= :now ORDER BY due_at LIMIT :limit
    ) RETURNING ${columns.join(', ')}`,
  )
  return {
    claimShares(lane: SharedLane, shares: readonly OwnerClaim[], times: { now: number; leaseUntil: number }): Task[] {
      const account = accountOf(lane)
      return shares.flatMap((share) => readable(claims[lane.state].all({ account, ...share, ...times }), fromRow))
    },
  }
}

/** Only read, on the main thread: by steps from one owner to the next in the index. */
export function prepareDueOwners(reader: DatabaseSync): Store['dueOwners'] {
  const next = prepareEach(
    reader,
    (from) => `SELECT owner, due_at FROM tasks ${from} AND owner > :after AND due_at IS NOT NULL
      ORDER BY owner, due_at LIMIT 1`,
  )
  return async (lane, now) => {
    const account = accountOf(lane)
    const due: { owner: string; dueAt: number }[] = []
    const after = (owner: string) => next[lane.state].get({ account, after: owner })
    for (let row = after(''); row; row = after(String(row.owner)))
      if (Number(row.due_at) <= now) due.push({ owner: String(row.owner), dueAt: Number(row.due_at) })
    return due.sort((one, other) => one.dueAt - other.dueAt).map(({ owner }) => owner)
  }
}
