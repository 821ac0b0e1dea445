import { isElsewhere } from '../core/account.ts'
import { chance } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { nextLook, nextPoll, settleMs } from '../core/timing.ts'
import { adopt, asksFor, findOut, type Looking } from './submit/resolve.ts'
import { accept } from './submit/send.ts'
import { type Account, type Action, attemptOf, callOf, type Decision, type Tools, type Worker } from './worker.ts'

/**
 * Lets go of a task that its owner deleted, whatever state it was in: the work, the bytes, and the row. Work that can't
 * be stopped is waited for, since it will be charged for; its result is never fetched.
 */
export const discard: Pick<Worker, 'name' | 'run'> = {
  name: 'discard',
  async run(task, tools, action) {
    const { clock, random, bucket } = tools
    const account = await accountThere(task, tools, action)
    if (task.state === 'held' && account) {
      const decision = await lookFor(task, account, tools, action)
      if (decision) return decision
    }
    const work = await end(task, account, tools, action)
    if (work === 'runs') {
      const now = clock.now()
      const cadenceMs = account?.provider.cadenceMs ?? 0
      const dueAt = now + nextPoll(cadenceMs, now - (task.startedAt ?? now), chance(random))
      // Said once: the next look comes later than that.
      const isFirst = now - (task.deletedAt ?? 0) < cadenceMs
      return { change: { dueAt }, ...(isFirst && { note: ['deleted: it can not be stopped, and goes on'] }) }
    }
    if (work !== 'unknown' && task.operation !== null && account)
      await account.provider.forget?.(task.operation, callOf(account, task, tools, action.signal))
    await bucket.removeFolder(task.id)
    return work === 'unknown' ? { remove: true, orphans: true, work } : { remove: true, work }
  },
}

/** None where the account has another address by now: what has the same name there is not ours to stop. */
async function accountThere(task: Task, { accounts }: Tools, action: Action): Promise<Account | undefined> {
  const account = accounts.get(task.account ?? '')
  const sent = account && (await attemptOf(task, action))
  return sent && isElsewhere(sent.keyVersion, account.keyVersion) ? undefined : account
}

/**
 * What was sent, and may have been taken, is looked for as long as its provider may take to show it, so that it can be
 * stopped. It is never sent again: if the first did not arrive, that would make what nobody wants. Undefined where
 * nothing more can be learnt.
 */
async function lookFor(task: Task, account: Account, tools: Tools, action: Action): Promise<Decision | undefined> {
  const { attempt, signal } = action
  if (!attempt || attempt.state === 'refused') return undefined
  const looking: Looking = { task, attempt, account, tools, signal }
  if (attempt.state === 'accepted') return accept(looking, attempt.operation, 'late answer: accepted')
  if (!asksFor(account.provider)) return undefined
  const finding = await findOut(looking, action)
  if (finding.is === 'found') return adopt(looking, finding.operation)
  const now = tools.clock.now()
  const age = now - attempt.openedAt
  return age < settleMs ? { change: { dueAt: now + nextLook(age, settleMs - age, true) } } : undefined
}

/** What is left of its work, once nothing more can be learnt of a submit. */
async function end(task: Task, account: Account | undefined, tools: Tools, { attempt, signal }: Action) {
  if (task.state === 'running') return stop(task, account, tools, signal)
  return task.state === 'held' && attempt?.state !== 'refused' ? 'unknown' : 'over'
}

/** `unknown`: nobody is there to ask, or who is does not know it, or it has had its time. */
async function stop(
  task: Task,
  account: Account | undefined,
  tools: Tools,
  signal: AbortSignal,
): Promise<'stopped' | 'over' | 'runs' | 'unknown'> {
  if (!account) return 'unknown'
  const late = tools.clock.now() >= task.finishBy
  const call = callOf(account, task, tools, signal)
  try {
    if ((await account.provider.cancel?.(task.operation, call)) === 'cancelled') return 'stopped'
    const { status } = await account.provider.poll(task.operation, call)
    if (status === 'running' && !late) return 'runs'
    return status === 'running' || status === 'missing' ? 'unknown' : 'over'
  } catch (cause) {
    signal.throwIfAborted()
    if (late) return 'unknown'
    // Whatever it was: a task that failed would take the trace of its work along.
    throw new Problem('provider_unavailable', 'The work could not be stopped.', { cause, retryable: true })
  }
}
