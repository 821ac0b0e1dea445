import type { Worker } from './worker.ts'

/** Lets go of a task that its owner deleted, whatever state it was in: the work, the bytes, and the row. */
export const discard: Worker = {
  name: 'discard',
  states: [],
  limit: 16,
  async run(task, { bucket, providers }, signal) {
    if (task.operation !== null) {
      await providers.get(task.provider)?.provider.forget?.(task.operation, { signal, attemptId: task.id })
    }
    await bucket.removeFolder(task.id)
    return { remove: true }
  },
}
