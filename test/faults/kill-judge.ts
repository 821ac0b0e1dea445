import type { Accept, Ledger, Mode } from '../../simulators/upstream.ts'
import type { Attempt } from '../../src/core/attempt.ts'
import { isFinished, type Task } from '../../src/core/task.ts'

/** One kill: when it was ordered, and when the process was gone for sure. */
export interface Kill {
  at: number
  ended: number
}

/** One data folder after all its kills, once everything has settled that can. */
export interface KilledWorld {
  tasks: readonly { task: Task; attempts: readonly Attempt[] }[]
  ledgers: ReadonlyMap<Mode, Ledger>
  kills: readonly Kill[]
}

export interface Judgement {
  tasks: number
  accepts: number
  /** Attempts that a kill cut off between intent and outcome, and those of them that the upstream had taken by then. */
  cut: number
  cutAfterAccept: number
  /** Tasks whose outcome can't be found out, each explained. */
  held: number
  violations: string[]
}

/** The upstream answers at once: what was sent longer before a kill than this had its answer. */
const answeredMs = 5_000

/** Holds what four upstreams accepted against what one killed gateway recorded. */
export function judgeKills({ tasks, ledgers, kills }: KilledWorld): Judgement {
  const violations: string[] = []
  const accepts = [...ledgers].flatMap(([mode, ledger]) => ledger.accepts.map((accept) => ({ mode, ...accept })))
  const known = new Set(tasks.flatMap(({ attempts }) => attempts.map(({ id }) => id)))
  for (const { mode, prompt, reference } of accepts)
    if (!known.has(reference ?? '')) violations.push(`an accept of no attempt: ${prompt} (${mode})`)
  const unclear = Map.groupBy(
    tasks.filter(({ attempts }) => attempts.some(({ state }) => state === 'open')),
    ({ task }) => task.prompt,
  )
  for (const { task, attempts } of tasks) {
    const mode = task.card.replace('sim-', '') as Mode
    const faults = (ledgers.get(mode)?.faults ?? []).filter(({ prompt }) => prompt === task.prompt)
    const own = accepts.filter(({ reference }) => attempts.some(({ id }) => id === reference))
    const names = faults.map(({ fault }) => fault)
    // What is listed for two that are the same may be either's: then a list is as good as none.
    const alike = mode === 'list' && (unclear.get(task.prompt) ?? []).length > 1
    const offers = alike ? 'none' : mode
    const told = [...judgeAccepts(offers, attempts, own), ...judgeEnd(offers, { task, attempts, names, own, kills })]
    const detail = `${task.prompt}, ${task.id} ${task.state} ${task.error?.code ?? ''}, faults [${names}], attempts [${attempts.map(({ state }) => state)}], accepts ${own.length}`
    for (const what of told) violations.push(`${what}: ${detail}`)
  }
  const all = tasks.flatMap(({ attempts }) => attempts)
  const cuts = all.flatMap((attempt) => cutOf(attempt, kills) ?? [])
  const cutAfterAccept = cuts.filter(({ attempt, kill }) =>
    accepts.some(({ reference, at }) => reference === attempt.id && at <= kill.ended),
  )
  return {
    ...{ tasks: tasks.length, accepts: accepts.length, cut: cuts.length, cutAfterAccept: cutAfterAccept.length },
    held: tasks.filter(({ task }) => task.state === 'held').length,
    violations,
  }
}

/** Every accept has to be found on the attempt that it is of, or at least on one that is flagged. */
function judgeAccepts(mode: Mode, attempts: readonly Attempt[], accepts: readonly Accept[]): string[] {
  const approved = attempts.filter(({ state }) => state === 'abandoned').length
  const told = accepts.length > 1 + approved ? [`paid ${accepts.length} times`] : []
  for (const { id, reference } of accepts) {
    const attempt = attempts.find((one) => one.id === reference)
    const bound = attempt?.operation === id && (attempt.state === 'accepted' || attempt.state === 'orphan')
    const flagged = attempt?.state === 'open' || attempt?.state === 'abandoned'
    if (!bound && mode !== 'none') told.push('an accept is not bound')
    else if (!bound && !flagged) told.push("an accept is nobody's")
  }
  return told
}

interface Ended {
  task: Task
  attempts: readonly Attempt[]
  names: readonly string[]
  own: readonly Accept[]
  kills: readonly Kill[]
}

function judgeEnd(mode: Mode, { task, attempts, names, own, kills }: Ended): string[] {
  const open = attempts.filter(({ state }) => state === 'open')
  if (attempts.some(({ state }) => state === 'abandoned')) return ['given up, though nobody decided so']
  if (task.state === 'held') return judgeHeld(mode, open, names, own, kills)
  if (!isFinished(task)) return ['not finished']
  if (open.length > 0) return ['an attempt is open although its task ended']
  const refused = names.some((name) => /submit-(400|404|413|415|422)-/.test(name))
  if (task.state === 'failed' && !refused) return ['failed without a reason']
  return []
}

function judgeHeld(
  mode: Mode,
  [open, ...more]: readonly Attempt[],
  names: readonly string[],
  accepts: readonly Accept[],
  kills: readonly Kill[],
): string[] {
  if (!open || more.length > 0) return [`held with ${open ? more.length + 1 : 0} open attempts`]
  if (mode === 'key' || mode === 'lookup') return ['held, although duplicates are refused']
  if (mode === 'list' && accepts.length > 0) return ['held, although it is listed']
  const killed = kills.some(({ at, ended }) => ended >= open.openedAt && at - open.openedAt < answeredMs)
  return killed || names.some(isUnclear) ? [] : ['held without a reason']
}

/** Not a refusal, after which everybody knows where he stands. */
export function isUnclear(name: string): boolean {
  return !/^submit-(4(?!08|09)\d\d)/.test(name)
}

function cutOf(attempt: Attempt, kills: readonly Kill[]): { attempt: Attempt; kill: Kill } | undefined {
  const kill = kills.find(({ ended }) => ended >= attempt.openedAt)
  const cut = kill !== undefined && (attempt.settledAt ?? Number.POSITIVE_INFINITY) > kill.ended
  return cut ? { attempt, kill } : undefined
}
