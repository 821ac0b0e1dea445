import type { AttemptFact } from '../core/attempt.ts'
import type { Worker } from './worker.ts'

/**
 * Takes what another process was making itself, and has not touched for a while: it is gone, and what it had made with
 * it. That cost nothing, so it is made anew by whoever is next.
 */
export const rehome: Worker = {
  name: 'rehome',
  states: ['held', 'running', 'storing'],
  limit: 64,
  async run(task, { clock }, { attempt }) {
    const now = clock.now()
    const change = { state: 'queued', dueAt: now, startBy: task.finishBy, operation: null, output: null } as const
    const note: [string, string] = ['its process is gone: made anew', task.account ?? '']
    if (attempt?.state !== 'open') return { change: { ...change, missingAt: null }, note }
    const fact: AttemptFact = { id: attempt.id, state: 'refused', operation: null, settledAt: now, problem: null }
    return { change: { ...change, missingAt: null }, note, fact }
  },
}
