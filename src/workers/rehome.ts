import { attemptFact } from '../core/recovery.ts'
import type { Change } from '../core/states.ts'
import type { Worker } from './worker.ts'

/**
 * Queues a task again that another process was generating itself. That process is gone, and its work with it. The work cost
 * nothing, so the next process with a free slot does it again.
 */
export const rehome: Worker = {
  name: 'rehome',
  states: ['held', 'running', 'storing'],
  limit: 64,
  async run(task, { clock }, { attempt }) {
    const now = clock.now()
    const change: Change = {
      state: 'queued',
      dueAt: now,
      startBy: task.finishBy,
      operation: null,
      output: null,
      missingAt: null,
    }
    const note: [string, string] = ['the process is gone: queued again', task.account ?? '']
    return { change, note, ...(attempt?.state === 'open' && { fact: attemptFact(attempt.id, 'refused', null, now) }) }
  },
}
