import { hash } from 'node:crypto'
import type { Random } from './clock.ts'
import type { ProblemCode } from './codes.ts'

/*
 * Terminology, the same words in SQL, TypeScript, logs and docs:
 *   task       one video that a client created; the central row
 *   state      the internal state of the task; clients see only the four statuses of `wireStatus`
 *   owner      the name of the access token that created the task; no other client can see it
 *   card       the model that generates it, by its own name; `model` is the name in the request, perhaps an alias
 *   account    a provider as the operator configured it, with one credential; the attempt pins the task to it
 *   attempt    one submit to one account; `operation` is the provider's opaque handle for the work, `output` for the
 *              result
 *   asset      bytes in our bucket: the finished video, or the image of the request
 *   lease      the right to change a task until a time; `fence` grows with each lease, so a late writer is recognised
 */

/** The worker that moves a task out of each state. */
export const states = [
  'fetching', //  workers/fetch downloads the reference image that was given as a URL
  'queued', //    workers/submit opens an attempt and sends it
  'held', //      workers/submit sends an attempt, or finds out the outcome of one without a response
  'running', //   workers/poll polls the provider
  'storing', //   workers/collect copies the result into our bucket
  'completed', // workers/expire removes the bytes at `expiresAt`, and the row after the record retention
  'failed', //    workers/expire removes the inputs, and the row after the record retention
] as const
// A deleted task, whatever its state, is moved by workers/discard.
export type State = (typeof states)[number]

export const statuses = ['queued', 'in_progress', 'completed', 'failed'] as const
export type Status = (typeof statuses)[number]

/** Why a task is not finished yet, for clients. It names no account and no provider. */
export const statusDetails = [
  'fetching_image', //    its reference image is being downloaded
  'waiting_for_slot', //  it waits for a slot of its model or of its owner
  'model_unavailable', // no account of its model accepts tasks now
  'submitting', //        it is being sent, or whether it was accepted is being found out
  'generating',
  'storing',
] as const
export type StatusDetail = (typeof statusDetails)[number]

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type Parameters = { readonly [name: string]: string | number | boolean }

/** The longest prompt that a request may have, in characters. */
export const maxPromptLength = 32_000

/** What a client stores with a video. The service does not use it. */
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

