import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../core/problem.ts'

/*
 * Checks a database in a process of its own: SQLite can't interrupt a check, so the parent kills the process when its
 * time is over. It reports each table as soon as that is checked.
 */
export type CheckMessage =
  | { tables: string[] }
  /** `faults` is empty if the table is sound. */
  | { table: string; faults: string[] }
  | { unopened: string; errcode: number }

const report = (message: CheckMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)
const mostFaults = 5

function check(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true })
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    .all()
    .map(({ name }) => String(name))
  report({ tables })
  for (const table of tables) report({ table, faults: faultsOf(database, table) })
}

/** SQLite may list damaged pages before it fails. */
function faultsOf(database: DatabaseSync, table: string): string[] {
  const faults: string[] = []
  try {
    for (const { quick_check: text } of database.prepare(`PRAGMA quick_check(${JSON.stringify(table)})`).iterate()) {
      if (text !== 'ok') faults.push(String(text).replaceAll('\n', ' '))
      if (faults.length === mostFaults) break
    }
  } catch (error) {
    faults.push(messageOf(error))
  }
  return faults
}

try {
  check(process.argv[2] ?? '')
} catch (error) {
  report({ unopened: messageOf(error), errcode: (error as { errcode?: number }).errcode ?? 0 })
}
