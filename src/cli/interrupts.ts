import { setMaxListeners } from 'node:events'
import type { Terminal } from './terminal.ts'

/** Ctrl-C, or being asked to end: the first time is a request, the second is an order. */
export interface Interrupts extends Disposable {
  readonly first: AbortSignal
  readonly second: AbortSignal
}

export function listenForInterrupts(terminal: Terminal): Interrupts {
  const [first, second] = [new AbortController(), new AbortController()]
  // A batch waits on them in many places at once.
  setMaxListeners(0, first.signal, second.signal)
  const listening = terminal.onInterrupt(() => (first.signal.aborted ? second : first).abort())
  return { first: first.signal, second: second.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
