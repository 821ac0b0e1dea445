import type { Arrival } from '../../simulators/upstream.ts'
import type { Attempt, Recovery } from '../../src/core/attempt.ts'

/** What reached an upstream, as far as a repeat is judged by it. */
export type Reached = Pick<Arrival, 'ask' | 'at' | 'reference' | 'status'>

/** An attempt, and those submits that were its own. */
export interface Sent {
  attempt: Pick<Attempt, 'id' | 'state' | 'openedAt' | 'settledAt'>
  submits: readonly Reached[]
}

/** Moments of two processes are compared with so much patience. */
export const skewMs = 50

/**
 * How often a task was sent again after an attempt of unknown outcome, although no question for that attempt had been
 * answered since. A question that failed is not an answer. The attempts are in their order.
 */
export function unaskedRepeats(sent: readonly Sent[], reached: readonly Reached[], recovery: Recovery): number {
  // The same key gives the same job, which needs no question.
  if (recovery === 'key') return 0
  let repeats = 0
  for (const [at, { attempt, submits }] of sent.entries()) {
    const isAnswered = ({ ask, reference, status }: Reached) =>
      ask === 'find' && status !== null && status < 300 && (recovery === 'list' || reference === attempt.id)
    const answers = reached.filter(isAnswered)
    const isAsked = (from: number, to: number) => answers.some((find) => find.at > from && find.at < to)
    const moments = submits.map((submit) => submit.at)
    repeats += moments.slice(1).filter((to, before) => !isAsked(moments[before] ?? 0, to)).length
    const isUnknown = attempt.state !== 'accepted' && attempt.state !== 'refused'
    const next = sent[at + 1]?.submits[0]
    // It is too late to ask once the attempt is given up.
    const decidedAt = attempt.state === 'abandoned' ? (attempt.settledAt ?? 0) + skewMs : Number.POSITIVE_INFINITY
    const isLate = next && !isAsked(moments.at(-1) ?? attempt.openedAt, Math.min(next.at, decidedAt))
    if (isUnknown && isLate) repeats += 1
  }
  return repeats
}
