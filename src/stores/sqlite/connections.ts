import { DatabaseSync } from 'node:sqlite'
import { Problem } from '../../core/problem.ts'
import { checkAfterCrash, isDamage, type Report } from './check.ts'
import { toFailure, toProblem } from './failures.ts'
import { migrate } from './migrate.ts'
import { checkRoom } from './probe.ts'
import { openMakeshift, openReader, type Reader } from './reader.ts'
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
  /** Makes the folder this process's alone, where it was opened on a read-only disk. */
  claimFolder: () => void
  onFatal: (error: Error) => void
  report: Report
}

/** Both ways to the database. One that can't be written, on a full or read-only disk, is read all the same. */
export async function openConnections(options: ConnectionOptions): Promise<Connections> {
  const { path, now, onFatal } = options
  let reader: Reader
  try {
    await checkAfterCrash(path, options.report)
    prepare(path, now)
    reader = openReader(path)
  } catch (error) {
    const cause = unusable(path, error)
    const failure = toFailure(error)
    // What is damaged is neither read nor written.
    if (isDamage(failure.errcode) || Problem.from(toProblem(failure)).code !== 'storage_unavailable') throw cause
    return openReadOnly(options, cause)
  }
  const writer = await startWriter(path, { commit: reader.release, fatal: onFatal })
  return {
    reads: reader.reads,
    write: writer.write,
    async close() {
      // The last connection to close moves the log into the database, so it has to be one that writes.
      reader.close()
      await writer.close()
    },
  }
}

/** Each write looks first whether the disk can be written by now. */
function openReadOnly({ path, now, claimFolder, onFatal }: ConnectionOptions, cause: Error): Connections {
  let reader: Reader
  try {
    reader = openMakeshift(path, cause)
  } catch (error) {
    throw error === cause ? cause : unusable(path, error)
  }
  let writer: Promise<Writer> | undefined

  async function open(): Promise<Writer> {
    checkRoom(path)
    claimFolder()
    // It may have locked the database. Until the next one is there nobody can read, for nothing here waits.
    reader.close()
    try {
      prepare(path, now)
      reader = openReader(path)
    } catch (error) {
      reader = openMakeshift(path, cause)
      throw error
    }
    return startWriter(path, { commit: () => reader.release(), fatal: onFatal })
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

/** Reads by whatever connection there is at that moment. */
function forward(current: () => Reader['reads']): Reader['reads'] {
  const call =
    (name: keyof Reader['reads']) =>
    (...args: never[]): unknown =>
      (current()[name] as (...args: never[]) => unknown)(...args)
  const names = Object.keys(current()) as (keyof Reader['reads'])[]
  return Object.fromEntries(names.map((name) => [name, call(name)])) as unknown as Reader['reads']
}

/** The folder is ours alone, so whatever is still leased was a dead process's: it is due at once. */
function prepare(path: string, now: number): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  migrate(database)
  refuseMoved(database)
  database.prepare('UPDATE tasks SET leased = 0, due_at = ? WHERE leased = 1').run(now)
  database.prepare("UPDATE deliveries SET leased = 0, due_at = ? WHERE state = 'pending' AND leased = 1").run(now)
  // Those of tasks that are gone were left by somebody who changed rows by hand.
  database.exec("DELETE FROM slots WHERE task NOT IN (SELECT id FROM tasks WHERE state IN ('held', 'running'))")
  prepareVerbs(database).recover(now)
}

function unusable(path: string, error: unknown): Error {
  return new Error(`the database ${path} can't be opened: ${(error as Error).message}`, { cause: error })
}
