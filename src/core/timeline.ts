import type { Json, Task, TaskEvent } from './task.ts'

/** An event of a step besides its change of state: a name, and a detail for the operator. */
export type Note = [name: string, detail?: Json]

/** The note before a video whose result can't be used is `running` again, although the provider does not generate it again. */
export const resultUnusable = 'result unusable: requesting a new link'

/** The events that a step adds to the timeline: its note, and the new state if it changed. */
export function eventsOf(before: Task, after: Task, at: number, note?: Note): TaskEvent[] {
  const events: TaskEvent[] = note ? [{ at, name: note[0], detail: note[1] ?? null }] : []
  if (after.state !== before.state) events.push({ at, name: after.state, detail: after.error && { ...after.error } })
  return events
}
