import type { Unsent, UnsentNotes } from './unsent.ts'

/** They cost no disk. */
export function memoryUnsentNotes(): UnsentNotes {
  const notes = new Map<string, Unsent>()
  return {
    add: (unsent) => void notes.set(unsent.task, unsent),
    strike: (task) => void notes.delete(task),
    all: () => [...notes.values()],
    [Symbol.dispose]() {},
  }
}
