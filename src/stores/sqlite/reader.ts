import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { missingMigrations } from './migrate.ts'
import { prepareReads } from './reads.ts'
import { refuseMoved } from './transfer.ts'
import { prepareDeliveryReads, prepareEndpointReads } from './webhooks.ts'

/** The connection of the main thread, which only reads. */
export interface Reader {
  readonly reads: ReturnType<typeof prepareAll>
  /** Ends the snapshot that the polls of this turn of the loop share. */
  release(): void
  close(): void
}

/** Beside the writer, whose log and index it shares. */
export function openReader(path: string): Reader {
  return toReader(openShared(path))
}

/**
 * A reader of a database that can't be written, and as long as that is so. To read it as usual takes an index of its log,
 * which is a file, and the disk has no room for one or can only be read.
 */
export function openMakeshift(path: string, cause: Error): Reader {
  if (!existsSync(path)) throw cause
  const database = openSomehow(path, cause)
  try {
    const missing = missingMigrations(database)
    if (missing.length > 0)
      throw new Error(
        `it can't be written (${cause.message}), and its schema has to be changed first (${missing.join(', ')}); ` +
          'free some space, or make it writable, and start again',
      )
    refuseMoved(database)
    return toReader(database)
  } catch (error) {
    database.close()
    throw error
  }
}

function openSomehow(path: string, cause: Error): DatabaseSync {
  for (const open of [openShared, openAlone, openFrozen])
    try {
      return open(path)
    } catch {
      // The next one may.
    }
  throw cause
}

function openShared(path: string): DatabaseSync {
  return tried(new DatabaseSync(path, { readOnly: true }))
}

/** With the index in memory, which takes a lock on the whole database: nobody else can open it. */
function openAlone(path: string): DatabaseSync {
  return tried(new DatabaseSync(path), 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON')
}

/**
 * Without log and locks. Only where the disk can't be written by anybody who respects the lock of the data folder, and
 * the log is empty: what is in it would be passed over.
 */
function openFrozen(path: string): DatabaseSync {
  if (!isReadOnly(path)) throw new Error('it could change')
  const log = `${path}-wal`
  if (existsSync(log) && statSync(log).size > 0) throw new Error('its log has changes that are not in it yet')
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return tried(new DatabaseSync(url, { readOnly: true }))
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** SQLite opens its files only when something is read. */
function tried(database: DatabaseSync, settings = ''): DatabaseSync {
  try {
    database.exec(`${settings}; SELECT count(*) FROM sqlite_schema`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function toReader(database: DatabaseSync): Reader {
  database.exec('PRAGMA mmap_size = 1073741824; PRAGMA cache_size = -16384')
  const { take, release } = sharedSnapshot(database)
  return {
    reads: prepareAll(database, take),
    release,
    close() {
      release()
      database.close()
    },
  }
}

function prepareAll(database: DatabaseSync, takeSnapshot: () => void) {
  const reads = prepareReads(database)
  return {
    ...reads,
    ...prepareEndpointReads(database),
    ...prepareDeliveryReads(database),
    read(owner: string, id: string) {
      takeSnapshot()
      return reads.read(owner, id)
    },
  }
}

/**
 * The polls of one turn of the loop read from one snapshot: to lock and unlock the file for each costs a sixth of it.
 * A caller that waits for a write learns of its commit after the snapshot was released, so it never reads the old state.
 */
function sharedSnapshot(reader: DatabaseSync) {
  const [begin, end] = [reader.prepare('BEGIN'), reader.prepare('COMMIT')]
  const release = () => {
    if (reader.isOpen && reader.isTransaction) end.run()
  }
  const take = () => {
    if (reader.isTransaction) return
    begin.run()
    setImmediate(release)
  }
  return { take, release }
}
