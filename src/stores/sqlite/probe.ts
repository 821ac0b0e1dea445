import { rmSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** More than the longest prompt and its row: a result of "there is room" means that a task fits. */
const roomBytes = 256 * 1024

/** Whether anything can be written; runs in the writer thread, inside its transaction. */
export function prepareProbe(database: DatabaseSync) {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  return {
    checkWritable(): void {
      // Pages that the log has already could take a little when nothing else fits.
      checkRoom(database.location() ?? '')
      // One page and its fsync: SQLite writes it although the number stays.
      database.exec(`PRAGMA user_version = ${version}`)
    },
  }
}

/** Throws what the system says if a file of some size can't be written beside the database. */
export function checkRoom(path: string): void {
  const file = `${path}-probe`
  try {
    writeFileSync(file, Buffer.alloc(roomBytes))
  } finally {
    rmSync(file, { force: true })
  }
}
