import { isTransient, ServerFailure } from './failure.ts'
import type { Terminal } from './terminal.ts'

export interface Trouble {
  message: string
  againInMs: number
}

interface Patience {
  terminal: Pick<Terminal, 'now' | 'sleep'>
  signal: AbortSignal
  /** Told of each trouble, and with null once it is over. */
  onTrouble(trouble: Trouble | null): void
  /** What is worth another try; transient failures unless told. */
  worth?: (error: unknown) => boolean
}

/** A server that was not reached for so long is given up on; its tasks go on without us. */
const giveUpMs = 10 * 60_000

/** Repeats what is safe to repeat until it works, fails for good, or the server stays away too long. */
export async function patiently<T>(
  work: () => Promise<T>,
  { terminal, signal, onTrouble, worth = isTransient }: Patience,
): Promise<T> {
  let tries = 0
  let since = 0
  for (;;) {
    signal.throwIfAborted()
    try {
      const result = await work()
      if (tries > 0) onTrouble(null)
      return result
    } catch (error) {
      if (tries === 0) since = terminal.now()
      // What ends it anyway is told even to those who are leaving: it may be that the outcome is unknown.
      if (!worth(error) || terminal.now() - since > giveUpMs) throw error
      signal.throwIfAborted()
      const asked = error instanceof ServerFailure ? error.retryAfterMs : null
      // A server that asks for no pause at all, or for one in the past, is not hammered for it.
      const againInMs = Math.max(asked ?? 0, Math.min(30_000, 500 * 2 ** tries))
      tries += 1
      onTrouble({ message: describe(error), againInMs })
      await terminal.sleep(againInMs, signal)
    }
  }
}

function describe(error: unknown): string {
  const { message } = error as Error
  return error instanceof ServerFailure ? `${error.status}: ${message}` : message
}
