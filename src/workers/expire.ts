import { isFinished } from '../core/task.ts'
import { recordRetentionMs } from '../core/timing.ts'
import { accountAt, callOf, keyOf, type Worker } from './worker.ts'

/** Removes the bytes of a finished task when it expires, and its row `recordRetentionMs` later. */
export const expire: Worker = {
  name: 'expire',
  states: ['completed', 'failed'],
  limit: 16,
  async run(task, tools, action) {
    const { accounts, clock, bucket } = tools
    if (!isFinished(task)) throw new Error(`a ${task.state} task can't expire`)
    const removeAt = (task.expiresAt ?? task.createdAt) + recordRetentionMs
    const now = clock.now()
    if (now >= removeAt) {
      await bucket.removeFolder(task.id)
      return { remove: true }
    }
    if (now < (task.expiresAt ?? 0)) return { change: { dueAt: task.expiresAt } }
    // Bytes first: if the process dies in between, all of this is done again.
    await bucket.removeFolder(task.id)
    if (task.operation !== null && accounts.get(task.account ?? '')?.provider.forget) {
      // At another address, the same operation may name a job that is not ours.
      const account = accountAt(task, tools, await keyOf(task, tools, action))
      await account?.provider.forget?.(task.operation, callOf(account, task, tools, action.signal))
    }
    return { change: { video: null, image: null, operation: null, dueAt: removeAt } }
  },
}
