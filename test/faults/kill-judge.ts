import type { Accept, Arrival, Ledger, Mark, Mode } from '../../simulators/upstream.ts'
import type { Attempt } from '../../src/core/attempt.ts'
import { isFinished, type Task } from '../../src/core/task.ts'
import { isUnclear, type Target, targetOf, tellsApart } from './targets.ts'
import { type Sent, skewMs, unaskedRepeats } from './unasked.ts'

/** One kill: when it was sent, and when the process was surely gone. */
export interface Kill {
  at: number
  ended: number
}

/** One data folder after all of its kills, once everything has settled. Times are by the clock of the upstreams. */
export interface KilledWorld {
  tasks: readonly { task: Task; attempts: readonly Attempt[] }[]
  ledgers: ReadonlyMap<string, Ledger>
  kills: readonly Kill[]
  /** The jobs whose bytes completed tasks have. */
  marks: ReadonlyMap<string, Mark | undefined>
}

/** What is counted for each target. */
export interface Columns {
  tasks: number
  accepts: number
  /** Tasks whose outcome can't be found out, each explained. */
  held: number
  /** Tasks that stay held, or fail, without an outcome, although the upstream never got a request. */
  stranded: number
  /** Requests after one of unknown outcome, without a successful lookup in between. */
  unaskedRepeats: number
  /** Completed tasks with the video of another. */
  wrongBytes: number
}

export interface Judgement extends Columns {
  /** Attempts that a kill cut off between intent and outcome, and those of them that the upstream had accepted. */
  cut: number
  cutAfterAccept: number
  byTarget: Record<string, Columns>
  violations: string[]
}

export function noColumns(): Columns {
  return { tasks: 0, accepts: 0, held: 0, stranded: 0, unaskedRepeats: 0, wrongBytes: 0 }
}

export function addColumns(sum: Columns, more: Columns): void {
  for (const name of Object.keys(noColumns()) as (keyof Columns)[]) sum[name] += more[name]
}

/** How many tasks a kill may strand, on average. */
const mostStranded = 0.1

/** With fewer kills a rate means nothing. */
const fewestKills = 100

export function strandedPerKill(
  { stranded }: Columns,
  kills: number,
): { strandedPerKill: number; violations: string[] } {
  const each = stranded / Math.max(1, kills)
  const text = `${stranded} tasks are stranded by ${kills} kills: ${each.toFixed(2)} for each, not below ${mostStranded}`
  return {
    strandedPerKill: Math.round(each * 1_000) / 1_000,
    violations: kills < fewestKills || each < mostStranded ? [] : [text],
  }
}

/** The upstream responds at once: a request that was sent this long before a kill had its response. */
const answeredMs = 5_000

/** Compares what the upstreams accepted with what a killed gateway recorded. */
export function judgeKills(world: KilledWorld): Judgement {
  const { tasks, ledgers } = world
  const violations = acceptsOfNobody(world)
  const sum = noColumns()
  const byTarget: Record<string, Columns> = Object.fromEntries([...ledgers.keys()].map((name) => [name, noColumns()]))
  const unclear = Map.groupBy(
    tasks.filter(({ attempts }) => attempts.some(({ state }) => state === 'open')),
    ({ task }) => task.prompt,
  )
  for (const one of tasks) {
    const { task } = one
    const { columns, wrong } = judgeTask(world, one, (unclear.get(task.prompt) ?? []).length > 1)
    addColumns(sum, columns)
    addColumns(byTarget[task.card] ?? noColumns(), columns)
    violations.push(...wrong)
  }
  return { ...sum, ...cutsOf(world), byTarget, violations }
}

