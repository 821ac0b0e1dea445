import { type Attempt, operationKey, singleUnbound, unknownOutcome } from '../../core/attempt.ts'
import { isPaused } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import type { Json } from '../../core/task.ts'
import { holdMs, lookUntil, nextLook, settleMs } from '../../core/timing.ts'
import { type Action, callOf, type Decision, faultOf, type Notes, requestOf } from '../worker.ts'
import { accept, factOf, requireUsable, type Sending, send, textOf } from './send.ts'

/** An attempt that is asked after. */
export type Looking = Omit<Sending, 'request'>
type Known = Pick<Action, 'bound' | 'hasTwin' | 'attempts'>

/**
 * Finds out what became of an attempt that has no answer: its sender died, or the answer was none. What may have been
 * taken is never blindly sent again; only a provider that recognises the repeat is asked twice, and nobody once the task
 * is past its deadline: that would be paid in vain.
 */
export async function resolve(looking: Looking, action: Known): Promise<Decision> {
  const { task, attempt, account, tools } = looking
  const now = tools.clock.now()
  if (attempt.state === 'accepted') return accept(looking, attempt.operation, 'late answer: accepted')
  if (attempt.state === 'refused') return { change: { state: 'queued', dueAt: now }, note: ['late answer: refused'] }
  const age = now - attempt.openedAt
  const { recovery, refusesDuplicates } = account.provider
  const asked = recovery === 'lookup' || recovery === 'list' ? await findOut(looking, action) : {}
  if ('found' in asked) return accept(looking, asked.found, 'attempt adopted')
  // Another credential need not know what the first one sent, so it would be no repeat.
  const known = recovery === 'key' || (recovery === 'lookup' && refusesDuplicates && age >= settleMs)
  const inTime = age < holdMs && now < task.finishBy
  const repeats = known && inTime && attempt.keyVersion === account.keyVersion
  // A pause of the account holds for what is sent again, too.
  if (repeats && !isPaused(account.health, now)) {
    const request = await requestOf(task, attempt.upstreamModel, tools)
    return send({ ...looking, request }, 'repeat')
  }
  if (repeats || (recovery !== 'none' && age < settleMs))
    return { change: { state: 'held', dueAt: now + nextLook(age, untilEnd(looking), true) }, ...asked }
  if (age < settleMs && mayBeAnswered(attempt))
    return { change: { state: 'held', dueAt: now + Math.min(settleMs, settleMs - age) } }
  return leave(looking, action, asked)
}

/**
 * Whoever sent it may still wait for its answer, or have it and not reach the store, though its lease is over. What it
 * recorded is that there was none.
 */
function mayBeAnswered({ problem }: Attempt): boolean {
  return problem === null
}

/** Nothing can be found out by asking: the operator decides, or what the account says, or time. */
async function leave(looking: Looking, action: Known, notes: Notes): Promise<Decision> {
  const { task, attempt, account, tools } = looking
  const now = tools.clock.now()
  const age = now - attempt.openedAt
  const left = untilEnd(looking)
  switch (account.onUnknown) {
    case 'hold':
      if (left <= 0) return giveUp(looking)
      return {
        change: { state: 'held', dueAt: now + nextLook(age, left, account.provider.recovery !== 'none') },
        ...notes,
        // If it does run there, it has had its time; a slot kept until the operator comes would stop the account.
        ...(age >= settleMs && { releases: true as const }),
      }
    case 'resubmit': {
      // Once: who never answers would else make the same film again and again.
      const before = (await action.attempts()).filter(({ state }) => state === 'abandoned' || state === 'orphan')
      if (before.length > 0 || now >= task.finishBy) return giveUp(looking)
      return {
        change: { state: 'queued', dueAt: now },
        fact: factOf(attempt, 'abandoned', now, unknownOutcome),
        note: ['outcome unknown: submitted anew, as the account says'],
      }
    }
    case 'fail':
      return giveUp(looking)
  }
}

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

/** Of so many jobs nobody can tell which is ours, and to ask for each whose it is would hold up everybody else. */
const maxCandidates = 1_000

/** The one operation that must be ours; else what the timeline should say. A way there that is blocked tells nothing. */
export async function findOut(
  looking: Looking,
  { bound, hasTwin }: Pick<Action, 'bound' | 'hasTwin'>,
): Promise<{ found: Json } | Notes> {
  const { task, attempt, account, tools, signal } = looking
  const { provider, name } = account
  try {
    const request = await requestOf(task, attempt.upstreamModel, tools)
    const call = callOf(account, task, tools, signal)
    const candidates = (await provider.find?.(request, attempt.openedAt, call)) ?? []
    if (candidates.length > maxCandidates) throw new Error(`it names more than ${maxCandidates} jobs`)
    // Before what is bound is read: whoever has its answer in between is there.
    if (provider.recovery === 'list' && candidates.length > 0 && (await hasTwin(attempt.id))) return {}
    const single = singleUnbound(candidates, await bound(name, candidates.map(operationKey)))
    if (single) requireUsable(account, single.found, attempt.id)
    return single ?? {}
  } catch (thrown) {
    signal.throwIfAborted()
    const fault = faultOf(thrown)
    const message = 'The provider could not be asked what became of it.'
    const problem = new Problem('provider_unavailable', message, { cause: fault.cause ?? fault })
    // Said once, not at every look.
    if (attempt.problem?.message === textOf(problem)) return {}
    const fact = factOf(attempt, 'open', tools.clock.now(), problem)
    return { fact, note: ['asked in vain', textOf(problem)] }
  }
}
