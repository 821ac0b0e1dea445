import type { Arrival } from '../../simulators/upstream.ts'
import type { Attempt, Recovery } from '../../src/core/attempt.ts'

/** What reached an upstream, as far as it matters for repeats. */
export type Reached = Pick<Arrival, 'ask' | 'at' | 'reference' | 'status'>

/** An attempt and its submits. */
export interface Sent {
  attempt: Pick<Attempt, 'id' | 'state' | 'openedAt' | 'settledAt'>
  submits: readonly Reached[]
}

/** The tolerance when times of two processes are compared. */
export const skewMs = 50

/**
 * How often a task was sent again after an attempt of unknown outcome without a successful lookup in between. A failed
 * lookup does not count. The attempts are in order.
 */
export function unaskedRepeats(sent: readonly Sent[], reached: readonly Reached[], recovery: Recovery): number {
  // The same key gives the same job: no lookup is needed.
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
    // A lookup after the attempt was given up is too late.
    const decidedAt = attempt.state === 'abandoned' ? (attempt.settledAt ?? 0) + skewMs : Number.POSITIVE_INFINITY
    const isLate = next && !isAsked(moments.at(-1) ?? attempt.openedAt, Math.min(next.at, decidedAt))
    if (isUnknown && isLate) repeats += 1
  }
  return repeats
}
