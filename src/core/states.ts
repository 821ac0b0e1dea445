import type { Asset, Json, State, Task, TaskError, TaskImage, TaskUsage, VideoFacts } from './task.ts'

/** A worker's decision about a task. Fields that are left out stay as they are. */
export interface Change {
  state?: State
  /** When the next action is due. */
  dueAt: number | null
  progress?: number
  startBy?: number
  missingAt?: number | null
  attempt?: string | null
  attempts?: number
  tried?: readonly string[]
  image?: TaskImage | null
  operation?: Json
  output?: Json
  video?: Asset | null
  videoFacts?: VideoFacts
  warnings?: readonly string[]
  error?: TaskError
  usage?: TaskUsage
  tries?: number
  startedAt?: number
  completedAt?: number
  expiresAt?: number
}

const next: Record<State, readonly State[]> = {
  fetching: ['fetching', 'queued', 'failed'],
  queued: ['queued', 'held', 'failed'],
  held: ['held', 'running', 'queued', 'failed'],
  running: ['running', 'storing', 'queued', 'failed'],
  storing: ['storing', 'completed', 'running', 'queued', 'failed'],
  completed: ['completed'],
  failed: ['failed'],
}

/**
 * The task after a change. It enforces the rules for all workers: only the transitions above; progress never falls, and
 * reaches 100 only on completion; a failed task has an error; a completed task has its video and the facts about it.
 */
export function apply(task: Task, change: Change): Task {
  const after: Task = { ...task, ...change }
  if (!next[task.state].includes(after.state)) throw new Error(`a task can't go from ${task.state} to ${after.state}`)
  after.startedAt = task.startedAt ?? change.startedAt ?? null
  after.progress =
    after.state === 'completed' ? 100 : Math.max(task.progress, Math.min(99, Math.floor(after.progress) || 0))
  if (after.state === 'failed' && after.error === null) throw new Error('a failed task needs its error')
  if (task.state !== 'completed' && after.state === 'completed') {
    if (after.video === null || after.videoFacts === null || after.completedAt === null || after.expiresAt === null)
      throw new Error('a completed task needs its video, its facts and its times')
  }
  return after
}
