import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type StorageFault, storageFaultOf } from '../core/storage-fault.ts'
import type { ProbeStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

/** The writes of a start. If the store is read-only, they are retried later, so that the service can serve reads. */
interface StartWrites extends AsyncDisposable {
  /** False if the write is retried later. Throws errors that are not faults of the storage. */
  do(what: string, write: () => Promise<unknown>): Promise<boolean>
}

const everyMs = 1_000

export function openStartWrites({ clock, log }: { clock: Clock; log: Log }): StartWrites {
  const stop = new AbortController()
  const late = new Set<Promise<void>>()

  async function retry(what: string, write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, stop.signal)
      if (stop.signal.aborted) return
      try {
        await write()
        return log.info(`after a read-only start: ${what}`)
      } catch (error) {
        if (Problem.from(error).code === 'storage_unavailable') continue
        return log.error('a write of the start failed', { what, error })
      }
    }
  }
  return {
    async do(what, write) {
      try {
        await write()
        return true
      } catch (error) {
        if (Problem.from(error).code !== 'storage_unavailable') throw error
        late.add(retry(what, write))
        return false
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(late)
    },
  }
}

/** Why the store is read-only at the start; null if it is writable. */
export async function findReadOnly(
  store: ProbeStore,
  startWrites: StartWrites,
  log: Log,
): Promise<StorageFault | null> {
  let cause: unknown
  const check = () =>
    store.checkWritable().catch((error) => {
      cause = error
      throw error
    })
  if (await startWrites.do('the store can be written', check)) return null
  const found = storageFaultOf(cause)
  log.error("the service starts read-only, because the store can't be written", { found, cause })
  return found
}
