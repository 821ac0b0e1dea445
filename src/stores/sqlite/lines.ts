import type { DatabaseSync } from 'node:sqlite'
import { lineUp, type Queue } from '../../core/turns.ts'
import type { Store } from '../store.ts'

/** Who waits for a card, by steps from one to the next in the index. */
export function prepareQueues(database: DatabaseSync): (card: string) => Queue[] {
  const nextOwner = database.prepare(
    `SELECT owner FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner > ? ORDER BY owner LIMIT 1`,
  )
  const turns = database.prepare('SELECT owner, served FROM turns WHERE card = ?')
  return (card) => {
    const served = new Map(turns.all(card).map((row) => [row.owner, Number(row.served)]))
    const queues: Queue[] = []
    for (let row = nextOwner.get(card, ''); row; row = nextOwner.get(card, String(row.owner)))
      queues.push({ card, owner: String(row.owner), served: served.get(row.owner) ?? 0 })
    return queues
  }
}

/** In which order they wait; only read, on the main thread. */
export function prepareLines(reader: DatabaseSync): Store['queueOf'] {
  const queuesOf = prepareQueues(reader)
  // One that is under lease is about to be sent.
  const line = reader.prepare(
    `SELECT id FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner = ? AND due_at IS NOT NULL AND leased = 0 AND deleted_at IS NULL
     ORDER BY due_at LIMIT ?`,
  )
  return async (card, limit) => {
    const queues = queuesOf(card).sort((one, other) => one.served - other.served)
    return lineUp(queues.length, limit, async (each) =>
      queues.map(({ owner }) => line.all(card, owner, each).map(({ id }) => String(id))),
    )
  }
}