/** `isAlike`: another task of unknown outcome is identical. */
function judgeTask(
  { ledgers, kills, marks }: KilledWorld,
  { task, attempts }: KilledWorld['tasks'][number],
  isAlike: boolean,
): { columns: Columns; wrong: string[] } {
  const target = targetOf(task.card)
  const ledger = ledgers.get(task.card) ?? noLedger
  const names = ledger.faults.filter(({ prompt }) => prompt === task.prompt).map(({ fault }) => fault)
  const isOwn = ({ reference, prompt }: Pick<Arrival, 'reference' | 'prompt'>) =>
    target.dialect ? prompt === task.prompt : attempts.some(({ id }) => id === reference)
  const own = ledger.accepts.filter(isOwn)
  const submits = ledger.arrivals.filter((one) => one.ask === 'submit' && isOwn(one))
  const sent = sentOf(target, attempts, submits)
  const mark = marks.get(task.id)
  const columns: Columns = {
    tasks: 1,
    accepts: own.length,
    held: Number(task.state === 'held'),
    stranded: Number(isStranded(task, sent)),
    unaskedRepeats: unaskedRepeats(sent, ledger.arrivals, target.mode),
    wrongBytes: Number(task.state === 'completed' && !isMadeBy(mark, own, attempts)),
  }
  // A listed job may belong to either of two identical tasks: then the list does not help.
  const offers = target.mode === 'list' && (isAlike || !tellsApart(target)) ? 'none' : target.mode
  const ended = { task, attempts, names, own, kills, mayResubmit: target.dialect !== undefined }
  const found = [
    ...judgeAccepts(offers, ended),
    ...judgeEnd(offers, ended),
    ...(columns.unaskedRepeats > 0 ? ['sent again, though no question was answered'] : []),
    ...(columns.wrongBytes > 0 ? [`wrong bytes, of ${JSON.stringify(mark ?? null)}`] : []),
  ]
  const detail = `${task.prompt}, ${task.id} ${task.state} ${task.error?.code ?? ''}, faults [${names}], attempts [${attempts.map(({ state }) => state)}], accepts ${own.length}`
  return { columns, wrong: found.map((problem) => `${problem}: ${detail}`) }
}

const noLedger: Ledger = { accepts: [], requests: 0, submits: 0, faults: [], arrivals: [] }

function acceptsOfNobody({ tasks, ledgers }: KilledWorld): string[] {
  const attempts = new Set(tasks.flatMap((one) => one.attempts.map(({ id }) => id)))
  const prompts = new Set(tasks.map(({ task }) => task.prompt))
  return [...ledgers].flatMap(([name, { accepts }]) =>
    accepts
      .filter(({ reference, prompt }) =>
        targetOf(name).dialect ? !prompts.has(prompt) : !attempts.has(reference ?? ''),
      )
      .map(({ prompt }) => `an accept of no attempt: ${prompt} (${name})`),
  )
}

function cutsOf({ tasks, ledgers, kills }: KilledWorld): Pick<Judgement, 'cut' | 'cutAfterAccept'> {
  const cuts = tasks.flatMap(({ task, attempts }) =>
    attempts
      .flatMap((attempt) => (cutOf(attempt, kills) ?? []) as { attempt: Attempt; kill: Kill }[])
      .map((one) => ({ task, ...one })),
  )
  const isAccepted = ({ task, attempt, kill }: (typeof cuts)[number]) =>
    ledgers.get(task.card)?.accepts.some(({ reference, prompt, at }) => {
      const isOwn = reference === null ? prompt === task.prompt && at >= attempt.openedAt : reference === attempt.id
      return isOwn && at <= kill.ended
    })
  return { cut: cuts.length, cutAfterAccept: cuts.filter(isAccepted).length }
}

/** Assigns submits to attempts. Without references, submits between two attempts belong to the first of them. */
function sentOf({ dialect }: Target, attempts: readonly Attempt[], submits: readonly Arrival[]): Sent[] {
  const ordered = attempts.toSorted((one, other) => one.number - other.number)
  const sorted = submits.toSorted((one, other) => one.at - other.at)
  return ordered.map((attempt, index) => {
    const from = attempt.openedAt - skewMs
    const until = (ordered[index + 1]?.openedAt ?? Number.POSITIVE_INFINITY) - skewMs
    const isIts = ({ reference, at }: Arrival) => (dialect ? at >= from && at < until : reference === attempt.id)
    return { attempt, submits: sorted.filter(isIts) }
  })
}

