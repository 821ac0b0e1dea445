import { attemptFact } from '../core/recovery.ts'
import type { Change } from '../core/states.ts'
import type { Worker } from './worker.ts'

/**
 * Takes what another process was making itself: it is gone, and what it had made with it. That cost nothing, so it is made
 * anew by whoever is next.
 */
export const rehome: Worker = {
  name: 'rehome',
  states: ['held', 'running', 'storing'],
  limit: 64,
  async run(task, { clock }, { attempt }) {
    const now = clock.now()
    const none = { operation: null, output: null, missingAt: null }
    const change: Change = { state: 'queued', dueAt: now, startBy: task.finishBy, ...none }
    const note: [string, string] = ['its process is gone: made anew', task.account ?? '']
    return { change, note, ...(attempt?.state === 'open' && { fact: attemptFact(attempt.id, 'refused', null, now) }) }
  },
}
