/*
 * Slots that owners share. An owner holds at most as many as are free: the first gets half of them, the next half of
 * the rest, and so on. So a few owners never hold all slots while another owner waits.
 */
export interface Slots {
  hasSlot(owner: string): boolean
  take(owner: string): void
}

/** `holders` has the owner of each slot in use. */
export function openSlots(total: number, holders: Iterable<string> = []): Slots {
  const held = new Map<string, number>()
  let free = total
  const slots: Slots = {
    hasSlot: (owner) => (held.get(owner) ?? 0) < free,
    take(owner) {
      held.set(owner, (held.get(owner) ?? 0) + 1)
      free -= 1
    },
  }
  for (const owner of holders) slots.take(owner)
  return slots
}

/** The order of owners if there are more of them than free slots. */
export interface Rotation {
  /** The owner that was served longest ago comes first. */
  inTurn(owners: readonly string[]): string[]
  serve(owner: string): void
}

export function openRotation(): Rotation {
  const served = new Map<string, number>()
  let turn = 0
  const lastTurn = (owner: string) => served.get(owner) ?? 0
  return {
    inTurn(owners) {
      const waiting = new Set(owners)
      for (const owner of served.keys()) if (!waiting.has(owner)) served.delete(owner)
      return [...owners].sort((one, other) => lastTurn(one) - lastTurn(other))
    },
    serve(owner) {
      turn += 1
      served.set(owner, turn)
    },
  }
}

/** Lets each owner take one, then one more, until none can. `takeOne` returns whether the owner could. */
export function takeInRounds(owners: readonly string[], takeOne: (owner: string) => boolean): void {
  for (let waiting = owners; waiting.length > 0; ) waiting = waiting.filter(takeOne)
}
