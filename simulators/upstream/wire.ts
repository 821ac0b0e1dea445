import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './answer.ts'
import type { Claim, Job, JobView, Mode, Submission } from './jobs.ts'

/**
 * The API of one provider. The upstream has the jobs, the film and the faults; a wire only reads requests and words answers,
 * as the provider documents them.
 */
export interface Wire {
  readonly mode: Mode
  /** Whether films are on a host of their own, which refuses a key. */
  readonly filmsApart: boolean
  newId(): string
  /** Decides by the head of the request alone. */
  isSubmit(head: Head): boolean
  /** What the request asks for. A wrong key, type or value is answered as the provider does. */
  read(asked: WireRequest, at: Place): Question | Promise<Question>
  /** The answer to an accepted submit. */
  accepted(job: Job, at: Place): Answer
  /** The answer to a submit whose reference or key was used before. */
  refused?(why: 'duplicate' | 'keyReused', before: string): Answer
  /** The answer to a poll. The claim may be untrue; a status without a word in this API is passed on as it is. */
  polled(job: Job, claim: Claim, at: Place, head: Head): Answer
  /** The answer to a lookup or a list, oldest first. */
  found?(jobs: readonly Job[], at: Place, head: Head): Answer
  /** Gets the state before the cancel. A provider that does not stop running jobs resets `job.end`. */
  cancelled?(job: Job, done: boolean, was: JobView, at: Place): Answer
  /** The answer for a job that does not exist. */
  unknown(id: string, head: Head): Answer
}

export type Question =
  | { ask: 'submit'; submission: Submission }
  | { ask: 'poll' | 'cancel'; id: string }
  /** The film itself, from the provider's own host. */
  | { ask: 'film'; id: string }
  /** An order names the subject to give this request a fault. */
  | { ask: 'find'; subject: string; matches(job: Job): boolean }
  | { ask: 'nothing'; answer: Answer }

/** The wire answers by itself: no job is involved. */
export function respond(answer: Answer): Question {
  return { ask: 'nothing', answer }
}

export type Fields = Record<string, unknown>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

/** The JSON object of a body; undefined if it is not one. */
export function parsed(body: Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export interface Head {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
}

export interface WireRequest extends Head {
  body: Buffer
}

export interface Place {
  /** The origin of the provider itself. */
  origin: string
  /** A link to the film of a job, valid for `linkMs` of the orders. */
  linkTo(job: Job): string
  viewOf(job: Job): JobView
  /** The film of the job, for a wire that puts films into its answers. */
  filmOf(job: Job): Uint8Array
}
