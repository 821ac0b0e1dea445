import type { Random } from './clock.ts'
import type { ProblemCode } from './problem.ts'

/*
 * Terminology, the same words in SQL, TypeScript, logs and docs:
 *   task       one video that a client asked for; the row that everything else hangs on
 *   state      where the task is inside; the client sees only the four statuses that `wireStatus` makes of it
 *   owner      the name of the access token that made the task; nobody else can see it
 *   card       the model that makes it, by its own name; `model` is the name that was asked for, perhaps an alias
 *   account    a provider as the operator set it up, with one credential; the attempt pins the task to it
 *   attempt    one submit to one account; `operation` is the provider's own opaque handle on the work, `output` on the
 *              result
 *   asset      bytes of ours in the bucket: the finished video, or the image that came with the request
 *   lease      the right to move a task on until a time; `fence` grows with each lease, so a late writer is known
 */

/** Each state names who moves a task out of it. */
export type State =
  | 'fetching' //  workers/fetch gets the reference image that was given as a URL
  | 'queued' //    workers/submit opens an attempt and sends it
  | 'held' //      workers/submit finds out what became of an attempt that has no answer (yet)
  | 'running' //   workers/poll asks the provider
  | 'storing' //   workers/collect copies the result into our bucket
  | 'completed' // workers/expire removes the bytes at `expiresAt`, and the row after the record retention
  | 'failed' //    workers/expire removes the inputs, and the row after the record retention
// A deleted task, whatever its state, is moved by workers/discard.

export type Status = 'queued' | 'in_progress' | 'completed' | 'failed'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type Parameters = { readonly [name: string]: string | number | boolean }

/** What a client keeps with a video; it means nothing to us. */
export type Metadata = { readonly [name: string]: string | number | boolean }

export interface Asset {
  key: string
  bytes: number
  sha256: string
}

export interface Size {
  width: number
  height: number
}

/** What a stored video is, as the decoder measured it; the task's `seconds` and `size` are what was requested. */
export interface VideoFacts {
  /** As a player shows it. */
  width: number
  height: number
  /** In seconds, to the microsecond. */
  duration: number
  /** Frames in a second, on average. */
  frameRate: number
  codec: string
  bytes: number
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp'

/** The reference image: a URL until the worker fetched it, then bytes of ours. */
export type TaskImage = { url: string } | { asset: Asset; type: ImageType; size: Size }

export type SourceKind = 'remix' | 'edit' | 'extension'

/** What another film is made of. */
export interface TaskSource {
  kind: SourceKind
  /** One of our videos; null of an upload. */
  video: string | null
  /** That one's prompt, for a model that draws it anew. */
  prompt: string | null
  seconds: number
  /** A copy of its bytes, for it may be deleted or expire first; null where the model needs none. */
  asset: Asset | null
}

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
  readonly card: string
  readonly prompt: string
  readonly seconds: number
  readonly size: Size
  /** What this model takes beyond the common fields, by name. */
  readonly parameters: Parameters
  readonly metadata: Metadata | null
  readonly createdAt: number
  /** Tells a repeat of the same request from another one. */
  readonly digest: number
  /** It fails if it has not ended by then. */
  readonly finishBy: number
  /** What the client calls this request, so that a repeat of it makes no second task. */
  readonly idempotencyKey: string | null
  /** The video that this is another version of, as the client is told. */
  readonly remixedFrom: string | null
  readonly source: TaskSource | null
  image: TaskImage | null
  state: State
  progress: number
  /** It fails if no provider has it by then. */
  startBy: number
  startedAt: number | null
  /** Since when its provider does not know the operation or, if there is an output, since when that is of no use. */
  missingAt: number | null
  completedAt: number | null
  expiresAt: number | null
  /** Where it is, or was last. */
  account: string | null
  /** The last attempt; open while the task is held. */
  attempt: string | null
  attempts: number
  /** Accounts that did not take it in this round, or where it failed: others come first. */
  tried: readonly string[]
  operation: Json
  output: Json
  video: Asset | null
  /** Stays when the bytes are removed. Null until the task is completed, and on tasks that an older version completed. */
  videoFacts: VideoFacts | null
  /** Sentences for the client and the operator about how the video differs from the request. */
  warnings: readonly string[]
  error: TaskError | null
  /** When the next action is due; null where none will ever be. While a lease is held: when it ends. */
  dueAt: number | null
  /** Failed tries of the present state's action. */
  tries: number
  fence: number
  /** Deleting is orthogonal to the state: the client sees nothing any more, a worker still has to let go of it. */
  readonly deletedAt: number | null
}

