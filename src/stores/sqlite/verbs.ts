import type { DatabaseSync } from 'node:sqlite'
import type { Task } from '../../core/task.ts'
import type { Token } from '../../core/token.ts'
import type { Claim, Lease } from '../store.ts'
import { columns, fromRow, mutableColumns, toMutable, toRow } from './rows.ts'

/** Everything that can be written, by name; runs in the writer thread, inside a transaction that it opened. */
export type Verbs = ReturnType<typeof prepareVerbs>
export type Unit = { [Name in keyof Verbs]: { verb: Name; args: Parameters<Verbs[Name]> } }[keyof Verbs]

export function prepareVerbs(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO tasks (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const record = database.prepare(
    `UPDATE tasks SET ${mutableColumns.map((name) => `${name} = ?`).join(', ')}, leased = 0
     WHERE id = ? AND fence = ? AND leased = 1`,
  )
  const remove = database.prepare('DELETE FROM tasks WHERE id = ? AND fence = ? AND leased = 1')
  const renew = database.prepare('UPDATE tasks SET due_at = ? WHERE id = ? AND fence = ? AND leased = 1')
  const claim = database.prepare(claimStatement('tasks_due', 'state = :state'))
  const claimOf = database.prepare(claimStatement('tasks_provider_due', 'provider = :provider AND state = :state'))
  // A task that is being submitted counts as running: two claims in a row must not overbook.
  const busy = database.prepare(
    `SELECT count(*) AS busy FROM tasks INDEXED BY tasks_provider_due
     WHERE provider = ? AND state = 'running' AND due_at IS NOT NULL
     UNION ALL
     SELECT count(*) FROM tasks INDEXED BY tasks_provider_due
     WHERE provider = ? AND state = 'queued' AND leased = 1 AND due_at > ?`,
  )
  const insertToken = database.prepare('INSERT INTO tokens (name, digest, models, created_at) VALUES (?, ?, ?, ?)')

  return {
    insert(task: Task): void {
      insert.run(...toRow(task))
    },
    claim(wanted: Claim): Task[] {
      const { state, provider, now, leaseUntil } = wanted
      if (provider === undefined) return claim.all({ state, now, leaseUntil, limit: wanted.limit }).map(fromRow)
      const running = busy.all(provider, provider, now).reduce((sum, row) => sum + Number(row.busy), 0)
      const limit = Math.min(wanted.limit, (wanted.cap ?? Number.POSITIVE_INFINITY) - running)
      return limit > 0 ? claimOf.all({ provider, state, now, leaseUntil, limit }).map(fromRow) : []
    },
    renew(leases: readonly Lease[], leaseUntil: number): Lease[] {
      return leases.filter(({ id, fence }) => renew.run(leaseUntil, id, fence).changes === 0)
    },
    record(task: Task): boolean {
      return record.run(...toMutable(task), task.id, task.fence).changes === 1
    },
    remove({ id, fence }: Lease): boolean {
      return remove.run(id, fence).changes === 1
    },
    insertToken(token: Token, createdAt: number): void {
      insertToken.run(token.name, token.digest, JSON.stringify(token.models), createdAt)
    },
  }
}

function claimStatement(index: string, condition: string): string {
  return `
    UPDATE tasks SET fence = fence + 1, leased = 1, due_at = :leaseUntil
    WHERE id IN (
      SELECT id FROM tasks INDEXED BY ${index}
      WHERE ${condition} AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    )
    RETURNING ${columns.join(', ')}`
}
