/** Thrown where the other side took longer than we wait; its name is that of the platform's own timeouts. */
export class Late extends Error {
  override readonly name = 'TimeoutError'
}

export function isTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && /Timeout/.test(thrown.name)
}

export interface Patience {
  /** The longest silence within a body. */
  idleMs: number
  /** The fewest bytes that have to come in each such time. */
  pace?: { bytes: number; overMs: number }
}

/**
 * Calls back once, unless undone before; undone, it leaves nothing behind (the platform drops the timer with it). What
 * lies in the socket by then is read first: a process that was paused finds its timers over, and the answer there.
 */
export function after(ms: number, call: () => void): () => void {
  const timeout = AbortSignal.timeout(ms)
  let last: NodeJS.Immediate | undefined
  const over = () => {
    last = setImmediate(call)
  }
  timeout.addEventListener('abort', over, { once: true })
  return () => {
    timeout.removeEventListener('abort', over)
    clearImmediate(last)
  }
}

const LOOKS = 4

/**
 * Tells when a body comes too slowly. It looks a few times within each deadline, because a timer for each chunk would
 * cost more than the chunk. Only looks that find somebody waiting count: a slow reader is no fault of the sender.
 */
export class Watch {
  readonly #patience: Patience
  readonly #everyMs: number
  readonly #isWaiting: () => boolean
  readonly #onLate: (late: Late) => void
  #silentLooks = 0
  #pacedLooks = 0
  #pacedBytes = 0
  #undo: () => void

  constructor(patience: Patience, isWaiting: () => boolean, onLate: (late: Late) => void) {
    this.#patience = patience
    this.#everyMs = Math.ceil(Math.min(patience.idleMs, patience.pace?.overMs ?? patience.idleMs) / LOOKS)
    this.#isWaiting = isWaiting
    this.#onLate = onLate
    this.#undo = after(this.#everyMs, () => this.#look())
  }

  received(bytes: number): void {
    this.#silentLooks = 0
    this.#pacedBytes += bytes
  }

  stop(): void {
    this.#undo()
  }

  #look(): void {
    const fault = this.#isWaiting() ? this.#judge() : undefined
    if (fault !== undefined) this.#onLate(new Late(fault))
    else this.#undo = after(this.#everyMs, () => this.#look())
  }

  #judge(): string | undefined {
    const { idleMs, pace } = this.#patience
    this.#silentLooks += 1
    this.#pacedLooks += 1
    // More than, because the first look may come right after a chunk.
    if (this.#silentLooks * this.#everyMs > idleMs) return 'nothing came any more'
    if (pace === undefined || this.#pacedLooks * this.#everyMs < pace.overMs) return undefined
    const slow = this.#pacedBytes < pace.bytes
    this.#pacedLooks = 0
    this.#pacedBytes = 0
    return slow ? 'it came too slowly' : undefined
  }
}
