import { holdMs, nextLook, operationKey, settleMs, singleUnbound, unknownOutcome } from '../../core/attempt.ts'
import { type Action, callOf, type Decision, requestOf } from '../worker.ts'
import { accept, factOf, type Sending, send } from './send.ts'

/**
 * Finds out what became of an attempt that has no answer: its sender died, or the answer was none. What may have been
 * taken is never blindly sent again; only a provider that recognises the repeat is asked twice.
 */
export async function resolve(sending: Sending, action: Pick<Action, 'bound'>): Promise<Decision> {
  const { task, attempt, account, tools } = sending
  const now = tools.clock.now()
  if (attempt.state === 'accepted') return accept(sending, attempt.operation, 'late answer: accepted')
  if (attempt.state === 'refused') return { change: { state: 'queued', dueAt: now }, note: ['late answer: refused'] }
  const age = now - attempt.openedAt
  const { recovery, refusesDuplicates } = account.provider
  if (recovery === 'lookup' || recovery === 'list') {
    const found = await findOut(sending, action)
    if (found) return accept(sending, found.found, 'attempt adopted')
  }
  // Another credential need not know what the first one sent, so it would be no repeat.
  const known = recovery === 'key' || (recovery === 'lookup' && refusesDuplicates && age >= settleMs)
  const repeats = known && age < holdMs && attempt.keyVersion === account.keyVersion
  // A pause of the account holds for what is sent again, too.
  if (repeats && now >= account.health.pausedUntil) return send(sending, 'repeat')
  if (repeats || (recovery !== 'none' && age < settleMs))
    return { change: { state: 'held', dueAt: now + nextLook(age) } }
  const left = holdMs - age
  const policy = age >= holdMs && account.onUnknown === 'hold' ? 'fail' : account.onUnknown
  switch (policy) {
    case 'hold':
      // With nobody to ask, only time or the operator brings news.
      return {
        change: { state: 'held', dueAt: now + Math.min(recovery === 'none' ? 60_000 : nextLook(age), left) },
        // If it does run there, it has had its time; a slot kept until the operator comes would stop the account.
        ...(age >= settleMs && { releases: true as const }),
      }
    case 'resubmit':
      return {
        change: { state: 'queued', dueAt: now, tries: task.tries },
        fact: factOf(attempt, 'abandoned', now, unknownOutcome),
        note: ['outcome unknown: submitted anew, as the account says'],
      }
    case 'fail':
      return giveUp(sending)
  }
}

function giveUp({ attempt, tools }: Pick<Sending, 'attempt' | 'tools'>): Decision {
  const now = tools.clock.now()
  return {
    change: { state: 'failed', error: unknownOutcome, dueAt: now },
    fact: factOf(attempt, 'abandoned', now, unknownOutcome),
    note: ['outcome unknown: given up'],
  }
}

/** The one operation that must be ours; a way there that is blocked tells nothing. */
async function findOut({ task, attempt, account, tools, signal }: Sending, { bound }: Pick<Action, 'bound'>) {
  const request = await requestOf(task, attempt.upstreamModel, tools)
  try {
    const call = callOf(account, task, signal)
    const candidates = (await account.provider.find?.(request, attempt.openedAt, call)) ?? []
    return singleUnbound(candidates, await bound(account.name, candidates.map(operationKey)))
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}
