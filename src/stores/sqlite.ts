import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { isNews } from '../core/notice.ts'
import { toRow } from '../core/row.ts'
import { prepareDeliveryReads } from './sqlite/deliveries.ts'
import { prepareEndpointReads } from './sqlite/endpoints.ts'
import { toProblem } from './sqlite/failures.ts'
import { migrate } from './sqlite/migrate.ts'
import { prepareReads } from './sqlite/reads.ts'
import { refuseMoved } from './sqlite/transfer.ts'
import { prepareVerbs, type Unit, type Verbs } from './sqlite/verbs.ts'
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
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('PRAGMA mmap_size = 1073741824; PRAGMA cache_size = -16384')
  const snapshot = sharedSnapshot(reader)
  const writer = await startWriter(path, { commit: snapshot.release, fatal: options.onFatal })

  const reads = prepareReads(reader)
  const listeners = new Set<() => void>()
  const hearers = new Set<() => void>()
  const wake = () => {
    for (const listener of listeners) listener()
  }
  const tell = () => {
    for (const hearer of hearers) hearer()
  }

  return {
    ...reads,
    ...prepareEndpointReads(reader),
    ...prepareDeliveryReads(reader),
    checkWritable: () => writer.write('checkWritable'),
    async insert(task) {
      await writer.write('insert', toRow(task))
      wake()
    },
    read(owner, id) {
      snapshot.take()
      return reads.read(owner, id)
    },
    async delete(owner, id, now) {
      const hidden = await writer.write('delete', owner, id, now)
      wake()
      tell()
      return hidden
    },
    claim: (wanted) => writer.write('claim', wanted),
    claimQueued: (wanted) => writer.write('claimQueued', wanted),
    claimOne: async (id, state, leaseUntil) => (await writer.write('claimOne', id, state, leaseUntil)) ?? undefined,
    renew: (leases, leaseUntil) => writer.write('renew', leases, leaseUntil),
    async record(entry) {
      const held = await writer.write('record', entry)
      if (!entry.keep || !held) wake()
      if (held && isNews(entry)) tell()
      return held
    },
    async remove(lease, { orphans = false } = {}) {
      const removed = await writer.write('remove', lease, orphans)
      wake()
      return removed
    },
    async disown(account, operation, now) {
      const attempt = await writer.write('disown', account, operation, now)
      wake()
      return attempt ?? undefined
    },
    onDue(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onNotice(hearer) {
      hearers.add(hearer)
      return () => hearers.delete(hearer)
    },
    trimNotices: (before, limit) => writer.write('trimNotices', before, limit),
    insertEndpoint: (endpoint, most) => writer.write('insertEndpoint', endpoint, most),
    updateEndpoint: async (owner, id, change) => (await writer.write('updateEndpoint', owner, id, change)) ?? undefined,
    deleteEndpoint: (owner, id) => writer.write('deleteEndpoint', owner, id),
    disableEndpoint: (id, at, why) => writer.write('disableEndpoint', id, at, why),
    claimDeliveries: (wanted, now, leaseUntil) => writer.write('claimDeliveries', wanted, now, leaseUntil),
    recordDelivery: (outcome) => writer.write('recordDelivery', outcome),
    failDeliveries: (endpoint, step) => writer.write('failDeliveries', endpoint, step),
    async replay(endpoint, id, now) {
      const delivery = await writer.write('replay', endpoint, id, now)
      tell()
      return delivery ?? undefined
    },
    async replayFailed(endpoint, step) {
      const replayed = await writer.write('replayFailed', endpoint, step)
      tell()
      return replayed
    },
    trimDeliveries: (before, limit) => writer.write('trimDeliveries', before, limit),
    trimStrayDeliveries: (limit) => writer.write('trimStrayDeliveries', limit),
    async recover(now) {
      await writer.write('recover', now)
      wake()
    },
    saveHealth: (health) => writer.write('saveHealth', health),
    insertToken: (token, createdAt) => writer.write('insertToken', token, createdAt),
    deleteToken: (name) => writer.write('deleteToken', name),
    async [Symbol.asyncDispose]() {
      await writer.close()
      reader.close()
    },
  }
}

/**
 * The polls of one turn of the loop read from one snapshot: to lock and unlock the file for each costs a sixth of it.
 * Whoever waits for a write learns of its commit after the snapshot was released, so he never reads what was before.
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

/** The folder is ours alone, so whatever is still leased was a dead process's: it is due at once. */
function prepare(path: string, now: number): void {
  try {
    using database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(database)
    refuseMoved(database)
    database.prepare('UPDATE tasks SET leased = 0, due_at = ? WHERE leased = 1').run(now)
    database.prepare("UPDATE deliveries SET leased = 0, due_at = ? WHERE state = 'pending' AND leased = 1").run(now)
    // Those of tasks that are gone were left by somebody who changed rows by hand.
    database.exec("DELETE FROM slots WHERE task NOT IN (SELECT id FROM tasks WHERE state IN ('held', 'running'))")
    prepareVerbs(database).recover(now)
  } catch (error) {
    throw new Error(`the database ${path} can't be opened: ${(error as Error).message}`, { cause: error })
  }
}

interface Waiting {
  unit: Unit
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/** Two batches are in flight, so that the writer need not wait for this thread; what arrives meanwhile makes the next. */
async function startWriter(path: string, on: { commit: () => void; fatal: (error: Error) => void }) {
  const thread = new Worker(new URL('./sqlite/writer.ts', import.meta.url), { workerData: { path } })
  await once(thread, 'online')
  let waiting: Waiting[] = []
  const inFlight: Waiting[][] = []
  let dead: Error | undefined

  const flush = () => {
    if (inFlight.length === 2 || waiting.length === 0) return
    const batch = waiting
    inFlight.push(batch)
    waiting = []
    // As text: to clone so many small objects costs twice as much.
    thread.postMessage(JSON.stringify(batch.map(({ unit }) => unit)))
  }
  const settle = (message: string) => {
    on.commit()
    const outcomes = JSON.parse(message) as Outcome[]
    const settled = inFlight.shift() ?? []
    flush()
    outcomes.forEach((outcome, at) => {
      if ('value' in outcome) settled[at]?.resolve(outcome.value as never)
      else settled[at]?.reject(toProblem(outcome.failure))
    })
  }
  const die = (error: Error) => {
    if (dead) return
    dead = error
    for (const { reject } of [...inFlight.flat(), ...waiting])
      reject(toProblem({ message: error.message, errcode: 10 }))
    inFlight.length = waiting.length = 0
  }
  let closing = false
  thread.on('message', settle)
  thread.on('error', die)
  const exited = new Promise((resolve) => thread.once('exit', resolve)).then(() => {
    die(new Error('the writer thread ended'))
    if (!closing) on.fatal(dead as Error)
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
      closing = true
      thread.postMessage(null)
      await exited
    },
  }
}
