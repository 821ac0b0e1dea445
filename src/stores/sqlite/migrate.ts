import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

const folder = new URL('../migrations/sqlite/', import.meta.url)

/** Brings the schema up to date, all or nothing. Writes nothing if it is: the disk may be full. */
export function migrate(database: DatabaseSync): void {
  if (missingMigrations(database).length === 0) return
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const name of missingMigrations(database)) database.exec(readFileSync(new URL(name, folder), 'utf8'))
    database.exec(`PRAGMA user_version = ${allMigrations().length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** The files that are not applied yet. Refuses a database of a newer Filmgate. */
export function missingMigrations(database: DatabaseSync): string[] {
  const files = allMigrations()
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > files.length)
    throw new Error('the data folder was written by a newer version of Filmgate; upgrade Filmgate')
  return files.slice(version)
}

function allMigrations(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
}
