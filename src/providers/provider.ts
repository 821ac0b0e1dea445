import type { Readable } from 'node:stream'
import type { OperationForm, Recovery } from '../core/attempt.ts'
import type { CardTemplate } from '../core/catalog.ts'
import type { Problem } from '../core/problem.ts'
import type { Found } from '../core/recovery.ts'
import type { ImageType, Json, Parameters, Size, SourceKind } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import type { Media } from '../media/media.ts'
import type { Upstream } from '../outbound.ts'

/** What the list of providers has of each. */
export interface Member {
  readonly cards: Cards
  /** It has neither key nor address: it is available without being configured. */
  readonly needsNothing?: boolean
  /**
   * How many tasks an account takes beyond its slots, each of an owner that has no other there. Only for work that shares
   * this machine: what a vendor allows an account is never exceeded.
   */
  readonly spareSlots?: number
  /** Its address unless filmgate.yaml has another. */
  readonly baseUrl?: string
  /** Its key. The vendor's usual environment variable is enough to have an account there. */
  readonly key?: KeyRule
  /** The card of a model that it does not list. */
  readonly unlisted?: CardTemplate
  /** Other names of models that it accepts beside its cards: an endpoint of the operator's own, a newer model. */
  readonly otherNames?: RegExp
  create(setting: Setting): Promise<Provider>
}

export interface KeyRule {
  readonly variable: string
  /** The variable names a file of JSON, which is the key. */
  readonly isFile?: true
}

export interface Setting {
  /** The provider's own folder in the data folder. */
  folder: string
  media: Media
}

/**
 * Who makes videos. A member never sleeps, retries, reads the clock or the environment: the engine does. Failure of the
 * work, and a refusal to take it, are data; failure of the way there is thrown, with what was seen (status, kind) as its
 * cause and without a word of the answer, which may hold a key. An operation survives a restart of ours.
 */
export interface Provider {
  readonly name: string
  /** How long to wait between two polls of a young task. */
  readonly cadenceMs: number
  /** What it offers after a submit whose outcome is unknown. */
  readonly recovery: Recovery
  /** With `lookup`: a reference can't be used twice, so what was not found may safely be sent again. */
  readonly refusesDuplicates?: true
  /**
   * What its operations look like. An answer that names another is one that nobody can use, and so is what an operator
   * types: it would be polled in vain until the deadline. Whatever becomes part of a path has to be judged here.
   */
  readonly operations?: OperationForm
  /**
   * Submits the work. Everything before `call.send` prepares: uploads, credentials, the body. `call.send` is the one
   * billable request, made once: it opens the connection, commits the attempt, and only then sends. What fails before it,
   * or where it surely did not leave, may be sent elsewhere; whatever else is thrown leaves the outcome unknown. Nothing
   * that `call.fetch` throws says anything about it. An operation that an upstream names has up to 16 KiB of JSON.
   */
  submit(request: ProviderRequest, call: Call): Promise<Submitted>
  /** An unknown upstream status means running. An output has up to 16 KiB of JSON. */
  poll(operation: Json, call: Call): Promise<Progress>
  /** The bytes of a succeeded poll's output. Throws `output_unavailable` where only a new poll can help. */
  download(output: Json, call: Call): Promise<Response>
  /** With `lookup` and `list`: what it has that may be this attempt's. Throws if the question got no usable answer. */
  find?(request: ProviderRequest, openedAt: number, call: Call): Promise<Found>
  /**
   * With `list`: the part of an attempt by which its list tells two attempts apart; the prompt if it is left out. Where it
   * is equal, `find` may name the work of one for the other.
   */
  listedAs?(attempt: { id: string; prompt: string }): string
  /** Stops the work, if it can still be stopped. */
  cancel?(operation: Json, call: Call): Promise<'cancelled' | 'too_late'>
  /**
   * The cheapest question that only a good key at the right place gets 2xx for. It costs nothing. Throws
   * `generation_failed`, with what the operator has to do as its cause, where no submit would be accepted.
   */
  check?(call: Call): Promise<Response>
  /** The models that it has at this moment, where it can be asked. */
  discover?(call: Call): Promise<Cards>
  /** Nothing more is wanted of this operation: let go of what is kept for it. May be called twice, or never. */
  forget?(operation: Json, call: Call): Promise<void>
}

export interface ProviderRequest {
  model: string
  prompt: string
  seconds: number
  size: Size
  parameters: Parameters
  image: InputImage | null
  /** Only for a model whose card says that it `makes` this kind. */
  source?: ProviderSource
}

export interface InputImage {
  type: ImageType
  bytes: Uint8Array
}

/** Another video that this one is made of. */
export interface ProviderSource {
  kind: SourceKind
  /** What it was asked for by, where it is one of ours. */
  prompt: string | null
  /** `seconds` of the request of an extension counts these in. */
  seconds: number
  /** Its bytes, each time anew; null where it is drawn anew. */
  video: (() => Promise<Readable>) | null
}

export interface Call extends Upstream {
  signal: AbortSignal
  /** One id for one submit to one account, used wherever the provider takes a reference of ours. */
  attemptId: string
  /** The account's key as it is configured now, whichever took the task: docs/decisions has why. */
  credential: string | null
  /** Our clock, for a date that a provider names. */
  now(): number
}

export type Submitted = { operation: Json } | { refused: Refusal }

export type { Found }

export interface Refusal {
  problem: Problem
  /**
   * request  this task will never be taken: it fails
   * account  our key, our credit or its setup is at fault: the account pauses, the task goes elsewhere or waits
   * busy     not now: the account pauses as long as it asks for, the task goes elsewhere or waits
   */
  blame: 'request' | 'account' | 'busy'
  retryAfterMs?: number
}

export type Progress =
  | { status: 'running'; progress: number | null }
  /** `note`: for the timeline, what the operator may want to know of the result. */
  | { status: 'succeeded'; output: Json; note?: Note }
  | { status: 'failed'; problem: Problem }
  /** It does not know the operation. That may pass. */
  | { status: 'missing' }

export type Cards = readonly CardTemplate[]
