import { Problem } from '../core/problem.ts'
import type { Worker } from './worker.ts'

/** Asks the provider how a running task is doing. */
export const poll: Worker = {
  name: 'poll',
  states: ['running'],
  limit: 64,
  async run(task, { clock, providers }, signal) {
    const account = providers.get(task.provider)
    if (!account) {
      const cause = `no provider '${task.provider}' is configured`
      throw new Problem('provider_unavailable', 'The model is not available right now.', { cause, retryable: true })
    }
    const { provider } = account
    const answer = await provider.poll(task.operation, { signal, attemptId: task.id })
    const now = clock.now()
    switch (answer.status) {
      case 'running':
        return { change: { progress: answer.progress ?? task.progress, dueAt: now + provider.cadenceMs } }
      case 'succeeded':
        return { change: { state: 'storing', progress: 99, output: answer.output, dueAt: now } }
      case 'failed': {
        const { code, message } = answer.problem
        return { change: { state: 'failed', error: { code, message }, dueAt: now } }
      }
    }
  },
}
