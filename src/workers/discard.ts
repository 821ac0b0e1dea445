import { chance } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { nextPoll } from '../core/timing.ts'
import { accept, search } from './submit/lookup.ts'
import { type Account, type Action, accountAt, attemptOf, callOf, type Tools, type Worker } from './worker.ts'

/**
 * Lets go of a task that its owner deleted, whatever state it was in: the work, the bytes, and the row. Work that can't
 * be stopped is waited for, since it will be charged for; its result is never fetched.
 */
export const discard: Pick<Worker, 'name' | 'run'> = {
  name: 'discard',
  async run(task, tools, action) {
    const { accounts, clock, random, bucket } = tools
    // What has the same name at another address is not ours to stop.
    const account = accounts.has(task.account ?? '') ? accountAt(task, tools, await attemptOf(task, action)) : undefined
    if (task.state === 'held' && action.attempt && account) {
      const searched = { task, attempt: action.attempt, account, tools, signal: action.signal }
      const { step } = await search(searched, action, true)
      if (step.do === 'accept') return accept(searched, step)
      if (step.do === 'wait') return { change: { dueAt: step.dueAt } }
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
