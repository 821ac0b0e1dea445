import type { Attempt } from '../../src/core/attempt.ts'
import { isFinished } from '../../src/core/task.ts'
import type { History } from './simulation.ts'
import { unaskedRepeats } from './unasked.ts'

export interface Verdict {
  tasks: number
  accepts: number
  /** Tasks whose outcome stayed unknown, each explained. */
  unknown: number
  orphans: number
  resubmits: number
  /** Tasks that ended without an outcome although the upstream never got a request. */
  stranded: number
  /** Requests after one of unknown outcome, without a successful lookup in between. */
  unaskedRepeats: number
  /** Completed tasks with the video of another. */
  wrongBytes: number
  /** Violations of the rules. */
  violations: string[]
}

/** Compares what the upstream accepted with what we recorded. */
export function judge({ recovery, onUnknown, tasks, attempts, upstream, crashes }: History): Verdict {
  const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]))
  const bound = new Map(attempts.flatMap((one) => (one.operation === null ? [] : [[one.operation, one.id]])))
  const submits = Map.groupBy(
    upstream.arrivals.filter(({ ask }) => ask === 'submit'),
    ({ reference }) => reference,
  )
  const careful = recovery === 'key' || recovery === 'lookup'
  const violations = upstream.accepts
    .filter(({ reference }) => !byId.has(reference))
    .map(({ prompt }) => `an accept is nobody's: ${prompt} (${recovery})`)
  const counts = { unknown: 0, resubmits: 0, stranded: 0, unaskedRepeats: 0, wrongBytes: 0 }
  for (const task of tasks) {
    const own = attempts.filter((attempt) => attempt.task === task.id)
    const accepts = upstream.accepts.filter(({ reference }) => byId.get(reference)?.task === task.id)
    const say = (what: string) =>
      violations.push(
        `${what}: ${task.prompt} (${recovery}, ${task.state} ${task.error?.code ?? ''}, faults ${(upstream.faults.get(task.prompt) ?? []).map(({ name }) => name)}, crashes ${crashes.get(task.prompt) ?? []}, attempts ${own.map(({ state }) => state)})`,
      )
    counts.resubmits += Math.max(0, own.length - 1)
    const sent = own.map((attempt) => ({ attempt, submits: submits.get(attempt.id) ?? [] }))
    // Without a lookup, the configuration decides that it is sent again all the same.
    const isDecided = recovery === 'none' && onUnknown === 'resubmit'
    const unasked = isDecided ? 0 : unaskedRepeats(sent, upstream.arrivals, recovery)
    if (unasked > 0) say('sent again, though no question was answered')
    counts.unaskedRepeats += unasked
    const job = upstream.accepts.find(({ id }) => id === task.video?.sha256)
    if (task.state === 'completed' && byId.get(job?.reference ?? '')?.task !== task.id) {
      say(`wrong bytes, of ${job?.prompt}`)
      counts.wrongBytes += 1
    }
    if (!isFinished(task)) say('lost')
    if (task.error?.code === 'internal') say('failed by us')
    if (own.some(({ state }) => state === 'open')) say('an attempt is open although its task ended')
    if (accepts.length > 1 + own.filter(isFlagged).length) say(`${accepts.length} accepts`)
    const anew = own.filter((attempt, at) => isFlagged(attempt) && at < own.length - 1).length
    // If each lookup proved that the engine has no such job, the task is sent a few times.
    const allowed = onUnknown !== 'resubmit' ? 0 : recovery === 'list' ? 3 : 1
    if (anew > allowed) say(`resubmitted on its own, ${anew} times`)
    for (const { id, reference } of accepts) {
      if (bound.get(id) === reference) continue
      const attempt = byId.get(reference)
      if (!attempt || !isFlagged(attempt)) say("an accept is nobody's, or another's")
      else if (careful) say('an accept is not bound')
    }
    if (task.error?.code !== 'submission_unknown') continue
    counts.unknown += 1
    if (sent.at(-1)?.submits.length === 0) counts.stranded += 1
    const reason = crashes.has(task.prompt) || (upstream.faults.get(task.prompt) ?? []).length > 0
    if (careful) say('held, although duplicates are refused')
    else if (!reason) say('held without a reason')
  }
  const orphans = attempts.filter(({ state }) => state === 'orphan').length
  return { tasks: tasks.length, accepts: upstream.accepts.length, orphans, ...counts, violations }
}

/** It may have cost money, and is shown to the operator. */
function isFlagged({ state }: Attempt): boolean {
  return state === 'abandoned' || state === 'orphan'
}
