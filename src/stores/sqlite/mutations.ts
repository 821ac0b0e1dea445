import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { operationKey } from '../../core/attempt.ts'
import { type Before, type Mutation, needsOf, planOf } from '../../core/plan.ts'
import { attemptColumns, beforeColumns, toAttemptsBefore, toTasksBefore } from '../../core/row.ts'
import type { StatementShape, Write } from '../../core/statements.ts'
import type { Json } from '../../core/task.ts'

/**
 * Changes of tasks; runs in the writer thread, inside its transaction. They are planned here, not on the main thread:
 * the rows of a plan must not change before it is written, and the main thread is busy with polls.
 */
export function prepareMutations(database: DatabaseSync) {
  const readBefore = prepareBefore(database)
  const execute = prepareWrites(database)
  const adopter = database.prepare(
    `SELECT id, task FROM attempts INDEXED BY attempts_operation
     WHERE account = ? AND operation = ? AND operation IS NOT NULL AND adopted = 1`,
  )
  const trimRemoved = database.prepare(
    `DELETE FROM attempts WHERE id IN (
       SELECT id FROM attempts INDEXED BY attempts_removed WHERE state = 'removed' AND opened_at < (
         SELECT max(opened_at) FROM attempts INDEXED BY attempts_removed WHERE state = 'removed'
       ) - ? LIMIT ?)`,
  )

  function mutate(mutation: Mutation): boolean {
    const { isApplied, writes } = planOf(mutation, readBefore(mutation))
    for (const write of writes) execute(write)
    return isApplied
  }
  return {
    mutate,
    disown(account: string, operation: Json, at: number): string | null {
      const found = adopter.get(account, operationKey(operation))
      if (!found) return null
      const [attempt, task] = [String(found.id), String(found.task)]
      mutate({ verb: 'disown', task, attempt, at })
      return attempt
    },
    trimRemovedAttempts: (keptMs: number, limit: number) => Number(trimRemoved.run(keptMs, limit).changes),
  }
}

function prepareBefore(database: DatabaseSync): (mutation: Mutation) => Before {
  const task = database.prepare(`SELECT ${beforeColumns.join(', ')} FROM tasks WHERE id = ?`)
  task.setReturnArrays(true)
  const attempt = database.prepare(`SELECT ${attemptColumns.join(', ')} FROM attempts WHERE id = ?`)
  const attemptsOf = database.prepare(`SELECT ${attemptColumns.join(', ')} FROM attempts WHERE task = ?`)
  const endpoints = database.prepare(
    'SELECT id, owner, event_types FROM endpoints WHERE owner = ? AND disabled_at IS NULL',
  )
  return (mutation) => {
    const tasks = toTasksBefore(task.all(mutation.task) as unknown as unknown[][])
    const needs = needsOf([mutation], tasks)
    const attempts = [
      ...needs.attempts.flatMap((id) => attempt.all(id)),
      ...needs.attemptsOf.flatMap((id) => attemptsOf.all(id)),
    ]
    return {
      tasks,
      attempts: toAttemptsBefore(attempts),
      endpoints: needs.owners.flatMap((owner) => endpoints.all(owner)),
    }
  }
}

export function prepareWrites(database: DatabaseSync): (write: Write) => void {
  const statements = new Map<StatementShape, StatementSync>()
  return ({ shape, values }) => {
    const statement = statements.get(shape) ?? database.prepare(statementText(shape))
    statements.set(shape, statement)
    statement.run(...values)
  }
}

function statementText({ verb, table, columns, skipsExisting }: StatementShape): string {
  const [key, ...others] = columns
  if (verb === 'add')
    return `UPDATE ${table} SET amount = amount + ?4 WHERE scope = ?1 AND currency = ?2 AND starts <= ?3 AND ?3 < ends`
  if (verb === 'delete') return `DELETE FROM ${table} WHERE ${key} = ?`
  if (verb === 'update')
    return `UPDATE ${table} SET ${others.map((name, at) => `${name} = ?${at + 2}`).join(', ')} WHERE ${key} = ?1`
  const once = skipsExisting ? `ON CONFLICT (${skipsExisting.join(', ')}) DO NOTHING` : ''
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ${once}`
}
