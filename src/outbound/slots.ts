export interface SlotLimits {
  inAll: number
  perOwner: number
}

/** Slots that owners share. */
export interface Slots {
  /** Runs the work once the owner has a slot, which the work keeps until it ends. The signal ends the waiting only. */
  use<T>(owner: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** No owner has more than its share, and owners that wait take turns: a long queue of one never delays another's first. */
export function openSlots({ inAll, perOwner }: SlotLimits): Slots {
  const used = new Map<string, number>()
  /** In the order of their turns. */
  const waiting = new Map<string, Set<() => void>>()
  let free = inAll

  function leave(owner: string, start: () => void): void {
    const line = waiting.get(owner)
    line?.delete(start)
    if (line?.size === 0) waiting.delete(owner)
  }

  function startNext(): void {
    for (const [owner, line] of waiting) {
      const [start] = line
      if (free === 0) return
      if (!start || (used.get(owner) ?? 0) >= perOwner) continue
      free -= 1
      used.set(owner, (used.get(owner) ?? 0) + 1)
      // Behind all others. The loop sees it again there, so that it takes what they leave.
      waiting.delete(owner)
      waiting.set(owner, line)
      leave(owner, start)
      start()
    }
  }

  function giveBack(owner: string): void {
    free += 1
    const left = (used.get(owner) ?? 1) - 1
    if (left > 0) used.set(owner, left)
    else used.delete(owner)
    startNext()
  }

  return {
    async use(owner, work, signal) {
      signal.throwIfAborted()
      const turn = Promise.withResolvers<void>()
      const giveUp = () => {
        leave(owner, turn.resolve)
        turn.reject(signal.reason)
      }
      waiting.set(owner, (waiting.get(owner) ?? new Set()).add(turn.resolve))
      signal.addEventListener('abort', giveUp, { once: true })
      startNext()
      try {
        await turn.promise
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
      try {
        return await work()
      } finally {
        giveBack(owner)
      }
    },
  }
}
