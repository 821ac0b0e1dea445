import { DatabaseSync } from 'node:sqlite'
import { messageOf, Problem } from '../../core/problem.ts'
import type { StoreMeter } from '../store.ts'
import { checkAfterCrash, isDamage, type Report } from './check.ts'
import { toFailure, toProblem } from './failures.ts'
import { migrate } from './migrate.ts'
import { checkSpace } from './probe.ts'
import { openReader, openReadOnlyReader, type Reader } from './reader.ts'
import { startWriter, type Writer } from './thread.ts'
import { refuseMoved } from './transfer.ts'
import { prepareVerbs } from './verbs.ts'

interface Connections {
  readonly reads: Reader['reads']
  readonly write: Writer['write']
  close(): Promise<void>
}

interface ConnectionOptions {
  path: string
  now: number
  /** Locks the folder for this process, if it was opened on a read-only disk. */
  claimFolder: () => void
  onFatal: (error: Error) => void
  report: Report
  meter?: StoreMeter
}

/** The reader and the writer of the database. On a full or read-only disk it can still be read. */
export async function openConnections(options: ConnectionOptions): Promise<Connections> {
  const { path, now, onFatal, meter } = options
  let reader: Reader
  try {
    await checkAfterCrash(path, options.report)
    prepare(path, now)
    reader = openReader(path)
  } catch (error) {
    const cause = unusable(path, error)
    const failure = toFailure(error)
    // A damaged database is neither read nor written.
    if (isDamage(failure.errcode) || Problem.from(toProblem(failure)).code !== 'storage_unavailable') throw cause
    return openReadOnly(options, cause)
  }
  const writer = startWriter(path, { commit: reader.release, fatal: onFatal, meter })
  return {
    reads: reader.reads,
    write: writer.write,
    async close() {
      // The last connection to close moves the log into the database, so it must be the writer.
      reader.close()
      await writer.close()
    },
  }
}

/** The first write after the disk has become writable opens the writer. */
function openReadOnly({ path, now, claimFolder, onFatal, meter }: ConnectionOptions, cause: Error): Connections {
  let reader: Reader
  try {
    reader = openReadOnlyReader(path, cause)
  } catch (error) {
    throw error === cause ? cause : unusable(path, error)
  }
  let writer: Promise<Writer> | undefined

  async function open(): Promise<Writer> {
    checkSpace(path)
    claimFolder()
    // The reader may have locked the database. Nothing awaits below, so no read comes before the next reader is open.
    reader.close()
    try {
      prepare(path, now)
      reader = openReader(path)
    } catch (error) {
      reader = openReadOnlyReader(path, cause)
      throw error
    }
    return startWriter(path, { commit: () => reader.release(), fatal: onFatal, meter })
  }
  return {
    reads: forward(() => reader.reads),
    async write(verb, ...args) {
      writer ??= open().catch((error) => {
        writer = undefined
        const problem = Problem.from(toProblem(toFailure(error)))
        throw problem.code === 'storage_unavailable' ? problem : Problem.ofStorage(error)
      })
      return (await writer).write(verb, ...args)
    },
    async close() {
      reader.close()
      await (await writer?.catch(() => undefined))?.close()
    },
  }
}

/** Reads by the current connection. */
function forward(current: () => Reader['reads']): Reader['reads'] {
  return new Proxy(current(), {
    get: (opened, name) => (name in opened ? (...args: unknown[]) => Reflect.get(current(), name)(...args) : undefined),
  })
}

/** No other process uses the folder, so leases belong to a dead process: their rows are due at once. */
function prepare(path: string, now: number): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  migrate(database)
  refuseMoved(database)
  database.prepare('UPDATE tasks SET leased = 0, due_at = ? WHERE leased = 1').run(now)
  database.prepare("UPDATE deliveries SET leased = 0, due_at = ? WHERE state = 'pending' AND leased = 1").run(now)
  // A change of rows by hand may leave slots without a task. Each is looked up: a list of all would read every task.
  database.exec(
    "DELETE FROM slots WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = task AND state IN ('held', 'running'))",
  )
  prepareVerbs(database).repairDueTimes(now)
}

function unusable(path: string, error: unknown): Error {
  return new Error(`the database ${path} can't be opened: ${messageOf(error)}`, { cause: error })
}
