import type { Healths, Presence } from '../core/account.ts'
import type { AttemptFact } from '../core/attempt.ts'
import type { Spill } from './spill.ts'
import type { Unsent, UnsentNotes } from './unsent.ts'

/* What an engine needs beside its store, in memory: no disk, no other processes. */

export function memorySpill(): Spill {
  const facts = new Map<string, AttemptFact>()
  return {
    keep: (fact) => void facts.set(fact.id, fact),
    drop: (attempt) => void facts.delete(attempt),
    setAside: (attempt) => void facts.delete(attempt),
    all: () => [...facts.values()],
  }
}

export function memoryUnsentNotes(): UnsentNotes {
  let notes: Unsent[] = []
  return {
    add: (unsent) => void notes.push(unsent),
    strike(task) {
      notes = notes.filter((note) => note.task !== task)
    },
    all: () => [...notes],
    [Symbol.dispose]() {},
  }
}

export const noHealths: Healths & Presence = {
  report: async () => {},
  refresh: async () => {},
  beat: async () => {},
  isGone: () => false,
  processes: () => 1,
}
