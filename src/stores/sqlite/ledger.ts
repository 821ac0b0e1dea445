import type { DatabaseSync } from 'node:sqlite'
import { type Attempt, type AttemptFact, operationKey, overruled } from '../../core/attempt.ts'
import type { NewNotice } from '../../core/notice.ts'
import { json } from '../../core/row.ts'
import type { Json, TaskEvent } from '../../core/task.ts'
import { removedMs } from '../../core/timing.ts'

/** Attempts, events and notices; runs in the writer thread, inside its transaction. */
export function prepareLedger(database: DatabaseSync) {
  const open = database.prepare(
    `INSERT INTO attempts (id, task, number, account, key_version, upstream_model, opened_at, state)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  // The first answer stays: a later one changes nothing but what nobody knew.
  const settle = database.prepare(
    `UPDATE attempts SET operation = ?2, settled_at = ?3, problem = ?4, adopted = ?6, state = CASE
       WHEN state = 'abandoned' AND ?5 = 'accepted' THEN 'orphan'
       WHEN state = 'abandoned' AND ?5 = 'open' THEN 'abandoned'
       ELSE ?5 END
     WHERE id = ?1 AND state IN ('open', 'abandoned')`,
  )
  const adopter = database.prepare(
    `SELECT id, task FROM attempts INDEXED BY attempts_operation
     WHERE account = ? AND operation = ? AND operation IS NOT NULL AND adopted = 1`,
  )
  const holdAgain = database.prepare(
    `UPDATE tasks SET state = 'held', operation = NULL, output = NULL, missing_at = NULL, tries = 0, due_at = :now,
       leased = 0, fence = fence + 1
     WHERE id = :task AND attempt = :attempt AND state IN ('running', 'storing')`,
  )
  const takeFrom = database.prepare(
    'UPDATE attempts SET state = ?2, operation = NULL, adopted = NULL, settled_at = ?3, problem = ?4 WHERE id = ?1',
  )
  const orphan = database.prepare("UPDATE attempts SET state = 'orphan' WHERE id = ? AND state = 'accepted'")
  const wake = database.prepare(
    `UPDATE tasks SET due_at = iif(leased, due_at, 0)
     WHERE id = (SELECT task FROM attempts WHERE id = ?1) AND attempt = ?1 AND state = 'held'`,
  )
  const note = database.prepare('INSERT INTO events (task, at, name, detail) VALUES (?, ?, ?, ?)')
  const tell = database.prepare('INSERT INTO notices (owner, task, at, kind) VALUES (?, ?, ?, ?)')
  const trim = database.prepare(
    `DELETE FROM notices WHERE number IN (SELECT number FROM notices ORDER BY number LIMIT ?2)
     AND at < ?1 AND number < (SELECT max(number) FROM notices)`,
  )
  const forgetEvents = database.prepare('DELETE FROM events WHERE task = ?')
  const forgetAttempts = database.prepare(
    "DELETE FROM attempts WHERE task = ? AND state NOT IN ('open', 'abandoned', 'orphan', 'removed')",
  )
  const keepBound = database.prepare("UPDATE attempts SET state = 'removed' WHERE task = ? AND state = 'accepted'")
  const trimRemoved = database.prepare(
    `DELETE FROM attempts WHERE id IN (
       SELECT id FROM attempts INDEXED BY attempts_removed WHERE state = 'removed' AND opened_at < (
         SELECT max(opened_at) FROM attempts INDEXED BY attempts_removed WHERE state = 'removed'
       ) - ${removedMs} LIMIT 10)`,
  )
  const abandon = database.prepare("UPDATE attempts SET state = 'abandoned' WHERE task = ? AND state = 'open'")

  return {
    open(attempt: Attempt): void {
      const { id, task, number, account, keyVersion, upstreamModel, openedAt, state } = attempt
      open.run(id, task, number, account, keyVersion, upstreamModel, openedAt, state)
    },
    /**
     * `current` is the attempt of the task as its holder has just recorded it. Without one it comes late, from somebody
     * who holds the task no more: if the task still waits for it, it is due now.
     */
    settle(fact: AttemptFact, current: string | null | undefined): void {
      const { id, state, operation, settledAt, problem, adopted } = fact
      const { changes } = settle.run(id, toOperation(operation), settledAt, json(problem), state, adopted ? 1 : null)
      if (changes === 0) return
      const awaited = current === undefined ? wake.run(id).changes === 1 : current === id
      if (!awaited) orphan.run(id)
    },
    disown(account: string, operation: Json, now: number): string | null {
      const found = adopter.get(account, toOperation(operation))
      if (!found) return null
      const [attempt, task] = [String(found.id), String(found.task)]
      const isHeldAgain = holdAgain.run({ task, attempt, now }).changes === 1
      takeFrom.run(attempt, isHeldAgain ? 'open' : 'abandoned', isHeldAgain ? null : now, json(overruled))
      if (isHeldAgain) note.run(task, now, 'adoption overruled', json({ attempt }))
      return attempt
    },
    /** Nobody waits for it any more. Only one that was accepted becomes an orphan. */
    orphan: (id: string) => void orphan.run(id),
    note(task: string, events: readonly TaskEvent[]): void {
      for (const { at, name, detail } of events) note.run(task, at, name, json(detail))
    },
    tell: ({ owner, task, at, kind }: NewNotice) => void tell.run(owner, task, at, kind),
    trimNotices: (before: number, limit: number) => Number(trim.run(before, limit).changes),
    /** What may have cost money and is nobody's stays. */
    forget(task: string): void {
      forgetEvents.run(task)
      abandon.run(task)
      keepBound.run(task)
      forgetAttempts.run(task)
      trimRemoved.run()
    },
  }
}

/** As the unique index compares it. */
function toOperation(operation: Json): string | null {
  return operation === null ? null : operationKey(operation)
}
