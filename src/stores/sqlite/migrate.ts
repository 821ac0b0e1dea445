import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

const folder = new URL('../migrations/sqlite/', import.meta.url)

/** Brings the schema up to date, all or nothing. Refuses a database that a newer Filmgate wrote. */
export function migrate(database: DatabaseSync): void {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  database.exec('BEGIN IMMEDIATE')
  try {
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (version > files.length)
      throw new Error('the data folder was written by a newer version of Filmgate; upgrade it')
    for (const name of files.slice(version)) database.exec(readFileSync(new URL(name, folder), 'utf8'))
    database.exec(`PRAGMA user_version = ${files.length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
