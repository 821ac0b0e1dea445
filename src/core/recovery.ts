import type { AccountView } from './account.ts'
import { type Attempt, type AttemptFact, operationKey, type Recovery, type Rival } from './attempt.ts'
import { isPaused } from './health.ts'
import type { Change } from './states.ts'
import type { Json, Task, TaskError } from './task.ts'
import { holdMs, lookUntil, nextLook, settleMs } from './timing.ts'

/*
 * Recovery of a submit whose outcome is unknown: its sender died, or its response could not be read. The whole policy is
 * here, without I/O: `recover` says what to do next, and `workers/submit` and `workers/discard` do it. The outcomes below
 * are written once, for the workers and for the operator's decisions.
 */

/** What is known of a submit without a response. */
export interface UnknownSubmit {
  task: Pick<Task, 'finishBy'>
  attempt: Pick<Attempt, 'state' | 'operation' | 'openedAt' | 'keyVersion' | 'problem'>
  /** All attempts of the task; null until they were read. */
  attempts: readonly Pick<Attempt, 'state'>[] | null
  account: Pick<AccountView, 'keyVersion' | 'onUnknown' | 'health'> & {
    provider: { readonly recovery: Recovery; readonly refusesDuplicates?: true }
  }
  /** Null until the provider was asked. */
  lookup: Lookup | null
  /** The owner deleted the task: nothing is sent again. */
  isDeleted: boolean
  now: number
}

/**
 * The result of a lookup:
 *   found    this operation belongs to the attempt
 *   absent   the provider responded, and has no work that may belong to the attempt
 *   unsure   the provider responded, and its response does not tell
 *   failed   the provider did not respond, which proves nothing
 */
export type Lookup = (Finding | { is: 'failed' }) & { askedAt: number }

export type Finding = { is: 'found'; operation: Json } | { is: 'absent' | 'unsure' }

/** An operation to go on with. `adopted`: a lookup found it; the provider did not name it in a response to the submit. */
export type Acceptance = Pick<Attempt, 'operation' | 'adopted'>

/** What to do next about a submit without a response. */
export type RecoveryStep =
  /** Look it up at the provider, then recover again. */
  | { do: 'ask' }
  /** Read all attempts of the task, then recover again. */
  | { do: 'count' }
  | ({ do: 'accept' } & Acceptance)
  /** The refusal was recorded meanwhile. */
  | { do: 'refuse' }
  /** Send the same attempt again: the provider recognises it. */
  | { do: 'repeat' }
  /** Something may still be learnt. */
  | { do: 'wait'; dueAt: number }
  /** Only the operator, or the end of its time, brings news. `releases`: its slots go to other tasks. */
  | { do: 'hold'; dueAt: number; releases: boolean }
  /** Abandon the attempt and open another one. */
  | { do: 'resubmit' }
  | { do: 'give up' }

/** How often a task is submitted again: each time after proof that the provider has no such work, or without proof. */
const maxResubmits = { proven: 3, blind: 1 }

/**
 * A submit is repeated only where the provider recognises the repeat, and with `lookup` only after a response that it has
 * no such work. A lookup that failed is not a response.
 */
export function recover(submit: UnknownSubmit): RecoveryStep {
  const { attempt, account, lookup, isDeleted } = submit
  if (attempt.state === 'accepted') return { do: 'accept', operation: attempt.operation }
  if (attempt.state === 'refused') return { do: 'refuse' }
  if (!lookup && isAskable(account.provider)) return { do: 'ask' }
  if (lookup?.is === 'found') return { do: 'accept', operation: lookup.operation, adopted: true }
  return isDeleted ? recoverDeleted(submit) : recoverOpen(submit)
}

/** The attempt of a deleted task is searched while its provider may be slow to show it, so that it can be stopped. */
function recoverDeleted({ attempt, lookup, now }: UnknownSubmit): RecoveryStep {
  const settledAt = attempt.openedAt + settleMs
  if (!lookup || lookup.askedAt >= settledAt) return { do: 'give up' }
  return { do: 'wait', dueAt: now + nextLook(now - attempt.openedAt, settledAt - now, true) }
}

function recoverOpen(submit: UnknownSubmit): RecoveryStep {
  const { task, attempt, account, lookup, now } = submit
  const { recovery, refusesDuplicates } = account.provider
  // A lookup tells what was so when the provider was asked.
  const seenAt = lookup?.askedAt ?? now
  const age = seenAt - attempt.openedAt
  const isKnownAbsent = recovery === 'lookup' && refusesDuplicates && lookup?.is === 'absent' && age >= settleMs
  // The result of what is sent past the deadline of its task is of no use.
  const isInTime = age < holdMs && now < task.finishBy
  // Another credential may not know what the first one sent: it would accept the repeat as new work.
  const repeats = (recovery === 'key' || isKnownAbsent) && isInTime && attempt.keyVersion === account.keyVersion
  // A pause of the account holds for repeats, too.
  if (repeats && !isPaused(account.health, now)) return { do: 'repeat' }
  if (repeats || (recovery !== 'none' && age < settleMs))
    return { do: 'wait', dueAt: nextLookAt({ task, attempt, now: seenAt }) }
  // The sender may still wait for the response, or have it and not reach the store: a sender that got none says so.
  if (age < settleMs && attempt.problem === null) return { do: 'wait', dueAt: now + Math.min(settleMs, settleMs - age) }
  return followPolicy(submit)
}

