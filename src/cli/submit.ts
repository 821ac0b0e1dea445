import type { Client, Film } from './client.ts'
import { NetworkFailure, ServerFailure } from './failure.ts'
import { patiently, type Trouble } from './patience.ts'
import type { Task } from './task.ts'
import type { Terminal } from './terminal.ts'

interface Submitting {
  terminal: Terminal
  signal: AbortSignal
  key: string
  onTrouble(trouble: Trouble | null): void
  /** Whether a server that can't be reached may come back. */
  patient: boolean
}

/**
 * Submits a film once. It is sent again only where nothing can have come of it: the server said that it is too busy, or
 * was never reached.
 */
export async function submitOnce(client: Client, film: Film, { key, patient, ...watch }: Submitting): Promise<Task> {
  const worth = (error: unknown) => {
    if (error instanceof NetworkFailure) return patient && !error.sent
    return error instanceof ServerFailure && error.status === 429 && error.code !== 'insufficient_quota'
  }
  return patiently(() => client.submit(film, key, watch.signal), { ...watch, worth })
}
