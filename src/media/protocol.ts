import type { ProblemCode } from '../core/codes.ts'
import { Problem } from '../core/problem.ts'
import type { UploadLimits } from '../core/source.ts'
import type { Verification } from '../core/verification.ts'
import type { DecodedVideo, DrawnFilm, Film, ImageBytes, Still } from './media.ts'

/** A job for a child. It gets one at a time. */
export type JobRequest =
  | { kind: 'render'; film: Film }
  | { kind: 'verify'; path: string; how: Verification }
  | { kind: 'check'; path: string; limits: UploadLimits }
  | { kind: 'inspect'; image: ImageBytes }
  | { kind: Still; path: string }

/** A message of the child, during a job and at its end. */
export type ChildMessage =
  | { kind: 'progress'; percent: number }
  | { kind: 'done'; value: JobResult }
  | { kind: 'failed'; problem: { code: ProblemCode; message: string; retryable: boolean; cause: string | null } }

// biome-ignore lint/suspicious/noConfusingVoidType: one of the jobs has no result.
export type JobResult = DecodedVideo | DrawnFilm | Uint8Array | void

/** The cause of a problem after which the child still works on its job, and can't be interrupted: it is killed. */
export const stillBusy = 'the demuxer is still reading the header'

/** Where a film is written until it is complete. */
export function partOf(film: Film): string {
  return `${film.path}.part`
}

/** The machine killed the child, or gave it too little CPU time or memory. The job may be retried until its deadline. */
export function tooBusy(cause: unknown): Problem {
  const message = 'The service is too busy right now. Try again shortly.'
  return new Problem('overloaded', message, { cause, retryable: true })
}
