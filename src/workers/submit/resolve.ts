import { type Attempt, operationKey, type Rival, singleUnbound, unknownOutcome } from '../../core/attempt.ts'
import { isPaused } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import type { Json } from '../../core/task.ts'
import { holdMs, lookUntil, nextLook, settleMs } from '../../core/timing.ts'
import type { Found, Provider } from '../../providers/provider.ts'
import { type Action, callOf, type Decision, faultOf, type Notes, requestOf } from '../worker.ts'
import { accept, factOf, requireUsable, type Sending, send, textOf } from './send.ts'

/** An attempt whose outcome is looked for. */
export type Looking = Omit<Sending, 'request'>

type Known = Pick<Action, 'bound' | 'rivals' | 'attempts'>

/**
 * What a provider says about an attempt:
 *   found    this operation is the attempt's
 *   absent   it answered, and has nothing that may be the attempt's
 *   unsure   it answered, and can't tell; or it offers no question at all
 *   failed   the question got no answer, which tells nothing
 */
type Finding = { is: 'found'; operation: Json } | ({ is: 'absent' | 'unsure' | 'failed' } & Notes)

/**
 * Finds out what became of an attempt without an answer: its sender died, or the answer could not be read. What the
 * provider may have accepted is sent again only where the provider recognises the repeat, and with `lookup` only after
 * it answered that it has no such work. Nothing is sent past the deadline of the task: nobody could use the result.
 */
export async function resolve(looking: Looking, action: Known): Promise<Decision> {
  const { task, attempt, account, tools } = looking
  const now = tools.clock.now()
  if (attempt.state === 'accepted') return accept(looking, attempt.operation, 'late answer: accepted')
  if (attempt.state === 'refused') return { change: { state: 'queued', dueAt: now }, note: ['late answer: refused'] }
  const age = now - attempt.openedAt
  const { recovery, refusesDuplicates } = account.provider
  const finding = await findOut(looking, action)
  if (finding.is === 'found') return adopt(looking, finding.operation)
  const { is, ...notes } = finding
  const isKnownAbsent = recovery === 'lookup' && refusesDuplicates && is === 'absent' && age >= settleMs
  const inTime = age < holdMs && now < task.finishBy
  // Another credential need not know what the first one sent: it would accept the repeat as new work.
  const repeats = (recovery === 'key' || isKnownAbsent) && inTime && attempt.keyVersion === account.keyVersion
  // A pause of the account holds for what is sent again, too.
  if (repeats && !isPaused(account.health, now)) {
    const request = await requestOf(task, attempt.upstreamModel, tools)
    return send({ ...looking, request })
  }
  if (repeats || (recovery !== 'none' && age < settleMs))
    return { change: { state: 'held', dueAt: now + nextLook(age, untilEnd(looking), true) }, ...notes }
  if (age < settleMs && mayBeAnswered(attempt))
    return { change: { state: 'held', dueAt: now + Math.min(settleMs, settleMs - age) } }
  return leave(looking, action, finding)
}

export function adopt(looking: Looking, operation: Json): Decision {
  return accept(looking, operation, 'attempt adopted', { adopted: true })
}

/**
 * Its sender may still wait for the answer, or have it and not reach the store, though its lease is over. A sender that
 * got none has recorded that.
 */
function mayBeAnswered({ problem }: Attempt): boolean {
  return problem === null
}

/** Asking does not help any more: the operator decides, or the account's policy, or time. */
async function leave(
  looking: Looking,
  action: Known,
  { is, ...notes }: Exclude<Finding, { is: 'found' }>,
): Promise<Decision> {
  const { task, attempt, account, tools } = looking
  const { onUnknown, provider } = account
  const now = tools.clock.now()
  const left = untilEnd(looking)
  const isAskable = asksFor(provider)
  // A question that failed is not an answer: only one that was answered without the attempt allows a new submit.
  if (onUnknown === 'resubmit' && (!isAskable || is === 'absent')) {
    const before = (await action.attempts()).filter(({ state }) => state === 'abandoned' || state === 'orphan')
    if (before.length >= (isAskable ? maxResubmits.proven : maxResubmits.blind) || now >= task.finishBy)
      return giveUp(looking)
    return {
      change: { state: 'queued', dueAt: now },
      fact: factOf(attempt, 'abandoned', now, unknownOutcome),
      note: ['outcome unknown: submitted again, as the account says'],
    }
  }
  if (onUnknown === 'fail' || left <= 0) return giveUp(looking)
  const age = now - attempt.openedAt
  return {
    change: { state: 'held', dueAt: now + nextLook(age, left, isAskable) },
    ...notes,
    // If it does run there, it has had its time; a slot kept until the operator comes would stop the account.
    ...(age >= settleMs && { releases: true as const }),
  }
}

