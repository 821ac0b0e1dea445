import { getPriority, setPriority } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type Failure, toFailure } from './failures.ts'
import { prepareVerbs, type Unit } from './verbs.ts'

/*
 * The one thread that writes. A batch is one transaction and one fsync; a bad unit fails
 * alone. The answer leaves after COMMIT returned, which with synchronous=FULL is after the fsync.
 */
export type Outcome = { value: unknown } | { failure: Failure }

// Polls before writes where the machine is short of cores. On Linux this is the thread's own; elsewhere the process's.
// Lower than it was given: to raise it is refused to an ordinary user.
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + 10))
const database = new DatabaseSync(workerData.path)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
// Of 16 MiB instead of 4: a page that many submits touch is copied and synced less often.
database.exec('PRAGMA wal_autocheckpoint = 4000')
const verbs = prepareVerbs(database)
const savepoint = database.prepare('SAVEPOINT unit')
const release = database.prepare('RELEASE unit')
const rollbackTo = database.prepare('ROLLBACK TO unit')

parentPort?.on('message', (message: string | null) => {
  if (message === null) {
    database.close()
    parentPort?.close()
    return
  }
  parentPort?.postMessage(JSON.stringify(commit(JSON.parse(message))))
})

function commit(units: Unit[]): Outcome[] {
  try {
    database.exec('BEGIN IMMEDIATE')
    const outcomes = units.map(runUnit)
    database.exec('COMMIT')
    return outcomes
  } catch (error) {
    // The whole group failed, as on a full disk: SQLite may have rolled back by itself already.
    if (database.isTransaction) database.exec('ROLLBACK')
    return units.map(() => ({ failure: toFailure(error) }))
  }
}

function runUnit({ verb, args }: Unit): Outcome {
  // A submit is one statement, and SQLite runs it wholly or not: a SAVEPOINT would cost it a tenth.
  const guarded = verb !== 'insert'
  if (guarded) savepoint.run()
  try {
    const value = (verbs[verb] as (...args: unknown[]) => unknown)(...args)
    if (guarded) release.run()
    return { value: value ?? null }
  } catch (error) {
    // Where the error ended the transaction itself, the group fails as a whole.
    if (!database.isTransaction) throw error
    if (guarded) {
      rollbackTo.run()
      release.run()
    }
    return { failure: toFailure(error) }
  }
}
