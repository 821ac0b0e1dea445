import { isLasting } from '../core/codes.ts'
import type { Client, VideoRequest } from './client.ts'
import { NetworkFailure, ServerFailure } from './failure.ts'
import type { Interrupts } from './interrupts.ts'
import { patiently, type Trouble } from './patience.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

interface Submitting {
  terminal: Terminal
  /** The first ends pauses and repeats. The second also ends a request that was sent. */
  interrupts: Interrupts
  key: string
  /** An earlier try may have reached the server. */
  again?: boolean
  onTrouble(trouble: Trouble | null): void
  /** Shows a line to the user. */
  note(text: string): void
  /** Whether to try again if the server can't be reached. */
  patient: boolean
}

/**
 * Submits a video once. It is sent again only if certainly nothing was created: the server was too busy, or was never
 * reached.
 */
export async function submitOnce(client: Client, request: VideoRequest, submitting: Submitting): Promise<Task> {
  const { key, again = false, patient, interrupts, terminal, onTrouble, note } = submitting
  const isWorthRetrying = (error: unknown) => {
    if (error instanceof NetworkFailure) return patient && !error.sent
    return error instanceof ServerFailure && error.status === 429 && !isLasting(error.code ?? '')
  }
  const post = async () => {
    const onSignal = () => note('waiting for the response to the submit; a second signal ends at once')
    interrupts.first.addEventListener('abort', onSignal)
    try {
      return await client.submit(request, { key, again }, interrupts.second)
    } finally {
      interrupts.first.removeEventListener('abort', onSignal)
    }
  }
  return patiently(post, { terminal, signal: interrupts.first, onTrouble, isWorthRetrying })
}
