import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { Problem } from '../core/problem.ts'
import { migrate } from './sqlite/migrate.ts'
import { columns, fromRow } from './sqlite/rows.ts'
import type { Unit, Verbs } from './sqlite/verbs.ts'
import type { Outcome } from './sqlite/writer.ts'
import type { Store } from './store.ts'

export interface SqliteOptions {
  /** The data folder, which must exist and belong to this process alone. */
  folder: string
  now: number
  /** Called if the writer thread dies, after which nothing can be written any more. */
  onFatal: (error: Error) => void
}

/**
 * The embedded store: reads on this thread, writes in another, grouped. With the writer on this thread a slow disk
 * stalls every poll (p99 25 ms at a 5 ms fsync, against 5 ms so).
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const path = join(options.folder, 'filmgate.db')
  prepare(path, options.now)
  const writer = await startWriter(path, options.onFatal)
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('PRAGMA mmap_size = 1073741824; PRAGMA cache_size = -16384')

  const list = columns.join(', ')
  const read = reader.prepare(`SELECT ${list} FROM tasks WHERE id = ? AND owner = ?`)
  const due = reader.prepare(
    'SELECT min(due_at) AS due FROM tasks INDEXED BY tasks_due WHERE state = ? AND due_at IS NOT NULL',
  )
  const dueOf = reader.prepare(
    'SELECT min(due_at) AS due FROM tasks INDEXED BY tasks_provider_due WHERE provider = ? AND state = ? AND due_at IS NOT NULL',
  )
  const tokens = reader.prepare('SELECT name, digest, models FROM tokens ORDER BY created_at, name')
  const listeners = new Set<() => void>()
  const wake = () => {
    for (const listener of listeners) listener()
  }

  return {
    async insert(task) {
      await writer.write('insert', task)
      wake()
    },
    async read(owner, id) {
      const row = read.get(id, owner)
      return row && fromRow(row)
    },
    claim: (wanted) => writer.write('claim', wanted),
    renew: (leases, leaseUntil) => writer.write('renew', leases, leaseUntil),
    async record(task) {
      const held = await writer.write('record', task)
      wake()
      return held
    },
    remove: (lease) => writer.write('remove', lease),
    async nextDue({ state, provider }) {
      const row = provider === undefined ? due.get(state) : dueOf.get(provider, state)
      return (row?.due as number | null) ?? undefined
    },
    onDue(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async tokens() {
      return tokens.all().map((row) => ({
        name: row.name as string,
        digest: row.digest as string,
        models: JSON.parse(row.models as string) as string[],
      }))
    },
    insertToken: (token, createdAt) => writer.write('insertToken', token, createdAt),
    async [Symbol.asyncDispose]() {
      await writer.close()
      reader.close()
    },
  }
}

/** The folder is ours alone, so whatever is still leased was a dead process's: it is due at once. */
function prepare(path: string, now: number): void {
  try {
    using database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(database)
    database.prepare('UPDATE tasks SET leased = 0, due_at = ? WHERE leased = 1').run(now)
  } catch (error) {
    throw new Error(`the database ${path} can't be opened: ${(error as Error).message}`, { cause: error })
  }
}

interface Waiting {
  unit: Unit
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/** One batch is in flight at a time; what arrives meanwhile makes the next one. */
async function startWriter(path: string, onFatal: (error: Error) => void) {
  const thread = new Worker(new URL('./sqlite/writer.ts', import.meta.url), { workerData: { path } })
  await once(thread, 'online')
  let waiting: Waiting[] = []
  let inFlight: Waiting[] = []
  let dead: Error | undefined

  const flush = () => {
    if (inFlight.length > 0 || waiting.length === 0) return
    inFlight = waiting
    waiting = []
    thread.postMessage(inFlight.map(({ unit }) => unit))
  }
  const settle = (outcomes: Outcome[]) => {
    const settled = inFlight
    inFlight = []
    flush()
    outcomes.forEach((outcome, at) => {
      if ('value' in outcome) settled[at]?.resolve(outcome.value as never)
      else settled[at]?.reject(toProblem(outcome.failure))
    })
  }
  const die = (error: Error) => {
    if (dead) return
    dead = error
    for (const { reject } of [...inFlight, ...waiting]) reject(toProblem({ message: error.message, errcode: 10 }))
    inFlight = waiting = []
  }
  thread.on('message', settle)
  thread.on('error', (error) => {
    die(error)
    onFatal(error)
  })

  return {
    write<Name extends keyof Verbs>(verb: Name, ...args: Parameters<Verbs[Name]>): Promise<ReturnType<Verbs[Name]>> {
      return new Promise((resolve, reject) => {
        if (dead) return reject(toProblem({ message: dead.message, errcode: 10 }))
        waiting.push({ unit: { verb, args } as Unit, resolve, reject })
        // The rest of this turn of the loop joins the batch.
        if (waiting.length === 1) setImmediate(flush)
      })
    },
    async close() {
      const gone = once(thread, 'exit')
      thread.postMessage('close')
      await gone
      die(new Error('the store is closed'))
    },
  }
}

/** Codes of SQLite that speak of the disk, not of the statement: PERM, BUSY, READONLY, IOERR, FULL, CANTOPEN. */
const diskCodes = new Set([3, 5, 8, 10, 13, 14])

function toProblem({ message, errcode }: { message: string; errcode: number | undefined }): Error {
  return errcode !== undefined && diskCodes.has(errcode & 0xff) ? Problem.ofStorage(message) : new Error(message)
}