/**
 * How often a task is submitted again. Where the provider showed each time that it has no such work, a service that is
 * killed again and again loses nothing; an upstream that dies of the request is still left alone in the end.
 */
const maxResubmits = { proven: 3, blind: 1 }

/** How much longer it is looked for. */
function untilEnd({ task, attempt, tools }: Looking): number {
  return lookUntil(attempt.openedAt, task.finishBy) - tools.clock.now()
}

export function giveUp({ attempt, tools }: Pick<Looking, 'attempt' | 'tools'>): Decision {
  const now = tools.clock.now()
  return {
    change: { state: 'failed', error: unknownOutcome, dueAt: now },
    fact: factOf(attempt, 'abandoned', now, unknownOutcome),
    note: ['outcome unknown: given up'],
  }
}

export function asksFor({ recovery }: Provider): boolean {
  return recovery === 'lookup' || recovery === 'list'
}

/** Of so many jobs nobody can tell which is ours, and to compare each of them would hold up everybody else. */
const maxCandidates = 1_000

/** Asks the provider about the attempt, and compares its answer with what belongs to other attempts. */
export async function findOut(looking: Looking, action: Pick<Action, 'bound' | 'rivals'>): Promise<Finding> {
  const { attempt, account, signal } = looking
  if (!asksFor(account.provider)) return { is: 'unsure' }
  try {
    const found = await ask(looking)
    const operation = await compare(found, looking, action)
    if (operation === 'unsure') return { is: 'unsure', ...noteOnce(looking, 'lookup can not tell', cantTell) }
    if (operation === 'absent') return { is: 'absent' }
    requireUsable(account, operation.found, attempt.id)
    return { is: 'found', operation: operation.found }
  } catch (thrown) {
    signal.throwIfAborted()
    return afterFailure(looking, faultOf(thrown))
  }
}

async function ask({ task, attempt, account, tools, signal }: Looking): Promise<Found> {
  const request = await requestOf(task, attempt.upstreamModel, tools)
  const found = await account.provider.find?.(request, attempt.openedAt, callOf(account, task, tools, signal))
  if (!found) throw new Error('its adapter has no lookup')
  if (found.matches.length + found.possible.length > maxCandidates)
    throw new Error(`it names more than ${maxCandidates} jobs`)
  return found
}

/** A single match that is no other attempt's, and that no other attempt may turn out to own, is ours. */
async function compare(
  { matches, possible, isPartial }: Found,
  { task, attempt, account }: Looking,
  { bound, rivals }: Pick<Action, 'bound' | 'rivals'>,
): Promise<'absent' | 'unsure' | { found: Json }> {
  const { provider, name } = account
  if (matches.length + possible.length === 0) return isPartial ? 'unsure' : 'absent'
  // Before what is bound is read: a rival that gets its answer in between is bound by then.
  const others = provider.recovery === 'list' ? await rivals(attempt, attempt.openedAt - rivalsMs, maxRivals) : []
  const isRivalled = hasRival(provider, { id: attempt.id, prompt: task.prompt }, others)
  const taken = await bound(name, [...matches, ...possible].map(operationKey))
  const isFree = (operation: Json) => !taken.has(operationKey(operation))
  if (possible.some(isFree)) return 'unsure'
  if (!matches.some(isFree)) return isPartial ? 'unsure' : 'absent'
  return isRivalled ? 'unsure' : (singleUnbound(matches, taken) ?? 'unsure')
}

/** An attempt that was given up may still own work that is listed for one opened so much later. */
const rivalsMs = 10 * 60_000
/** So many are not compared: one of them may be like ours. */
const maxRivals = 1_000

function hasRival(
  { listedAs = ({ prompt }) => prompt }: Provider,
  own: { id: string; prompt: string },
  rivals: readonly Rival[],
): boolean {
  const wanted = listedAs(own)
  if (rivals.length === maxRivals) return true
  return rivals.some(({ id, prompt }) => prompt === null || listedAs({ id, prompt }) === wanted)
}

const cantTell = new Problem(
  'provider_unavailable',
  'The provider lists work that may be of this attempt or of another. Its list does not tell.',
)

function afterFailure(looking: Looking, fault: Problem): Finding {
  const message = 'The provider could not be asked about this attempt.'
  const problem = new Problem('provider_unavailable', message, { cause: fault.cause ?? fault })
  return { is: 'failed', ...noteOnce(looking, 'lookup failed', problem) }
}

/** Said once, not at every look. */
function noteOnce({ attempt, tools }: Looking, name: string, problem: Problem): Notes {
  if (attempt.problem?.message === textOf(problem)) return {}
  return { fact: factOf(attempt, 'open', tools.clock.now(), problem), note: [name, textOf(problem)] }
}
