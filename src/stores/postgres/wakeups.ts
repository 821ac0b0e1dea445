import type { Client } from 'pg'
import type { Clock } from '../../core/clock.ts'
import type { Database } from './database.ts'
import { moveLock } from './migrate.ts'
import { Moved, refuseMoved } from './transfer.ts'

const channel = 'filmgate_due'
const tokenChannel = 'filmgate_tokens'
const retryMs = 2_000
/** The shortest time between two messages of a process: each is a commit, which the database has to sync. */
const spacingMs = 10

/** Notifies processes that something may be due. A process that gets no message checks every second. */
interface Wakeups extends AsyncDisposable {
  onDue(listener: () => void): () => void
  onNotice(listener: () => void): () => void
  onTokens(listener: () => void): () => void
  /** Calls the due listeners of this process. */
  wakeLocal(): void
  /** Calls the notice listeners of this process. */
  notifyLocal(): void
  /** Calls the due listeners of this process now, and all listeners of the others soon. */
  wakeAll(): void
  /** Calls the token listeners of the other processes soon. */
  announceTokens(): void
}

interface WakeupOptions {
  clock: Clock
  name: string
  onFatal: (error: Error) => void
}

export function openWakeups(database: Database, { clock, name, onFatal }: WakeupOptions): Wakeups {
  const [dueListeners, noticeListeners] = [new Set<() => void>(), new Set<() => void>()]
  const tokenListeners = new Set<() => void>()
  const stop = new AbortController()
  let isSent = true
  let sending: Promise<void> | undefined

  const wakeLocal = () => {
    for (const listener of dueListeners) listener()
  }
  const notifyLocal = () => {
    for (const listener of noticeListeners) listener()
  }
  const callTokenListeners = () => {
    for (const listener of tokenListeners) listener()
  }
  const callAllListeners = () => {
    wakeLocal()
    notifyLocal()
  }
  const send = async () => {
    while (!isSent && !stop.signal.aborted) {
      isSent = true
      // Also behind a pooler: other processes may have a direct connection. A lost message is no harm, as all processes
      // also check by themselves.
      await database.read('SELECT pg_notify($1, $2)', [channel, name]).catch(() => {})
      await clock.sleep(spacingMs, stop.signal)
    }
    sending = undefined
  }

  async function listen(client: Client): Promise<void> {
    const gone = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('notification', ({ channel: from, payload }) => {
      if (payload === name) return
      if (from === tokenChannel) callTokenListeners()
      else callAllListeners()
    })
    const patience = { query_timeout: retryMs }
    await client.query({ text: `LISTEN ${channel}; LISTEN ${tokenChannel}`, ...patience })
    // While this lock is held, no move can start. An earlier move is refused below.
    const share = { text: `SELECT pg_try_advisory_lock_shared(${moveLock}) AS shared`, ...patience }
    const { rows } = await client.query<{ shared: boolean }>(share)
    await refuseMoved(database)
    if (!rows[0]?.shared) return
    // Messages from before this connection were lost.
    callAllListeners()
    callTokenListeners()
    if (stop.signal.aborted) return
    const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
    await Promise.race([gone, stopped])
  }

  async function keepListening(): Promise<void> {
    while (!stop.signal.aborted) {
      let client: Client | undefined
      let moved: Moved | undefined
      try {
        client = await database.connect()
        await listen(client)
      } catch (error) {
        // After every other error it is tried again, without end.
        if (error instanceof Moved) moved = error
      }
      // Not awaited: a connection that hangs is closed with the database.
      client?.end().catch(() => {})
      if (moved) return onFatal(moved)
      await clock.sleep(retryMs, stop.signal)
    }
  }

  // Behind a pooler LISTEN does not work: the connection goes to another client after the statement.
  const listening = database.isPooled ? undefined : keepListening()
  return {
    onDue(listener) {
      dueListeners.add(listener)
      return () => dueListeners.delete(listener)
    },
    onNotice(listener) {
      noticeListeners.add(listener)
      return () => noticeListeners.delete(listener)
    },
    onTokens(listener) {
      tokenListeners.add(listener)
      return () => tokenListeners.delete(listener)
    },
    wakeLocal,
    notifyLocal,
    wakeAll() {
      wakeLocal()
      isSent = false
      sending ??= send()
    },
    announceTokens() {
      // A lost message is no harm: each process also looks by itself.
      void database.read('SELECT pg_notify($1, $2)', [tokenChannel, name]).catch(() => {})
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all([listening, sending])
    },
  }
}
