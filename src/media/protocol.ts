import { Problem, type ProblemCode } from '../core/problem.ts'
import type { UploadLimits } from '../core/source.ts'
import type { DecodedVideo, DrawnFilm, Film, ImageBytes, Still } from './media.ts'

/** What the parent asks of a child, one at a time. */
export type Request =
  | { kind: 'render'; film: Film }
  | { kind: 'verify'; path: string }
  | { kind: 'check'; path: string; limits: UploadLimits }
  | { kind: 'inspect'; image: ImageBytes }
  | { kind: Still; path: string }

/** What the child says while it works, and at the end. */
export type Told =
  | { kind: 'progress'; percent: number }
  | { kind: 'done'; value: Answer }
  | { kind: 'failed'; problem: { code: ProblemCode; message: string; retryable: boolean; cause: string | null } }

// biome-ignore lint/suspicious/noConfusingVoidType: one of the jobs has nothing to say.
export type Answer = DecodedVideo | DrawnFilm | Uint8Array | void

/** Where a film grows until it is complete. */
export function partOf(film: Film): string {
  return `${film.path}.part`
}

/**
 * The machine took the child away, gave it no time or no memory. That says nothing about its job, which has until its
 * deadline.
 */
export function tooBusy(cause: unknown): Problem {
  const message = 'The service is too busy right now. Try again shortly.'
  return new Problem('overloaded', message, { cause, retryable: true })
}
