import type { AccountView } from './account.ts'
import { type Attempt, type AttemptFact, operationKey, type Recovery, type Rival } from './attempt.ts'
import { isPaused } from './health.ts'
import type { Change } from './states.ts'
import type { Json, Task, TaskError } from './task.ts'
import { holdMs, nextCheckDelay, searchUntil, settleMs } from './timing.ts'

/*
 * Recovery of a submit whose outcome is unknown: its sender died, or its response could not be read. The whole policy
 * is here, without I/O: `recover` says what to do next, and `workers/submit` and `workers/discard` do it. The outcomes
 * below are written once, for the workers and for the operator's decisions.
 */

/** What is known about a submit without a response. */
export interface UnknownSubmit {
  task: Pick<Task, 'finishBy'>
  attempt: Pick<Attempt, 'state' | 'operation' | 'adopted' | 'openedAt' | 'keyVersion' | 'problem'>
  /** All attempts of the task; null until they are read. */
  attempts: readonly Pick<Attempt, 'state'>[] | null
  account: Pick<AccountView, 'keyVersion' | 'onUnknown' | 'health'> & {
    provider: { readonly recovery: Recovery; readonly refusesDuplicates?: true }
  }
  /** Null until the provider is asked. */
  lookup: Lookup | null
  /** The owner deleted the task: nothing is sent again. */
  isDeleted: boolean
  now: number
}

/**
 * The result of a lookup:
 *   found    this operation belongs to the attempt
 *   absent   the provider responded, and has no work that may belong to the attempt
 *   unsure   the provider responded, and its response does not decide it
 *   failed   the provider did not respond, which proves nothing
 */
export type Lookup = (Finding | { is: 'failed' }) & { askedAt: number }

export type Finding = { is: 'found'; operation: Json } | { is: 'absent' | 'unsure' }

/** The operation that a task continues with. `adopted`: a lookup found it; no response to the submit named it. */
export type Acceptance = Pick<Attempt, 'operation' | 'adopted'>

/** What to do next about a submit without a response. */
export type RecoveryStep =
  /** Look it up at the provider, then recover again. */
  | { do: 'ask' }
  /** Read all attempts of the task, then recover again. */
  | { do: 'count' }
  | ({ do: 'accept' } & Acceptance)
  /** A refusal was recorded meanwhile. */
  | { do: 'refuse' }
  /** Send the same attempt again: the provider recognises it. */
  | { do: 'repeat' }
  /** The provider may still show it. */
  | { do: 'wait'; dueAt: number }
  /** Only the operator or the deadline can end this. `releasesSlots`: the slots go to other tasks. */
  | { do: 'hold'; dueAt: number; releasesSlots: boolean }
  /** Abandon the attempt and open another one. */
  | { do: 'resubmit' }
  | { do: 'give up' }

/** How often a task is submitted again: each time after proof that the provider has no such work, or without proof. */
const maxResubmits = { proven: 3, blind: 1 }

/**
 * A submit is repeated only if the provider recognises the repeat, and with `lookup` only after a response that it
 * has no such work. A lookup that failed is not a response.
 */
export function recover(submit: UnknownSubmit): RecoveryStep {
  const { attempt, account, lookup, isDeleted } = submit
  const { state, operation, adopted } = attempt
  // An operation that a lookup found must not be recorded again as if a response had named it.
  if (state === 'accepted') return { do: 'accept', operation, ...(adopted && { adopted }) }
  if (state === 'refused') return { do: 'refuse' }
  if (!lookup && isAskable(account.provider)) return { do: 'ask' }
  if (lookup?.is === 'found') return { do: 'accept', operation: lookup.operation, adopted: true }
  return isDeleted ? recoverDeleted(submit) : recoverOpen(submit)
}

/** A deleted task is looked up as long as its provider may be slow to show its work, so that the work can be stopped. */
function recoverDeleted({ attempt, lookup, now }: UnknownSubmit): RecoveryStep {
  const settledAt = attempt.openedAt + settleMs
  if (!lookup || lookup.askedAt >= settledAt) return { do: 'give up' }
  return { do: 'wait', dueAt: now + nextCheckDelay(now - attempt.openedAt, settledAt - now, true) }
}

