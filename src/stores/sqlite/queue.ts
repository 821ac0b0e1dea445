import type { DatabaseSync } from 'node:sqlite'
import { columns, fromRow, readable, toHead } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { takeInTurn } from '../../core/turns.ts'
import type { QueueClaim } from '../store.ts'
import { prepareQueues } from './lines.ts'

/** Queued tasks and the slots that they need; runs in the writer thread, inside its transaction. */
export function prepareQueue(database: DatabaseSync) {
  const queuesOf = prepareQueues(database)
  const lastTurn = database.prepare('SELECT coalesce(max(served), 0) AS served FROM turns')
  const serve = database.prepare(
    `INSERT INTO turns (card, owner, served) VALUES (?, ?, ?)
     ON CONFLICT (card, owner) DO UPDATE SET served = excluded.served`,
  )
  // More than one: where there is room for many, one claim takes many of one queue.
  const heads = database.prepare(
    `SELECT id, due_at, tried FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 100`,
  )
  const take = database.prepare(
    `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?, account = ? WHERE id = ? RETURNING ${columns.join(', ')}`,
  )
  const used = database.prepare('SELECT count(*) AS used FROM slots WHERE scope = ?')
  const book = database.prepare('INSERT INTO slots (scope, task) VALUES (?, ?)')
  const free = database.prepare('DELETE FROM slots WHERE task = ?')
  const left = "leased = 1 AND state = 'queued' AND due_at <= ?"
  const freeLeft = database.prepare(
    `DELETE FROM slots WHERE task IN (SELECT id FROM tasks INDEXED BY tasks_leased WHERE ${left})`,
  )
  const endLeft = database.prepare(`UPDATE tasks INDEXED BY tasks_leased SET leased = 0 WHERE ${left}`)

  /** Tasks that their claimers left before they opened an attempt. What holds their slots can't hold their lease. */
  function release(now: number): void {
    freeLeft.run(now)
    endLeft.run(now)
  }

  return {
    free: (task: string) => void free.run(task),
    release,
    claim(wanted: QueueClaim): { tasks: Task[]; nextDue: number | null } {
      release(wanted.now)
      const { taken, nextDue } = takeInTurn(
        wanted.cards.flatMap(({ card }) => queuesOf(card)),
        ({ card, owner }) => heads.all(card, owner).map(toHead),
        (scope) => Number(used.get(scope)?.used),
        wanted,
      )
      let turn = Number(lastTurn.get()?.served)
      const tasks = taken.flatMap(({ id, account, queue, scopes }) => {
        for (const scope of scopes) book.run(scope, id)
        turn += 1
        serve.run(queue.card, queue.owner, turn)
        return readable(take.all(wanted.leaseUntil, account, id), fromRow)
      })
      return { tasks, nextDue }
    },
  }
}
