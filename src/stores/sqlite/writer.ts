import { getPriority, setPriority } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Failure, toFailure } from './failures.ts'
import { prepareVerbs, type Unit } from './verbs.ts'

/*
 * The only thread that writes. A batch is one transaction and one fsync; a unit that fails does not fail the others.
 * The result is sent after COMMIT has returned, which with synchronous=FULL is after the fsync.
 */
export type UnitResult = { value: unknown } | { failure: Failure }

export interface WriterData {
  path: string
  /** Where the results of each batch are sent. */
  results: MessagePort
}

const { path, results } = workerData as WriterData

// With few cores polls come before writes. Only on Linux, where a thread has a priority of its own. It is only lowered,
// because an ordinary user may not raise it.
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + 10))
const database = new DatabaseSync(path)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
// A log of 16 MiB instead of 4: a page that many submits change is copied and synced less often.
database.exec('PRAGMA wal_autocheckpoint = 4000')
const verbs = prepareVerbs(database)
const savepoint = database.prepare('SAVEPOINT unit')
const release = database.prepare('RELEASE unit')
const rollbackTo = database.prepare('ROLLBACK TO unit')

parentPort?.on('message', (message: string | null) => {
  if (message === null) {
    database.close()
    results.close()
    parentPort?.close()
    return
  }
  results.postMessage(JSON.stringify(commit(JSON.parse(message))))
})

function commit(units: Unit[]): UnitResult[] {
  try {
    database.exec('BEGIN IMMEDIATE')
    const outcomes = units.map(runUnit)
    database.exec('COMMIT')
    return outcomes
  } catch (error) {
    // The whole batch failed, as on a full disk. SQLite may have rolled back already.
    if (database.isTransaction) database.exec('ROLLBACK')
    return units.map(() => ({ failure: toFailure(error) }))
  }
}

function runUnit({ verb, args }: Unit): UnitResult {
  // An insert is one statement, which is atomic by itself. A SAVEPOINT would cost it a tenth.
  const guarded = verb !== 'insert'
  if (guarded) savepoint.run()
  try {
    const value = (verbs[verb] as (...args: unknown[]) => unknown)(...args)
    if (guarded) release.run()
    return { value: value ?? null }
  } catch (error) {
    // If the error ended the transaction, the whole batch fails.
    if (!database.isTransaction) throw error
    if (guarded) {
      rollbackTo.run()
      release.run()
    }
    return { failure: toFailure(error) }
  }
}