/** A stored video as the decoder measured it. The task's `seconds` and `size` are the requested ones. */
export interface VideoFacts {
  /** As a player shows it. */
  width: number
  height: number
  /** In seconds, to the microsecond. */
  duration: number
  /** Average frames per second. */
  frameRate: number
  codec: string
  bytes: number
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp'

/** The reference image: a URL until the worker has fetched it, then an asset. */
export type TaskImage = { url: string } | { asset: Asset; type: ImageType; size: Size }

export const sourceKinds = ['remix', 'edit', 'extension'] as const
export type SourceKind = (typeof sourceKinds)[number]

/** The video that another one is derived from. */
export interface TaskSource {
  kind: SourceKind
  /** The id of a video of this service; null for an upload. */
  video: string | null
  /** Its prompt, for a model that generates it again. */
  prompt: string | null
  seconds: number
  /** A copy of its bytes, as it may be deleted or expire first; null if the model needs none. */
  asset: Asset | null
}

export interface TaskError {
  code: ProblemCode
  message: string
}

/** A quantity and its unit price, as decimal text. */
export interface PricePart {
  readonly quantity: number
  readonly price: string
  /** The quantity is the maximum. The provider reports the real one. */
  readonly metered?: true
}

/** The price of a task, frozen at its submit. Amounts are in micros: see `core/money.ts`. */
export interface TaskPrice {
  readonly currency: string
  /** The most that its owner pays. It is reserved at the submit. */
  readonly charge: number
  /** The most that the provider charges for one attempt; null if that is unknown. */
  readonly cost: number | null
  /** Whether the provider charges for a failure. */
  readonly billsFailures: boolean
  /** How both are computed, if the provider reports what it used. */
  readonly metered?: { readonly charge: readonly PricePart[]; readonly cost: readonly PricePart[] | null }
}

/** What a task used: reported by its provider, and charged at its end. */
export interface TaskUsage {
  readonly outputTokens?: number
  /** In micros, once the task has ended. */
  readonly cost?: number
  readonly currency?: string
}

/** All times are milliseconds since the epoch. */
export interface Task {
  readonly id: string
  readonly owner: string
  /** The id of the token that created it (`idOf`); null if an earlier release created it. */
  readonly token: string | null
  /** The model name in the request, which may be an alias. */
  readonly model: string
  readonly card: string
  readonly prompt: string
  readonly seconds: number
  readonly size: Size
  /** Parameters of the model besides the common fields, by name. */
  readonly parameters: Parameters
  readonly metadata: Metadata | null
  readonly createdAt: number
  /** Equal for repeats of the same request. */
  readonly digest: number
  /** It fails if it has not ended by then. */
  readonly finishBy: number
  /** The client's Idempotency-Key: a repeat of the request creates no second task. */
  readonly idempotencyKey: string | null
  /** The video that this is another version of, as clients see it. */
  readonly remixedFrom: string | null
  readonly source: TaskSource | null
  /** Null if it is free. */
  readonly price: TaskPrice | null
  /** Its trace, as `toTaskTrace` writes it; null if tracing was off when it was created. */
  readonly trace: string | null
  image: TaskImage | null
  state: State
  progress: number
  /** It fails if no provider has accepted it by then. */
  startBy: number
  startedAt: number | null
  /** Since when the provider does not know the operation or, if there is an output, since when that is unusable. */
  missingAt: number | null
  completedAt: number | null
  expiresAt: number | null
  /** The account that it is submitted to, or was last. */
  account: string | null
  /** The last attempt; open while the task is held. */
  attempt: string | null
  attempts: number
  /** Accounts that refused or failed it in this round: others are tried first. */
  tried: readonly string[]
  operation: Json
  output: Json
  video: Asset | null
  /** Kept when the bytes are removed. Null until the task is completed, and on tasks that an older version completed. */
  videoFacts: VideoFacts | null
  /** Sentences for the client and the operator about how the video differs from the request. */
  warnings: readonly string[]
  error: TaskError | null
  /** Null if nothing was reported or charged. */
  usage: TaskUsage | null
  /** When the next action is due; null if there is none. While a lease is held: when it ends. */
  dueAt: number | null
  /** Failed tries of the current action. */
  tries: number
  fence: number
  /** Independent of the state: the client no longer sees the task, and a worker still has to clean up. */
  readonly deletedAt: number | null
}

/** The fields that clients see. A poll reads no more of a row, which halves its cost. */
export type TaskView = Pick<Task, 'id' | 'model' | 'prompt' | 'seconds' | 'size' | 'createdAt' | 'state' | 'progress'> &
  Pick<
    Task,
    | 'startedAt'
    | 'completedAt'
    | 'expiresAt'
    | 'error'
    | 'remixedFrom'
    | 'videoFacts'
    | 'warnings'
    | 'metadata'
    | 'usage'
  >

/** The part of a task that comes from the request. */
export type Submission = Pick<Task, 'id' | 'owner' | 'prompt' | 'seconds' | 'size' | 'parameters' | 'image'> &
  Pick<Task, 'model' | 'card' | 'digest' | 'startBy' | 'finishBy'> &
  Partial<Pick<Task, 'token' | 'idempotencyKey' | 'remixedFrom' | 'source' | 'metadata' | 'price' | 'trace'>>

/** An entry of a task's timeline, for the operator. */
export interface TaskEvent {
  at: number
  name: string
  detail: Json
}

/** A duration as `seconds` reports it: never 0. */
export function wholeSeconds(duration: number): number {
  return Math.max(1, Math.round(duration))
}

/** A new task, due at once. */
export function queueTask(submission: Submission, now: number): Task {
  return {
    token: null,
    idempotencyKey: null,
    remixedFrom: null,
    source: null,
    metadata: null,
    price: null,
    trace: null,
    ...submission,
    state: submission.image && 'url' in submission.image ? 'fetching' : 'queued',
    progress: 0,
    tries: 0,
    fence: 0,
    createdAt: now,
    dueAt: now,
    startedAt: null,
    missingAt: null,
    completedAt: null,
    expiresAt: null,
    deletedAt: null,
    account: null,
    attempt: null,
    attempts: 0,
    tried: [],
    operation: null,
    output: null,
    video: null,
    videoFacts: null,
    warnings: [],
    error: null,
    usage: null,
  }
}

/** The status that clients see. It never goes back: `startedAt` is set once. */
export function wireStatus(task: Pick<Task, 'state' | 'startedAt'>): Status {
  if (task.state === 'completed' || task.state === 'failed') return task.state
  return task.startedAt === null ? 'queued' : 'in_progress'
}

export function isFinished(task: Pick<Task, 'state'>): boolean {
  return task.state === 'completed' || task.state === 'failed'
}

const detailsByState: Readonly<Record<Exclude<State, 'queued'>, StatusDetail | null>> = {
  fetching: 'fetching_image',
  held: 'submitting',
  running: 'generating',
  storing: 'storing',
  completed: null,
  failed: null,
}

/** Null if the task is finished. `isAvailable`: whether an account could accept it now, if it is queued. */
export function statusDetail({ state }: Pick<Task, 'state'>, isAvailable: boolean): StatusDetail | null {
  if (state !== 'queued') return detailsByState[state]
  return isAvailable ? 'waiting_for_slot' : 'model_unavailable'
}

/**
 * How many bytes of a task are in our bucket: its video, and the images and videos of its request; null if there are none. A
 * finished task without a video has lost its source, or is about to. Pictures of a video do not count.
 */
export function storedBytes({ video, image, source, state }: Task): number | null {
  const hasSource = video !== null || !isFinished({ state })
  const assets = [video, image && 'asset' in image ? image.asset : null, hasSource ? (source?.asset ?? null) : null]
  return assets.reduce((sum, asset) => sum + (asset?.bytes ?? 0), 0) || null
}

/** The size of these tasks' text: the prompt is the only field that may be long. */
export function promptBytes(tasks: readonly Pick<Task, 'prompt'>[]): number {
  return tasks.reduce((sum, { prompt }) => sum + Buffer.byteLength(prompt), 0)
}

/** Whether their prompts have at least that many bytes. The length of short prompts decides it without counting bytes. */
export function hasPromptBytes(tasks: readonly Pick<Task, 'prompt'>[], bytes: number): boolean {
  let length = 0
  for (const { prompt } of tasks) length += prompt.length
  return length * 3 >= bytes && promptBytes(tasks) >= bytes
}

/** `video_`, 12 hex digits of the millisecond, 36 random ones: ids are in order of creation and can't be guessed. */
export function newTaskId(now: number, random: Random): string {
  return `${firstIdAt(now)}${Buffer.from(random(18)).toString('hex')}`
}

/** Tasks that were created at that time or later have this id or a greater one. */
export function firstIdAt(ms: number): string {
  return `video_${ms.toString(16).padStart(12, '0')}`
}

export const taskIdForm = /^video_[0-9a-f]{48}$/

export function isTaskId(text: string): boolean {
  return taskIdForm.test(text)
}

/** What makes two requests the same one. The image is the SHA-256 of its bytes, or its URL. */
interface RequestContent extends Pick<Task, 'card' | 'prompt' | 'seconds' | 'size' | 'parameters'> {
  image: string | null
  metadata?: Metadata | null
  /** The names of parameters that were left out. */
  ignored?: readonly string[]
  /** The source video: its id, or the digest of its bytes. */
  source?: string | null
}

/** 48 bits keep the index small. Together with the owner and the hour they are enough to tell requests apart. */
export function digestRequest(request: RequestContent): number {
  const { card, prompt, seconds, size, parameters, image, source = null, metadata = null, ignored = [] } = request
  const fields: unknown[] = [card, prompt, seconds, size.width, size.height, sortedEntries(parameters), image]
  // An absent field leaves the digest as it was in versions without that field.
  if (source !== null) fields.push(source)
  if (metadata !== null) fields.push(sortedEntries(metadata))
  if (ignored.length > 0) fields.push({ ignored })
  return Number.parseInt(hash('sha256', JSON.stringify(fields), 'hex').slice(0, 12), 16)
}

function sortedEntries(values: Metadata): [string, unknown][] {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))
}
