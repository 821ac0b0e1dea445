import { setMaxListeners } from 'node:events'
import type { Terminal } from './terminal.ts'

/** Ctrl-C and other signals: the first asks the command to end, the second ends it at once. */
export interface Interrupts extends Disposable {
  readonly first: AbortSignal
  readonly second: AbortSignal
  /** Whether the first was Ctrl-C. After any other signal there is no user to ask. */
  byPerson(): boolean
}

export function listenForInterrupts(terminal: Terminal): Interrupts {
  const [first, second] = [new AbortController(), new AbortController()]
  // A batch has many listeners at once.
  setMaxListeners(0, first.signal, second.signal)
  let byPerson = false
  const listening = terminal.onInterrupt((name) => {
    if (!first.signal.aborted) byPerson = name === 'SIGINT'
    const next = first.signal.aborted ? second : first
    next.abort()
  })
  return {
    first: first.signal,
    second: second.signal,
    byPerson: () => byPerson,
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
