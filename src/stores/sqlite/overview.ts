import type { DatabaseSync } from 'node:sqlite'
import type { UnfinishedState } from '../../core/task.ts'
import { mostHeads } from '../../core/turns.ts'
import type { Store } from '../store.ts'

/** What is unfinished, for the operator. Counts in indexes; runs on the main thread. */
export function prepareOverview(reader: DatabaseSync): Pick<Store, 'countUnfinished' | 'oldestQueued'> {
  const fetching = reader.prepare(
    "SELECT count(*) AS count FROM tasks INDEXED BY tasks_fetching WHERE state = 'fetching'",
  )
  const queued = reader.prepare("SELECT count(*) AS count FROM tasks INDEXED BY tasks_queue WHERE state = 'queued'")
  const others = reader.prepare(
    `SELECT state, count(*) AS count FROM tasks INDEXED BY tasks_work
     WHERE state IN ('held', 'running', 'storing') GROUP BY state`,
  )
  // By steps from one queue to the next in the index.
  const next = reader.prepare(
    `SELECT card, owner, created_at FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND (card, owner) > (?, ?) ORDER BY card, owner, due_at LIMIT 1`,
  )
  return {
    async countUnfinished() {
      const counts = new Map(others.all().map(({ state, count }) => [String(state), Number(count)]))
      const of = (state: UnfinishedState) => counts.get(state) ?? 0
      return {
        fetching: Number(fetching.get()?.count),
        queued: Number(queued.get()?.count),
        held: of('held'),
        running: of('running'),
        storing: of('storing'),
      }
    },
    async oldestQueued() {
      const oldest = new Map<string, number>()
      let row = next.get('', '')
      for (let count = 0; row && count < mostHeads; count += 1) {
        const [card, at] = [String(row.card), Number(row.created_at)]
        oldest.set(card, Math.min(at, oldest.get(card) ?? at))
        row = next.get(card, String(row.owner))
      }
      return oldest
    },
  }
}