/** Asking does not help any more: the policy of the account decides, or the operator, or time. */
function followPolicy({ task, attempt, attempts, account, lookup, now }: UnknownSubmit): RecoveryStep {
  const { onUnknown, provider } = account
  const canAsk = isAskable(provider)
  if (onUnknown === 'resubmit' && (!canAsk || lookup?.is === 'absent')) {
    if (now >= task.finishBy) return { do: 'give up' }
    if (!attempts) return { do: 'count' }
    const lost = attempts.filter(({ state }) => state === 'abandoned' || state === 'orphan').length
    return { do: lost < (canAsk ? maxResubmits.proven : maxResubmits.blind) ? 'resubmit' : 'give up' }
  }
  if (onUnknown === 'fail' || now >= lookUntil(attempt.openedAt, task.finishBy)) return { do: 'give up' }
  // Work that does run there has had its time by then; a slot that waits for the operator would stop the account.
  const releases = now - attempt.openedAt >= settleMs
  return { do: 'hold', dueAt: nextLookAt({ task, attempt, now }, canAsk), releases }
}

function isAskable({ recovery }: { recovery: Recovery }): boolean {
  return recovery === 'lookup' || recovery === 'list'
}

/** When a submit without a response is looked at again. `canAsk`: the provider may know more by then. */
export function nextLookAt({ task, attempt, now }: Timing, canAsk = true): number {
  return now + nextLook(now - attempt.openedAt, lookUntil(attempt.openedAt, task.finishBy) - now, canAsk)
}

/** Whether the search ends though the account is gone, or has another address. Until then the account may come back. */
export function endsWithoutAccount({ task: { finishBy }, attempt, now }: Timing): boolean {
  return attempt.state === 'open' && now >= Math.min(finishBy, lookUntil(attempt.openedAt, finishBy))
}

type Timing = Pick<UnknownSubmit, 'task' | 'attempt' | 'now'>

/** What a provider responds to a lookup. Whether its operations belong to other attempts does not matter to it. */
export interface Found {
  /** Their details show that they are of a request like ours. */
  matches: readonly Json[]
  /** Their details do not tell whether they are. */
  possible: readonly Json[]
  /** There may be more than was listed: what is not among these may still exist. */
  isPartial: boolean
}

/**
 * A single match belongs to the attempt if no other attempt owns it, or may turn out to own it. `taken` has the keys of
 * operations that belong to other attempts; `isRivalled`: another attempt without a response is like this one.
 */
export function identify(
  { matches, possible, isPartial }: Found,
  taken: ReadonlySet<string>,
  isRivalled: boolean,
): Finding {
  const isFree = (operation: Json) => !taken.has(operationKey(operation))
  if (possible.some(isFree)) return { is: 'unsure' }
  const free = matches.filter(isFree)
  if (free.length === 0) return { is: isPartial ? 'unsure' : 'absent' }
  return free.length > 1 || isRivalled ? { is: 'unsure' } : { is: 'found', operation: free[0] as Json }
}

/** An attempt that was given up may still own work that is listed for one opened so much later. */
export const rivalsMs = 10 * 60_000
/** So many rivals are not compared: one of them may be like ours. */
export const maxRivals = 1_000

/** Whether the list of a provider may show the work of one of these for our own. `listedAs`: what the list tells. */
export function hasRival(
  own: { id: string; prompt: string },
  rivals: readonly Rival[],
  listedAs: (attempt: { id: string; prompt: string }) => string = ({ prompt }) => prompt,
): boolean {
  if (rivals.length >= maxRivals) return true
  const wanted = listedAs(own)
  return rivals.some(({ id, prompt }) => prompt === null || listedAs({ id, prompt }) === wanted)
}

/** What is written of an outcome: what becomes of the task, and what was learnt about the attempt. */
export interface Outcome {
  change: Change
  fact: AttemptFact
}

const unknownOutcome: TaskError = {
  code: 'submission_unknown',
  message: 'It could not be found out whether the provider took this video. Submit it again.',
}

/** The provider has the work: the task runs on with it. */
export function accepted(
  { id }: Pick<Attempt, 'id'>,
  { operation, adopted }: Acceptance,
  { now, dueAt }: { now: number; dueAt: number },
): Outcome {
  return {
    change: { state: 'running', startedAt: now, dueAt, operation, tries: 0, missingAt: null },
    fact: { id, state: 'accepted', operation, settledAt: now, problem: null, ...(adopted && { adopted }) },
  }
}

/** The outcome stays unknown, and the task fails. */
export function givenUp({ id }: Pick<Attempt, 'id'>, now: number, problem: TaskError = unknownOutcome): Outcome {
  const change: Change = { state: 'failed', error: unknownOutcome, dueAt: now }
  return { change, fact: attemptFact(id, 'abandoned', problem, now) }
}

/** The outcome stays unknown, and the task gets another attempt: its video may be generated, and paid for, twice. */
export function resubmitted({ id }: Pick<Attempt, 'id'>, now: number, problem: TaskError = unknownOutcome): Outcome {
  return { change: { state: 'queued', dueAt: now }, fact: attemptFact(id, 'abandoned', problem, now) }
}

/** What was learnt about an attempt without an operation. */
export function attemptFact(
  id: string,
  state: 'open' | 'refused' | 'abandoned',
  problem: TaskError | null,
  now: number,
): AttemptFact {
  return { id, state, operation: null, settledAt: state === 'open' ? null : now, problem }
}
