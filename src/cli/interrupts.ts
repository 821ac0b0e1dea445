import { setMaxListeners } from 'node:events'
import type { Terminal } from './terminal.ts'

/** Ctrl-C, or being asked to end: the first time is a request, the second is an order. */
export interface Interrupts extends Disposable {
  readonly first: AbortSignal
  readonly second: AbortSignal
  /** Whether the first was Ctrl-C: behind any other signal there is nobody who could answer a question. */
  byPerson(): boolean
}

export function listenForInterrupts(terminal: Terminal): Interrupts {
  const [first, second] = [new AbortController(), new AbortController()]
  // A batch waits on them in many places at once.
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