/** The task waits for the outcome of an attempt that was never sent, or was given up without one. */
function isStranded({ state, error }: Task, sent: readonly Sent[]): boolean {
  if (state !== 'held' && error?.code !== 'submission_unknown') return false
  return sent.at(-1)?.submits.length === 0
}

/** Its job was accepted for this task, and belongs to its attempt. */
function isMadeBy(mark: Mark | undefined, accepts: readonly Accept[], attempts: readonly Attempt[]): boolean {
  const isOwn = accepts.some(({ id }) => id === mark?.id)
  return isOwn && attempts.some(({ operation, state }) => operation === mark?.id && state === 'accepted')
}

/** Every accepted job must be recorded on its attempt, or its attempt must be flagged. */
function judgeAccepts(
  mode: Mode,
  { attempts, own: accepts, mayResubmit }: Pick<Ended, 'attempts' | 'own' | 'mayResubmit'>,
): string[] {
  const approved = givenUpOf(attempts, mayResubmit)
  const found = accepts.length > 1 + approved ? [`paid ${accepts.length} times`] : []
  for (const { id, reference, at } of accepts) {
    const isIts = (attempt: Attempt) => reference === null || attempt.id === reference
    const bound = attempts.some(
      (one) => isIts(one) && one.operation === id && (one.state === 'accepted' || one.state === 'orphan'),
    )
    const flagged = attempts.some((one) => isIts(one) && (one.state === 'open' || one.state === 'abandoned'))
    // The list has had the job since then, even without details.
    const followed = attempts.filter((one) => attempts.some(({ number }) => number > one.number))
    const isListed = followed.some(({ state, settledAt }) => state === 'abandoned' && (settledAt ?? 0) > at)
    if (!bound && mayResubmit && isListed) found.push('sent again, although it was listed')
    if (!bound && mode !== 'none') found.push('an accept is not bound')
    else if (!bound && !flagged) found.push("an accept is nobody's")
  }
  return found
}

interface Ended {
  task: Task
  attempts: readonly Attempt[]
  names: readonly string[]
  own: readonly Accept[]
  kills: readonly Kill[]
  /** A request that was not accepted may be sent once more without the operator. */
  mayResubmit: boolean
}

function judgeEnd(mode: Mode, { task, attempts, names, own, kills, mayResubmit }: Ended): string[] {
  const open = attempts.filter(({ state }) => state === 'open')
  const givenUp = givenUpOf(attempts, mayResubmit)
  const mayEnd = mayResubmit && givenUp === mostUnknown && task.error?.code === 'submission_unknown'
  if (givenUp > (mayResubmit ? mostUnknown - 1 : 0) && !mayEnd) return ['given up, though nobody decided so']
  if (task.state === 'held') return judgeHeld(mode, open, names, own, kills)
  if (!isFinished(task)) return ['not finished']
  if (open.length > 0) return ['an attempt is open although its task ended']
  const refused = names.some((name) => /submit-(400|404|413|415|422)-/.test(name))
  if (task.state === 'failed' && !refused && !mayEnd) return ['failed without a reason']
  return []
}

/** After a second attempt of unknown outcome there is no third. */
const mostUnknown = 2

/** Attempts that were given up. If the engine responds to one after another was sent, that is an orphan. */
function givenUpOf(attempts: readonly Attempt[], mayResubmit: boolean): number {
  return attempts.filter(({ state }) => state === 'abandoned' || (mayResubmit && state === 'orphan')).length
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

function cutOf(attempt: Attempt, kills: readonly Kill[]): { attempt: Attempt; kill: Kill } | undefined {
  const kill = kills.find(({ ended }) => ended >= attempt.openedAt)
  const cut = kill !== undefined && (attempt.settledAt ?? Number.POSITIVE_INFINITY) > kill.ended
  return cut ? { attempt, kill } : undefined
}
