import { chance } from '../core/routing.ts'
import type { Task } from '../core/task.ts'
import { nextPoll } from '../core/timing.ts'
import { callOf, type Tools, type Worker } from './worker.ts'

/**
 * Lets go of a task that its owner deleted, whatever state it was in: the work, the bytes, and the row. Work that can't
 * be stopped is waited for, since it will be charged for; its result is never fetched.
 */
export const discard: Worker = {
  name: 'discard',
  states: [],
  limit: 16,
  async run(task, tools, { signal }) {
    const { clock, random, bucket, accounts } = tools
    const account = accounts.get(task.account ?? '')
    if (task.state === 'running' && account && (await stillRuns(task, tools, signal))) {
      const { cadenceMs } = account.provider
      const now = clock.now()
      return { change: { dueAt: now + nextPoll(cadenceMs, now - (task.startedAt ?? now), chance(random)) } }
    }
    if (task.operation !== null && account)
      await account.provider.forget?.(task.operation, callOf(account, task, signal))
    await bucket.removeFolder(task.id)
    return { remove: true }
  },
}

async function stillRuns(task: Task, { clock, accounts }: Tools, signal: AbortSignal): Promise<boolean> {
  const account = accounts.get(task.account ?? '')
  if (!account || clock.now() >= task.finishBy) return false
  const call = callOf(account, task, signal)
  if ((await account.provider.cancel?.(task.operation, call)) === 'cancelled') return false
  const { status } = await account.provider.poll(task.operation, call)
  return status === 'running'
}
