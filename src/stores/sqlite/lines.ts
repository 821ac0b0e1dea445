import type { DatabaseSync } from 'node:sqlite'
import { accountScope, lineUp, type Queue } from '../../core/turns.ts'
import type { Store } from '../store.ts'

/** Who waits for a card, by steps from one to the next in the index. */
export function prepareQueues(database: DatabaseSync): (card: string) => Queue[] {
  const first = "SELECT min(owner) FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card = ?1"
  const queues = database.prepare(
    `WITH RECURSIVE queues (owner) AS (
       ${first} UNION ALL SELECT (${first} AND tasks.owner > queues.owner) FROM queues WHERE owner IS NOT NULL
     )
     SELECT queues.owner, coalesce(served, 0) AS served FROM queues
     LEFT JOIN turns ON turns.card = ?1 AND turns.owner = queues.owner WHERE queues.owner IS NOT NULL`,
  )
  return (card) => queues.all(card).map(({ owner, served }) => ({ card, owner: String(owner), served: Number(served) }))
}

/** Counted in an index. */
export function prepareInWork(reader: DatabaseSync): Store['inWork'] {
  const used = reader.prepare('SELECT count(*) AS used FROM slots WHERE scope = ?')
  return async (accounts) => accounts.reduce((sum, name) => sum + Number(used.get(accountScope(name))?.used), 0)
}

/** In which order they wait; only read, on the main thread, so that one statement reads the lines of all. */
export function prepareLines(reader: DatabaseSync): Store['queueOf'] {
  const queuesOf = prepareQueues(reader)
  // One that is under lease is about to be sent.
  const lines = reader.prepare(
    `SELECT (SELECT json_group_array(id) FROM (
       SELECT id FROM tasks INDEXED BY tasks_queue
       WHERE state = 'queued' AND card = ?1 AND owner = asked.value AND due_at IS NOT NULL AND leased = 0
         AND deleted_at IS NULL
       ORDER BY due_at LIMIT ?3
     )) AS ids FROM json_each(?2) AS asked ORDER BY asked.key`,
  )
  return async (card, limit) => {
    const queues = queuesOf(card).sort((one, other) => one.served - other.served)
    // Of those behind these nobody has a place.
    const owners = queues.slice(0, limit).map(({ owner }) => owner)
    return lineUp(owners.length, limit, async (each) =>
      lines.all(card, JSON.stringify(owners), each).map(({ ids }) => JSON.parse(String(ids)) as string[]),
    )
  }
}
