import { messageOf } from '../core/problem.ts'
import { isTransient, ServerFailure } from './failure.ts'
import type { Terminal } from './terminal.ts'

export interface Trouble {
  message: string
  againInMs: number
}

interface Patience {
  terminal: Pick<Terminal, 'now' | 'sleep'>
  signal: AbortSignal
  /** Called with each failure, and with null after the next success. */
  onTrouble(trouble: Trouble | null): void
  /** Whether to try again. The default is transient failures. */
  isWorthRetrying?: (error: unknown) => boolean
}

/** The command ends if the server fails for this long. Its tasks keep running. */
const giveUpMs = 10 * 60_000

/** Repeats work that is safe to repeat, until it succeeds, fails for good, or takes too long. */
export async function patiently<T>(
  work: () => Promise<T>,
  { terminal, signal, onTrouble, isWorthRetrying = isTransient }: Patience,
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
      // Before the check of the signal: an unknown outcome is reported even after an interrupt.
      if (!isWorthRetrying(error) || terminal.now() - since > giveUpMs) throw error
      signal.throwIfAborted()
      const asked = error instanceof ServerFailure ? error.retryAfterMs : null
      // At least our own pause: the server may ask for none, or for one in the past.
      const againInMs = Math.max(asked ?? 0, Math.min(30_000, 500 * 2 ** tries))
      tries += 1
      onTrouble({ message: describe(error), againInMs })
      await terminal.sleep(againInMs, signal)
    }
  }
}

function describe(error: unknown): string {
  const message = messageOf(error)
  return error instanceof ServerFailure ? `${error.status}: ${message}` : message
}
