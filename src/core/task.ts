import type { Random } from './clock.ts'
import type { ProblemCode } from './problem.ts'

/*
 * Terminology, the same words in SQL, TypeScript, logs and docs:
 *   task       one video that a client asked for; the row that everything else hangs on
 *   state      where the task is inside; the client sees only the four statuses that `wireStatus` makes of it
 *   owner      the name of the access token that made the task; nobody else can see it
 *   provider   who makes the video; `operation` is its own opaque handle on the work, `output` on the result
 *   asset      bytes of ours in the bucket: the finished video, or the image that came with the request
 *   lease      the right to move a task on until a time; `fence` grows with each lease, so a late writer is known
 */

/** Each state names who moves a task out of it. */
export type State =
  | 'queued' //    workers/submit hands it to its provider
  | 'running' //   workers/poll asks the provider
  | 'storing' //   workers/collect copies the result into our bucket
  | 'completed' // workers/expire removes the bytes at `expiresAt`, and the row after the record retention
  | 'failed' //    workers/expire removes the inputs, and the row after the record retention

export type Status = 'queued' | 'in_progress' | 'completed' | 'failed'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface Asset {
  key: string
  bytes: number
  sha256: string
}

export interface Size {
  width: number
  height: number
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp'

/** The reference image: a URL until the worker fetched it, then bytes of ours. */
export type TaskImage = { url: string } | { asset: Asset; type: ImageType; size: Size }

export interface TaskError {
  code: ProblemCode
  message: string
}

/** All times are milliseconds since the epoch. */
export interface Task {
  readonly id: string
  readonly owner: string
  /** The model as it was asked for, which may be an alias. */
  readonly model: string
  readonly provider: string
  readonly upstreamModel: string
  readonly prompt: string
  readonly seconds: number
  readonly size: Size
  readonly createdAt: number
  image: TaskImage | null
  state: State
  progress: number
  startedAt: number | null
  completedAt: number | null
  expiresAt: number | null
  operation: Json
  output: Json
  video: Asset | null
  error: TaskError | null
  /** When the next action is due; null where none will ever be. While a lease is held: when it ends. */
  dueAt: number | null
  /** Failed tries of the present state's action. */
  tries: number
  fence: number
}

/** What a client may know of a task's progress. It never goes back: `startedAt` is set once. */
export function wireStatus(task: Pick<Task, 'state' | 'startedAt'>): Status {
  if (task.state === 'completed' || task.state === 'failed') return task.state
  return task.startedAt === null ? 'queued' : 'in_progress'
}

export function isFinished(task: Pick<Task, 'state'>): boolean {
  return task.state === 'completed' || task.state === 'failed'
}

/** `video_`, 12 hex of the millisecond, 36 hex of chance: in order of creation, and not to be guessed. */
export function newTaskId(now: number, random: Random): string {
  return `video_${now.toString(16).padStart(12, '0')}${Buffer.from(random(18)).toString('hex')}`
}

export function isTaskId(text: string): boolean {
  return /^video_[0-9a-f]{48}$/.test(text)
}