/** What it takes to answer a client. A poll reads no more of a row than this, which halves its cost. */
export type TaskView = Pick<Task, 'id' | 'model' | 'prompt' | 'seconds' | 'size' | 'createdAt' | 'state' | 'progress'> &
  Pick<
    Task,
    'startedAt' | 'completedAt' | 'expiresAt' | 'error' | 'remixedFrom' | 'videoFacts' | 'warnings' | 'metadata'
  >

/** What a client decides about a task; the rest is ours. */
export type Submission = Pick<Task, 'id' | 'owner' | 'prompt' | 'seconds' | 'size' | 'parameters' | 'image'> &
  Pick<Task, 'model' | 'card' | 'digest' | 'startBy' | 'finishBy'> &
  Partial<Pick<Task, 'idempotencyKey' | 'remixedFrom' | 'source' | 'metadata'>>

/** Something that happened to a task, for the operator. */
export interface TaskEvent {
  at: number
  name: string
  detail: Json
}

/** As `seconds` reports a duration: never 0. */
export function wholeSeconds(duration: number): number {
  return Math.max(1, Math.round(duration))
}

/** A task as it begins, due at once. */
export function queueTask(submission: Submission, now: number): Task {
  return {
    ...{ idempotencyKey: null, remixedFrom: null, source: null, metadata: null },
    ...submission,
    state: submission.image && 'url' in submission.image ? 'fetching' : 'queued',
    ...{ progress: 0, tries: 0, fence: 0, createdAt: now, dueAt: now },
    ...{ startedAt: null, missingAt: null, completedAt: null, expiresAt: null, deletedAt: null },
    ...{ account: null, attempt: null, attempts: 0, tried: [] },
    ...{ operation: null, output: null, video: null, videoFacts: null, warnings: [], error: null },
  }
}

/** What a client may know of a task's progress. It never goes back: `startedAt` is set once. */
export function wireStatus(task: Pick<Task, 'state' | 'startedAt'>): Status {
  if (task.state === 'completed' || task.state === 'failed') return task.state
  return task.startedAt === null ? 'queued' : 'in_progress'
}

export function isFinished(task: Pick<Task, 'state'>): boolean {
  return task.state === 'completed' || task.state === 'failed'
}

/** How much text these tasks carry: a prompt is the one field that may be long. */
export function promptBytes(tasks: readonly Pick<Task, 'prompt'>[]): number {
  return tasks.reduce((sum, { prompt }) => sum + Buffer.byteLength(prompt), 0)
}

/** Whether it is so much. Of short prompts their lengths tell, which costs a list less than to count their bytes. */
export function hasPromptBytes(tasks: readonly Pick<Task, 'prompt'>[], bytes: number): boolean {
  let length = 0
  for (const { prompt } of tasks) length += prompt.length
  return length * 3 >= bytes && promptBytes(tasks) >= bytes
}

/** `video_`, 12 hex of the millisecond, 36 hex of chance: in order of creation, and not to be guessed. */
export function newTaskId(now: number, random: Random): string {
  return `video_${now.toString(16).padStart(12, '0')}${Buffer.from(random(18)).toString('hex')}`
}

export function isTaskId(text: string): boolean {
  return /^video_[0-9a-f]{48}$/.test(text)
}
