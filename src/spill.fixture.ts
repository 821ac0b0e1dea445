import type { AttemptFact } from './core/attempt.ts'
import type { Spill } from './spill.ts'

/** One that costs no disk. */
export function memorySpill(): Spill {
  const facts = new Map<string, AttemptFact>()
  return {
    keep: (fact) => void facts.set(fact.id, fact),
    drop: (attempt) => void facts.delete(attempt),
    setAside: (attempt) => void facts.delete(attempt),
    all: () => [...facts.values()],
  }
}
