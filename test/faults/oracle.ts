import { isFinished } from '../../src/core/task.ts'
import type { History } from './simulation.ts'

export interface Verdict {
  tasks: number
  accepts: number
  /** Tasks whose outcome stayed unknown, each explained. */
  unknown: number
  orphans: number
  resubmits: number
  /** What must never be. */
  violations: string[]
}

/** Holds what the upstream accepted against what we recorded: the one thing that can't be argued with. */
export function judge({ recovery, onUnknown, tasks, attempts, upstream, crashes }: History): Verdict {
  const violations: string[] = []
  const bound = new Map(
    attempts.flatMap((attempt) => (attempt.operation === null ? [] : [[attempt.operation, attempt]])),
  )
  const careful = recovery === 'key' || recovery === 'lookup'
  let [unknown, resubmits] = [0, 0]
  for (const task of tasks) {
    const own = attempts.filter((attempt) => attempt.task === task.id)
    const accepts = upstream.accepts.filter(({ prompt }) => prompt === task.prompt)
    const approved = own.filter(({ state }) => state === 'abandoned').length
    const say = (what: string) =>
      violations.push(
        `${what}: ${task.prompt} (${recovery}, ${task.state} ${task.error?.code ?? ''}, faults ${(upstream.faults.get(task.prompt) ?? []).map(({ name }) => name)}, crashes ${crashes.get(task.prompt) ?? []}, attempts ${own.map(({ state }) => state)})`,
      )
    resubmits += Math.max(0, own.length - 1)
    if (!isFinished(task)) say('lost')
    if (own.filter(({ state }) => state === 'open').length > 0) say('an attempt is open although its task ended')
    if (accepts.length > 1 + approved) say(`${accepts.length} accepts`)
    const anew = own.some(({ state }, at) => state === 'abandoned' && at < own.length - 1)
    if (onUnknown === 'hold' && anew) say('resubmitted on its own')
    for (const { id } of accepts) {
      const flagged = own.some(({ state }) => state === 'abandoned' || state === 'orphan')
      if (!bound.has(id) && !flagged) say("an accept is nobody's")
      if (careful && bound.get(id)?.task !== task.id) say('an accept is not bound')
    }
    if (task.error?.code !== 'submission_unknown') continue
    unknown += 1
    const reason = crashes.has(task.prompt) || (upstream.faults.get(task.prompt) ?? []).length > 0
    if (careful) say('held, although duplicates are refused')
    else if (!reason) say('held without a reason')
  }
  const orphans = attempts.filter(({ state }) => state === 'orphan').length
  return { tasks: tasks.length, accepts: upstream.accepts.length, unknown, orphans, resubmits, violations }
}
