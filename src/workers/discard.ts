import { chance } from '../core/clock.ts'
import type { JobEnd } from '../core/ledger.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { nextPoll } from '../core/timing.ts'
import type { Progress } from '../providers/provider.ts'
import { accept, recoverAttempt } from './submit/lookup.ts'
import { type Account, type Action, accountAt, attemptOf, callOf, type Tools, type Worker } from './worker.ts'

/**
 * Removes a task that its owner deleted, in any state: stops its job, removes its bytes, then its row. A job that can't be
 * stopped keeps its slot until it ends, because it is billed. Its result is never downloaded.
 */
export const discard: Pick<Worker, 'name' | 'run'> = {
  name: 'discard',
  async run(task, tools, action) {
    const { accounts, clock, random, bucket } = tools
    // At another address, the same operation may name a job that is not ours.
    const account = accounts.has(task.account ?? '') ? accountAt(task, tools, await attemptOf(task, action)) : undefined
    if (task.state === 'held' && action.attempt && account) {
      const search = { task, attempt: action.attempt, account, tools, signal: action.signal }
      const { step } = await recoverAttempt(search, action, true)
      if (step.do === 'accept') return accept(search, step)
      if (step.do === 'wait') return { change: { dueAt: step.dueAt } }
    }
    const { work, end } = await endWork(task, account, tools, action)
    if (work === 'runs') {
      const now = clock.now()
      const cadenceMs = account?.provider.cadenceMs ?? 0
      const dueAt = now + nextPoll(cadenceMs, now - (task.startedAt ?? now), chance(random))
      // Noted once: the next run comes later than that.
      const isFirst = now - (task.deletedAt ?? 0) < cadenceMs
      return { change: { dueAt }, ...(isFirst && { note: ["deleted: the job can't be stopped and continues"] }) }
    }
    if (work !== 'unknown' && task.operation !== null && account)
      await account.provider.forget?.(task.operation, callOf(account, task, tools, action.signal))
    await bucket.removeFolder(task.id)
    return work === 'unknown' ? { remove: true, orphans: true, work } : { remove: true, work, ...(end && { end }) }
  },
}

/** `unknown`: there is no account to poll, or the provider does not know the job, or the deadline has passed. */
interface Work {
  work: 'stopped' | 'over' | 'runs' | 'unknown'
  /** What the provider said about it. */
  end?: JobEnd
}

/** What became of the job, once nothing more can be learnt about a submit. */
async function endWork(
  task: Task,
  account: Account | undefined,
  tools: Tools,
  { attempt, signal }: Action,
): Promise<Work> {
  if (task.state === 'running') return stop(task, account, tools, signal)
  if (task.state === 'storing') return { work: 'over', end: { state: 'completed', usage: task.usage, error: null } }
  return { work: task.state === 'held' && attempt?.state !== 'refused' ? 'unknown' : 'over' }
}

async function stop(task: Task, account: Account | undefined, tools: Tools, signal: AbortSignal): Promise<Work> {
  if (!account) return { work: 'unknown' }
  const late = tools.clock.now() >= task.finishBy
  const call = callOf(account, task, tools, signal)
  try {
    if ((await account.provider.cancel?.(task.operation, call)) === 'cancelled') return { work: 'stopped' }
    const progress = await account.provider.poll(task.operation, call)
    const end = endOf(progress)
    if (end) return { work: 'over', end }
    return { work: progress.status === 'running' && !late ? 'runs' : 'unknown' }
  } catch (cause) {
    signal.throwIfAborted()
    if (late) return { work: 'unknown' }
    // Retryable, whatever was thrown: a failed task would be removed with the only trace of its job.
    throw new Problem('provider_unavailable', 'The job could not be stopped at the provider.', {
      cause,
      retryable: true,
    })
  }
}

function endOf(progress: Progress): JobEnd | undefined {
  switch (progress.status) {
    case 'succeeded':
      return { state: 'completed', usage: progress.usage ?? null, error: null }
    case 'failed':
      return { state: 'failed', usage: null, error: { code: progress.problem.code, message: progress.problem.message } }
    default:
      return undefined
  }
}
