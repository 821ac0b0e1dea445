import type { Unsent, UnsentNotes } from './unsent.ts'

/** They cost no disk. */
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
