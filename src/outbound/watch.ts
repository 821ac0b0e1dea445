/** The other side took too long. It has the name of the platform's own timeouts. */
export class DeadlineError extends Error {
  override readonly name = 'TimeoutError'
}

export function isTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && /Timeout/.test(thrown.name)
}

export interface BodyDeadlines {
  /** The longest pause within a body. */
  idleMs: number
  /** At least `bytes` have to arrive within each `overMs`. */
  pace?: { bytes: number; overMs: number }
}

/**
 * Calls back once, unless it is cancelled before. Bytes that are in the socket by then are read first: after a pause of the
 * process all timers are due, although the response may have arrived in time.
 */
export function after(ms: number, call: () => void): () => void {
  let last: NodeJS.Immediate | undefined
  // Not AbortSignal.timeout: each costs several times as much, and lasts until it is collected.
  const timer = setTimeout(() => {
    last = setImmediate(call)
  }, ms).unref()
  return () => {
    clearTimeout(timer)
    clearImmediate(last)
  }
}

/**
 * A signal that aborts with the first of the others, or after that time, until it is disposed of. Not AbortSignal.any: it
 * costs several times as much, and leaves a trace in each of its signals until it is collected.
 */
export function openStop(
  signals: readonly AbortSignal[],
  ms: number,
  late: string,
): Disposable & { signal: AbortSignal } {
  const stop = new AbortController()
  const follow = () => stop.abort(signals.find(({ aborted }) => aborted)?.reason)
  for (const signal of signals) signal.addEventListener('abort', follow, { once: true })
  const cancelTimer = after(ms, () => stop.abort(new DeadlineError(late)))
  if (signals.some(({ aborted }) => aborted)) follow()
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      cancelTimer()
      for (const signal of signals) signal.removeEventListener('abort', follow)
    },
  }
}

const CHECKS = 4

/**
 * Reports a body that arrives too slowly. It checks a few times within each deadline, because a timer for each chunk would
 * cost more than the chunk. Only checks that find a waiting reader count: a slow reader is not the sender's fault.
 */
export class BodyWatch {
  readonly #deadlines: BodyDeadlines
  readonly #everyMs: number
  readonly #isWaiting: () => boolean
  readonly #onError: (error: DeadlineError) => void
  #silentChecks = 0
  #pacedChecks = 0
  #pacedBytes = 0
  #cancel: () => void

  constructor(deadlines: BodyDeadlines, isWaiting: () => boolean, onError: (error: DeadlineError) => void) {
    this.#deadlines = deadlines
    this.#everyMs = Math.ceil(Math.min(deadlines.idleMs, deadlines.pace?.overMs ?? deadlines.idleMs) / CHECKS)
    this.#isWaiting = isWaiting
    this.#onError = onError
    this.#cancel = after(this.#everyMs, () => this.#check())
  }

  received(bytes: number): void {
    this.#silentChecks = 0
    this.#pacedBytes += bytes
  }

  stop(): void {
    this.#cancel()
  }

  #check(): void {
    const fault = this.#isWaiting() ? this.#faultNow() : undefined
    if (fault !== undefined) this.#onError(new DeadlineError(fault))
    else this.#cancel = after(this.#everyMs, () => this.#check())
  }

  #faultNow(): string | undefined {
    const { idleMs, pace } = this.#deadlines
    this.#silentChecks += 1
    this.#pacedChecks += 1
    // Not >=, because the first check may come right after a chunk.
    if (this.#silentChecks * this.#everyMs > idleMs) return 'no more bytes arrived'
    if (pace === undefined || this.#pacedChecks * this.#everyMs < pace.overMs) return undefined
    const isSlow = this.#pacedBytes < pace.bytes
    this.#pacedChecks = 0
    this.#pacedBytes = 0
    return isSlow ? 'the body arrived too slowly' : undefined
  }
}
