import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { codeOf } from '../../core/problem.ts'
import { prepareAlarmReads } from './alarms.ts'
import { prepareDeclarationReads } from './declarations.ts'
import { prepareFigures } from './figures.ts'
import { missingMigrations } from './migrate.ts'
import { prepareReads } from './reads.ts'
import { prepareSecretReads } from './secrets.ts'
import { prepareTokenReads } from './tokens.ts'
import { refuseMoved } from './transfer.ts'
import { prepareUsageReads } from './usage.ts'
import { prepareDeliveryReads, prepareEndpointReads } from './webhooks.ts'

/** The connection of the main thread, which only reads. */
export interface Reader {
  readonly reads: ReturnType<typeof prepareAll>
  /** Ends the snapshot that the polls of this turn of the event loop share. */
  release(): void
  close(): void
}

/** Shares the log and its index with the writer. */
export function openReader(path: string): Reader {
  return toReader(openShared(path))
}

/**
 * A reader for as long as the database can't be written. The usual reader needs an index of the log, which is a file,
 * and the disk is full or read-only.
 */
export function openReadOnlyReader(path: string, cause: Error): Reader {
  if (!existsSync(path)) throw cause
  const database = openAnyWay(path, cause)
  try {
    const missing = missingMigrations(database)
    if (missing.length > 0)
      throw new Error(
        `it can't be written (${cause.message}), and its schema must be upgraded first (${missing.join(', ')}); ` +
          'free some space, or make it writable, and start again',
      )
    refuseMoved(database)
    return toReader(database)
  } catch (error) {
    database.close()
    throw error
  }
}

function openAnyWay(path: string, cause: Error): DatabaseSync {
  for (const open of [openShared, openAlone, openFrozen])
    try {
      return open(path)
    } catch {
      // The next way may work.
    }
  throw cause
}

function openShared(path: string): DatabaseSync {
  return probed(new DatabaseSync(path, { readOnly: true }))
}

/** With the index in memory, which locks the whole database: no other connection can open it. */
function openAlone(path: string): DatabaseSync {
  return probed(new DatabaseSync(path), 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON')
}

/**
 * Without log and locks. Only on a read-only disk, where the database can't change, and with an empty log, because its
 * changes would be ignored.
 */
function openFrozen(path: string): DatabaseSync {
  if (!isReadOnly(path)) throw new Error('the database could change')
  const log = `${path}-wal`
  if (existsSync(log) && statSync(log).size > 0) throw new Error('the log of the database is not empty')
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return probed(new DatabaseSync(url, { readOnly: true }))
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return codeOf(error) === 'EROFS'
  }
}

/** Reads something, because SQLite opens its files only then. */
function probed(database: DatabaseSync, settings = ''): DatabaseSync {
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
    ...prepareTokenReads(database),
    ...prepareUsageReads(database),
    ...prepareSecretReads(database),
    ...prepareDeclarationReads(database),
    ...prepareFigures(database, reads.accountsInUse),
    ...prepareAlarmReads(database),
    read(owner: string, id: string) {
      takeSnapshot()
      return reads.read(owner, id)
    },
  }
}

/**
 * The polls of one turn of the event loop read from one snapshot: locking the file for each would cost a sixth more.
 * The snapshot is released before a write resolves, so its caller never reads the old state.
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
