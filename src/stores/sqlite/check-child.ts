import { DatabaseSync } from 'node:sqlite'

/*
 * A process of its own that looks through a database, because SQLite can't be interrupted in the middle of that: it is
 * killed when its time is over. It says each thing as soon as it knows it.
 */
export type Told =
  | { tables: string[] }
  /** Empty if it is sound. */
  | { table: string; faults: string[] }
  | { unopened: string; errcode: number }

const say = (told: Told) => process.stdout.write(`${JSON.stringify(told)}\n`)
const reasonOf = (error: unknown) => (error as Error).message
const mostFaults = 5

function lookThrough(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true })
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    .all()
    .map(({ name }) => String(name))
  say({ tables })
  for (const table of tables) say({ table, faults: faultsOf(database, table) })
}

/** It may say which pages are damaged before it fails over them. */
function faultsOf(database: DatabaseSync, table: string): string[] {
  const faults: string[] = []
  try {
    for (const { quick_check: text } of database.prepare(`PRAGMA quick_check(${JSON.stringify(table)})`).iterate()) {
      if (text !== 'ok') faults.push(String(text).replaceAll('\n', ' '))
      if (faults.length === mostFaults) break
    }
  } catch (error) {
    faults.push(reasonOf(error))
  }
  return faults
}

try {
  lookThrough(process.argv[2] ?? '')
} catch (error) {
  say({ unopened: reasonOf(error), errcode: (error as { errcode?: number }).errcode ?? 0 })
}
