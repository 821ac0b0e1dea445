import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Task } from '../../core/task.ts'
import type { Token } from '../../core/token.ts'
import type { Claim, Lease } from '../store.ts'
import { columns, fromRow, mutableColumns, toMutable, type Value } from './rows.ts'

/** Everything that can be written, by name; runs in the writer thread, inside a transaction that it opened. */
export type Verbs = ReturnType<typeof prepareVerbs>
export type Unit = { [Name in keyof Verbs]: { verb: Name; args: Parameters<Verbs[Name]> } }[keyof Verbs]

export function prepareVerbs(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO tasks (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const record = database.prepare(recordStatement)
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
  const hide = database.prepare(
    `UPDATE tasks SET deleted_at = :now, due_at = iif(leased, due_at, :now)
     WHERE id = :id AND owner = :owner AND deleted_at IS NULL`,
  )
  const recover = database.prepare(recoverStatement)
  const insertToken = database.prepare('INSERT INTO tokens (name, digest, models, created_at) VALUES (?, ?, ?, ?)')

  const deleteToken = database.prepare('DELETE FROM tokens WHERE name = ?')

  return {
    insert(row: Value[]): void {
      insert.run(...row)
    },
    claim(wanted: Claim): Task[] {
      const { state, provider, now, leaseUntil } = wanted
      if (provider === undefined) return readable(claim.all({ state, now, leaseUntil, limit: wanted.limit }))
      const running = busy.all(provider, provider, now).reduce((sum, row) => sum + Number(row.busy), 0)
      const limit = Math.min(wanted.limit, (wanted.cap ?? Number.POSITIVE_INFINITY) - running)
      return limit > 0 ? readable(claimOf.all({ provider, state, now, leaseUntil, limit })) : []
    },
    renew(leases: readonly Lease[], leaseUntil: number): Lease[] {
      return leases.filter(({ id, fence }) => renew.run(leaseUntil, id, fence).changes === 0)
    },
    record(task: Task): boolean {
      return record.run(...toMutable(task), task.id, task.fence, task.deletedAt).changes === 1
    },
    remove({ id, fence }: Lease): boolean {
      return remove.run(id, fence).changes === 1
    },
    delete(owner: string, id: string, now: number): boolean {
      return hide.run({ owner, id, now }).changes === 1
    },
    recover(now: number): void {
      recover.run({ now, late: now + longestDelayMs })
    },
    deleteToken(name: string): void {
      deleteToken.run(name)
    },
    insertToken(token: Token, createdAt: number): void {
      insertToken.run(token.name, token.digest, JSON.stringify(token.models), createdAt)
    },
  }
}

/** No unfinished task is ever put off for longer than this. */
const longestDelayMs = 120_000

const [taskId, fence, deletedAt] = [1, 2, 3].map((place) => `?${mutableColumns.length + place}`)

/** A task that was deleted meanwhile is due at once, whatever was decided. */
const recordStatement = `
  UPDATE tasks SET leased = 0, ${mutableColumns
    .map(
      (name, at) => `${name} = ${name === 'due_at' ? `iif(deleted_at IS ${deletedAt}, ?${at + 1}, 0)` : `?${at + 1}`}`,
    )
    .join(', ')}
  WHERE id = ${taskId} AND fence = ${fence} AND leased = 1`

const recoverStatement = `
  UPDATE tasks INDEXED BY tasks_due SET due_at = :now
  WHERE state IN ('queued', 'running', 'storing') AND due_at > :late AND leased = 0`

function claimStatement(index: string, condition: string): string {
  return `
    UPDATE tasks SET fence = fence + 1, leased = 1, due_at = :leaseUntil
    WHERE id IN (
      SELECT id FROM tasks INDEXED BY ${index}
      WHERE ${condition} AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    )
    RETURNING ${columns.join(', ')}`
}

/** A row that can't be read keeps its lease and comes again: it must not hold up the others. */
function readable(rows: Record<string, SQLOutputValue>[]): Task[] {
  return rows.flatMap((row) => {
    try {
      return [fromRow(row)]
    } catch {
      return []
    }
  })
}
