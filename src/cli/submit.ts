import type { Client, Film } from './client.ts'
import { NetworkFailure, ServerFailure } from './failure.ts'
import type { Interrupts } from './interrupts.ts'
import { patiently, type Trouble } from './patience.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

interface Submitting {
  terminal: Terminal
  /** The first ends pauses and repeats; what is on the wire by then is waited for until the second. */
  interrupts: Interrupts
  key: string
  /** An earlier try of the same may have reached the server. */
  again?: boolean
  onTrouble(trouble: Trouble | null): void
  /** Tells the person what is still waited for. */
  note(text: string): void
  /** Whether a server that can't be reached may come back. */
  patient: boolean
}

/**
 * Submits a film once. It is sent again only where nothing can have come of it: the server said that it is too busy, or
 * was never reached.
 */
export async function submitOnce(client: Client, film: Film, submitting: Submitting): Promise<Task> {
  const { key, again = false, patient, interrupts, terminal, onTrouble, note } = submitting
  const worth = (error: unknown) => {
    if (error instanceof NetworkFailure) return patient && !error.sent
    return error instanceof ServerFailure && error.status === 429 && error.code !== 'insufficient_quota'
  }
  const post = async () => {
    const onSignal = () => note('waiting for the answer to what was submitted; a second signal ends at once')
    interrupts.first.addEventListener('abort', onSignal)
    try {
      return await client.submit(film, { key, again }, interrupts.second)
    } finally {
      interrupts.first.removeEventListener('abort', onSignal)
    }
  }
  return patiently(post, { terminal, signal: interrupts.first, onTrouble, worth })
}
