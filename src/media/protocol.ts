import type { ProblemCode } from '../core/problem.ts'
import type { Film, ImageBytes, VideoFacts } from './media.ts'

/** What the parent asks of a child, one at a time. */
export type Request =
  | { kind: 'render'; film: Film }
  | { kind: 'verify'; path: string }
  | { kind: 'inspect'; image: ImageBytes }

/** What the child says while it works, and at the end. */
export type Told =
  | { kind: 'progress'; percent: number }
  | { kind: 'done'; value: Answer }
  | { kind: 'failed'; problem: { code: ProblemCode; message: string; retryable: boolean; cause: string | null } }

// biome-ignore lint/suspicious/noConfusingVoidType: two of the three jobs have nothing to say.
export type Answer = VideoFacts | void

/** Where a film grows until it is complete. */
export function partOf(film: Film): string {
  return `${film.path}.part`
}
