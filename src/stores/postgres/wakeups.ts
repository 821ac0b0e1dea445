import type { Client } from 'pg'
import type { Clock } from '../../core/clock.ts'
import type { Database } from './database.ts'
import { moveLock } from './migrate.ts'
import { Moved, refuseMoved } from './transfer.ts'

const channel = 'filmgate_due'
const retryMs = 2_000
/** Each message is a commit, which the database has to sync: a process that is busy says it so often at most. */
const spacingMs = 10

/** How processes tell each other that there may be something to do. Who hears nothing looks by himself every second. */
interface Wakeups extends AsyncDisposable {
  onWake(listener: () => void): () => void
  /** For those who only care for what clients are told. */
  onTell(hearer: () => void): () => void
  /** Wakes this process. */
  ring(): void
  /** Calls the hearers of this process. */
  tell(): void
  /**
   * Wakes this process now and the others soon, with all their hearers: at most one message is under way, after the
   * commit that it speaks of.
   */
  wake(): void
}

interface WakeupOptions {
  clock: Clock
  name: string
  onFatal: (error: Error) => void
}

export function openWakeups(database: Database, { clock, name, onFatal }: WakeupOptions): Wakeups {
  const [listeners, hearers] = [new Set<() => void>(), new Set<() => void>()]
  const stop = new AbortController()
  let isSaid = true
  let saying: Promise<void> | undefined

  const ring = () => {
    for (const listener of listeners) listener()
  }
  const tell = () => {
    for (const hearer of hearers) hearer()
  }
  const ringAll = () => {
    ring()
    tell()
  }
  const say = async () => {
    while (!isSaid && !stop.signal.aborted) {
      isSaid = true
      // Also from behind a pooler: others may have a connection of their own. Lost where the database is: then there is
      // nothing to do there either, and everybody looks again by himself.
      await database.read('SELECT pg_notify($1, $2)', [channel, name]).catch(() => {})
      await clock.sleep(spacingMs, stop.signal)
    }
    saying = undefined
  }

  async function hear(client: Client): Promise<void> {
    const gone = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('notification', ({ payload }) => {
      if (payload !== name) ringAll()
    })
    const patience = { query_timeout: retryMs }
    const listen = { text: `LISTEN ${channel}`, ...patience }
    await client.query(listen)
    // As long as it listens, nobody may move its rows elsewhere; before, somebody may have.
    const share = { text: `SELECT pg_try_advisory_lock_shared(${moveLock}) AS shared`, ...patience }
    const { rows } = await client.query<{ shared: boolean }>(share)
    await refuseMoved(database)
    if (!rows[0]?.shared) return
    // Whatever was said while nobody listened.
    ringAll()
    if (stop.signal.aborted) return
    const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
    await Promise.race([gone, stopped])
  }

  async function keepHearing(): Promise<void> {
    while (!stop.signal.aborted) {
      let client: Client | undefined
      let moved: Moved | undefined
      try {
        client = await database.connect()
        await hear(client)
      } catch (error) {
        // All else is tried again below, for as long as it takes.
        if (error instanceof Moved) moved = error
      }
      // Not waited for: one that hangs is ended with the database.
      client?.end().catch(() => {})
      if (moved) return onFatal(moved)
      await clock.sleep(retryMs, stop.signal)
    }
  }

  // Behind a pooler nobody would hear: a connection is another's as soon as it listens.
  const hearing = database.isPooled ? undefined : keepHearing()
  return {
    onWake(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onTell(hearer) {
      hearers.add(hearer)
      return () => hearers.delete(hearer)
    },
    ring,
    tell,
    wake() {
      ring()
      isSaid = false
      saying ??= say()
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all([hearing, saying])
    },
  }
}
