import { Problem } from './problem.ts'

/**
 * A few slots that owners share. A free slot goes to the owner that holds the fewest, and among equals to the owner
 * whose last turn is the longest ago. However many requests one owner has, another owner waits only for those that are
 * running.
 */
export interface FairTurns {
  /**
   * Resolves with a slot; disposing of it gives it back. Throws the reason of the signal if that aborts first, and
   * `rate_limit_exceeded` if the owner already has too many requests waiting.
   */
  take(owner: string, signal?: AbortSignal): Promise<Disposable>
}

interface FairOptions {
  slots: number
  /** How many slots one owner may hold. If that is fewer than all, other owners find a free slot. */
  mostHeld?: number
  /** How many requests of one owner may wait; no limit by default. */
  mostWaiting?: number
  /** What waits, for the error message: "images". */
  what?: string
}

interface Line {
  held: number
  waiting: Set<() => void>
  /** When it was created or its last turn ended, as a counter. */
  since: number
}

export function openFairTurns(options: FairOptions): FairTurns {
  const { slots, mostHeld = slots, mostWaiting = Number.POSITIVE_INFINITY, what = 'requests' } = options
  let free = slots
  let moments = 0
  /** Only of owners that hold a slot or wait. */
  const lines = new Map<string, Line>()

  function admit(): void {
    while (free > 0) {
      const line = nextOf(lines.values(), mostHeld)
      const [enter] = line?.waiting ?? []
      if (!line || !enter) return
      line.waiting.delete(enter)
      line.held += 1
      free -= 1
      enter()
    }
  }

  function forgetIfDone(owner: string, { held, waiting }: Line): void {
    if (held === 0 && waiting.size === 0) lines.delete(owner)
  }

  function giveBack(owner: string, line: Line): void {
    line.held -= 1
    line.since = ++moments
    free += 1
    admit()
    forgetIfDone(owner, line)
  }

  function lineOf(owner: string): Line {
    const line = lines.get(owner) ?? { held: 0, waiting: new Set(), since: ++moments }
    lines.set(owner, line)
    return line
  }

  return {
    async take(owner, signal) {
      signal?.throwIfAborted()
      if ((lines.get(owner)?.waiting.size ?? 0) >= mostWaiting) throw tooManyWaiting(mostWaiting, what)
      const line = lineOf(owner)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      line.waiting.add(resolve)
      const leave = () => {
        if (!line.waiting.delete(resolve)) return
        forgetIfDone(owner, line)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      admit()
      await promise.finally(() => signal?.removeEventListener('abort', leave))
      const slot = once(() => giveBack(owner, line))
      // The turn and the abort may have come at the same moment.
      if (!signal?.aborted) return slot
      slot[Symbol.dispose]()
      throw signal.reason
    },
  }
}

function nextOf(lines: Iterable<Line>, mostHeld: number): Line | undefined {
  let best: Line | undefined
  for (const line of lines) {
    if (line.waiting.size === 0 || line.held >= mostHeld) continue
    if (!best || line.held < best.held || (line.held === best.held && line.since < best.since)) best = line
  }
  return best
}

function once(act: () => void): Disposable {
  let isDone = false
  return {
    [Symbol.dispose]() {
      if (!isDone) act()
      isDone = true
    },
  }
}

function tooManyWaiting(most: number, what: string): Problem {
  const message = `This token has ${most} ${what} waiting already. Try again shortly.`
  return new Problem('rate_limit_exceeded', message, { retryable: true })
}