function recoverOpen(submit: UnknownSubmit): RecoveryStep {
  const { task, attempt, account, lookup, now } = submit
  const { recovery, refusesDuplicates } = account.provider
  // A lookup describes the moment when the provider was asked.
  const seenAt = lookup?.askedAt ?? now
  const age = seenAt - attempt.openedAt
  const isKnownAbsent = recovery === 'lookup' && refusesDuplicates && lookup?.is === 'absent' && age >= settleMs
  // Past its deadline the result of a task is useless.
  const isInTime = age < holdMs && now < task.finishBy
  // With another credential the provider may not recognise the repeat, and accept it as new work.
  const repeats = (recovery === 'key' || isKnownAbsent) && isInTime && attempt.keyVersion === account.keyVersion
  // A pause of the account applies to repeats, too.
  if (repeats && !isPaused(account.health, now)) return { do: 'repeat' }
  if (repeats || (recovery !== 'none' && age < settleMs))
    return { do: 'wait', dueAt: nextCheckAt({ task, attempt, now: seenAt }) }
  // The sender may still wait for the response, or fail to store it. A sender that got no response sets `problem`.
  if (age < settleMs && attempt.problem === null) return { do: 'wait', dueAt: now + Math.min(settleMs, settleMs - age) }
  return followPolicy(submit)
}

/** Lookups do not help any more: the policy of the account, the operator or the deadline decides. */
function followPolicy({ task, attempt, attempts, account, lookup, now }: UnknownSubmit): RecoveryStep {
  const { onUnknown, provider } = account
  const canAsk = isAskable(provider)
  if (onUnknown === 'resubmit' && (!canAsk || lookup?.is === 'absent')) {
    if (now >= task.finishBy) return { do: 'give up' }
    if (!attempts) return { do: 'count' }
    // A second operation of one submit counts as well: it may be paid for.
    const lost = attempts.filter(({ state }) => state === 'abandoned' || state === 'orphan').length
    return { do: lost < (canAsk ? maxResubmits.proven : maxResubmits.blind) ? 'resubmit' : 'give up' }
  }
  if (onUnknown === 'fail' || now >= searchUntil(attempt.openedAt, task.finishBy)) return { do: 'give up' }
  // Work at the provider would have ended by now. Slots that wait for the operator would block the account.
  const releasesSlots = now - attempt.openedAt >= settleMs
  return { do: 'hold', dueAt: nextCheckAt({ task, attempt, now }, canAsk), releasesSlots }
}

function isAskable({ recovery }: { recovery: Recovery }): boolean {
  return recovery === 'lookup' || recovery === 'list'
}

/** When to look at a submit without a response again. `canAsk`: the provider may know more by then. */
export function nextCheckAt({ task, attempt, now }: Timing, canAsk = true): number {
  return now + nextCheckDelay(now - attempt.openedAt, searchUntil(attempt.openedAt, task.finishBy) - now, canAsk)
}

/** Whether the search for a submit ends although its account is missing or has another address. It may come back. */
export function endsWithoutAccount({ task: { finishBy }, attempt, now }: Timing): boolean {
  return attempt.state === 'open' && now >= Math.min(finishBy, searchUntil(attempt.openedAt, finishBy))
}

type Timing = Pick<UnknownSubmit, 'task' | 'attempt' | 'now'>

/** A provider's response to a lookup, including operations that belong to other attempts. */
export interface Found {
  /** Operations whose details match our request. */
  matches: readonly Json[]
  /** Operations whose details do not show whether they match. */
  possible: readonly Json[]
  /** The list may be incomplete: an operation that is not in it may still exist. */
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

/** An abandoned attempt may still own work that is listed when another attempt was opened up to this much later. */
export const rivalsMs = 10 * 60_000
/** From this number rivals are not compared: one of them may equal ours. */
export const maxRivals = 1_000

/** Whether the work of a rival looks like our own in the provider's list. `listedAs`: what the list shows. */
export function hasRival(
  own: { id: string; prompt: string },
  rivals: readonly Rival[],
  listedAs: (attempt: { id: string; prompt: string }) => string = ({ prompt }) => prompt,
): boolean {
  if (rivals.length >= maxRivals) return true
  const ownEntry = listedAs(own)
  return rivals.some(({ id, prompt }) => prompt === null || listedAs({ id, prompt }) === ownEntry)
}

/** What an outcome writes: the change of the task, and the fact about the attempt. */
export interface Outcome {
  change: Change
  fact: AttemptFact
}

const unknownOutcome: TaskError = {
  code: 'submission_unknown',
  message: 'It is unknown whether the provider accepted this video. If you create it again, it may be paid for twice.',
}

/** The provider has the work: the task continues with it. */
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

/** A fact about an attempt without an operation. */
export function attemptFact(
  id: string,
  state: 'open' | 'refused' | 'abandoned',
  problem: TaskError | null,
  now: number,
): AttemptFact {
  return { id, state, operation: null, settledAt: state === 'open' ? null : now, problem }
}
