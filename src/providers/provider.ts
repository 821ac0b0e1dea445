import type { Readable } from 'node:stream'
import type { OperationForm, Recovery } from '../core/attempt.ts'
import type { CardTemplate } from '../core/catalog.ts'
import type { Problem } from '../core/problem.ts'
import type { Found } from '../core/recovery.ts'
import type { ImageType, Json, Parameters, Size, SourceKind, TaskUsage } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import type { Media } from '../media/media.ts'
import type { Upstream } from '../outbound.ts'

/** An entry of the list of providers. */
export interface Member {
  readonly cards: Cards
  /** It has neither a key nor an address, so it is available without configuration. */
  readonly needsNothing?: boolean
  /**
   * How many tasks an account accepts beyond its slots, each for an owner that has no other task there. Only for work on
   * this machine: a vendor's limit for an account is never exceeded.
   */
  readonly spareSlots?: number
  /** Its default address; filmgate.yaml may have another. */
  readonly baseUrl?: string
  /** Its key. Setting the vendor's usual environment variable is enough to have an account. */
  readonly key?: KeyRule
  /** The card of a model that it does not list. */
  readonly unlisted?: CardTemplate
  /** Names of models that it accepts besides its cards: an endpoint of the operator's own, a newer model. */
  readonly otherNames?: RegExp
  create(setting: Setting): Promise<Provider>
}

export interface KeyRule {
  readonly variable: string
  /** The variable has the path of a JSON file, and that file is the key. */
  readonly isFile?: true
}

export interface Setting {
  /** The provider's own folder in the data folder. */
  folder: string
  media: Media
}

/**
 * Generates videos. An adapter never sleeps, retries, or reads the clock or the environment: the engine does. Failed work and
 * a refusal are data. A failed request is thrown, with the observation (status, kind) as its cause and without the text of
 * the response, which may contain a key. An operation survives a restart of our process.
 */
export interface Provider {
  readonly name: string
  /** How long to wait between two polls of a young task. */
  readonly cadenceMs: number
  /** How to find out about a submit whose outcome is unknown. */
  readonly recovery: Recovery
  /** With `lookup`: a reference can't be used twice, so a submit that was not found may safely be sent again. */
  readonly refusesDuplicates?: true
  /**
   * What its operations look like. An operation of another form, from a response or typed by an operator, is refused: it
   * would be polled until the deadline. Everything that becomes part of a path must be checked here.
   */
  readonly operations?: OperationForm
  /**
   * Submits the work. Everything before `call.send` is preparation: uploads, credentials, the body. `call.send` is the only
   * billable request and is called once: it opens the connection, commits the attempt, and only then sends. After a failure
   * before it, or if the request surely did not leave, the task may be sent elsewhere; any other error leaves the outcome
   * unknown. An operation has up to 16 KiB of JSON.
   */
  submit(request: ProviderRequest, call: Call): Promise<Submitted>
  /** An unknown upstream status means running. An output has up to 16 KiB of JSON. */
  poll(operation: Json, call: Call): Promise<Progress>
  /**
   * Polls several operations in one request, for an API that takes several ids. An operation about which the response says
   * nothing clear is left out, and all are if it is refused: then each is polled on its own. Throws a Problem only if more
   * requests would not help, because the provider is away or busy.
   */
  readonly pollMany?: {
    readonly most: number
    poll(operations: readonly Json[], call: Call): Promise<ReadonlyMap<Json, Progress>>
  }
  /** The bytes of a succeeded poll's output. Throws `output_unavailable` if only a new poll can help. */
  download(output: Json, call: Call): Promise<Response>
  /** With `lookup` and `list`: the jobs there that may be this attempt's. Throws if the response is not usable. */
  find?(request: ProviderRequest, openedAt: number, call: Call): Promise<Found>
  /**
   * With `list`: the part of an attempt by which the list distinguishes two attempts; the default is the prompt. If it is
   * equal, `find` may return the job of one attempt for the other.
   */
  listedAs?(attempt: { id: string; prompt: string }): string
  /** Stops the work, if it can still be stopped. */
  cancel?(operation: Json, call: Call): Promise<'cancelled' | 'too_late'>
  /**
   * A request that is free and gets 2xx only with a valid key at the right address. Throws `generation_failed`, with what the
   * operator must do as its cause, if no submit would be accepted.
   */
  check?(call: Call): Promise<Response>
  /** The models that it has now, if it can list them. */
  discover?(call: Call): Promise<Cards>
  /** The operation is no longer needed: frees everything that is kept for it. May be called twice, or never. */
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

/** The video that this one is derived from. */
export interface ProviderSource {
  kind: SourceKind
  /** Its prompt, if it is one of our videos. */
  prompt: string | null
  /** `seconds` in the request of an extension includes these. */
  seconds: number
  /** Opens a new stream of its bytes; null if it is drawn again from its prompt. */
  video: (() => Promise<Readable>) | null
}

export interface Call extends Upstream {
  signal: AbortSignal
  /** One id for one submit to one account. It is our reference if the provider accepts one. */
  attemptId: string
  /** The account's key as it is configured now, which may not be the key that submitted the task: see docs/decisions. */
  credential: string | null
  /** Our clock, to compare with a provider's dates. */
  now(): number
}

export type Submitted = { operation: Json } | { refused: Refusal }

export type { Found }

export interface Refusal {
  problem: Problem
  /**
   * request  this task will never be accepted: it fails
   * account  our key, our credit or its setup is wrong: the account pauses, the task goes elsewhere or waits
   * busy     not now: the account pauses for as long as the provider asks, the task goes elsewhere or waits
   */
  blame: 'request' | 'account' | 'busy'
  /** The account is to blame because it has no credit left. */
  isCredit?: true
  /** The request is to blame because the provider does not know the model. */
  isModelUnknown?: true
  retryAfterMs?: number
}

export type Progress =
  | { status: 'running'; progress: number | null }
  /**
   * `note`: for the timeline, what the operator may want to know about the result. `usage`: what the provider bills, if it
   * says so; prices may depend on it.
   */
  | { status: 'succeeded'; output: Json; note?: Note; usage?: Pick<TaskUsage, 'outputTokens'> }
  | { status: 'failed'; problem: Problem }
  /** The provider does not know the operation. That may be temporary. */
  | { status: 'missing' }

export type Cards = readonly CardTemplate[]
