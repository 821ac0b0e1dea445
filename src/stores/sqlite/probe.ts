import { rmSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** More than the longest prompt and its row: if this fits, a task fits. */
const probeBytes = 256 * 1024

/** Checks whether the database can be written; runs in the writer thread, inside its transaction. */
export function prepareProbe(database: DatabaseSync) {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  return {
    checkWritable(): void {
      // On a full disk a small write may still fit into existing pages of the log.
      checkSpace(database.location() ?? '')
      // One page and its fsync: SQLite writes it although the number does not change.
      database.exec(`PRAGMA user_version = ${version}`)
    },
  }
}

/** Throws the error of the system if a file can't be written beside the database. */
export function checkSpace(path: string): void {
  const file = `${path}-probe`
  try {
    writeFileSync(file, Buffer.alloc(probeBytes))
  } finally {
    rmSync(file, { force: true })
  }
}
