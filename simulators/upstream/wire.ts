import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './answer.ts'
import type { Claim, Job, JobView, Mode, Submission } from './jobs.ts'

/**
 * How one provider speaks. The upstream keeps the jobs, has the film and goes wrong; a wire only reads what is asked
 * and words what is answered, as the provider's documentation has it.
 */
export interface Wire {
  readonly mode: Mode
  /** Whether films lie on a host of their own, which takes a key for a mistake. */
  readonly filmsApart: boolean
  newId(): string
  /** By the head of the request alone. */
  isSubmit(head: Head): boolean
  /** What is asked for. What is wrong with it is answered as the provider does: a key, a type, a value. */
  read(asked: Asked, at: Place): Question | Promise<Question>
  /** To an accepted submit. */
  accepted(job: Job, at: Place): Answer
  /** A submit whose reference or whose key was used before. */
  refused?(why: 'duplicate' | 'keyReused', before: string): Answer
  /** To a poll. What is claimed may be untrue: a status that it has no word for is said as it is. */
  polled(job: Job, claim: Claim, at: Place, head: Head): Answer
  /** To a question for jobs, the oldest first. */
  found?(jobs: readonly Job[], at: Place, head: Head): Answer
  /** Gets what it was before. Who does not stop what runs takes back its end. */
  cancelled?(job: Job, done: boolean, was: JobView, at: Place): Answer
  /** To whoever asks for a job that is not there. */
  unknown(id: string, head: Head): Answer
}

export type Question =
  | { ask: 'submit'; submission: Submission }
  | { ask: 'poll' | 'cancel'; id: string }
  /** The film itself, from the provider's own host. */
  | { ask: 'film'; id: string }
  /** The subject is what an order names to spoil this question. */
  | { ask: 'find'; subject: string; matches(job: Job): boolean }
  | { ask: 'nothing'; answer: Answer }

/** What is wrong with a request is answered by the wire itself. */
export function no(answer: Answer): Question {
  return { ask: 'nothing', answer }
}

export type Fields = Record<string, unknown>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

/** The object that a body has as JSON; undefined if it has none. */
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

export interface Asked extends Head {
  body: Buffer
}

export interface Place {
  /** Of the provider itself. */
  origin: string
  /** To the film of a job, good for as long as the orders say. */
  linkTo(job: Job): string
  viewOf(job: Job): JobView
  /** What the job makes, for a wire whose films are inside its answers. */
  filmOf(job: Job): Uint8Array
}
