import { type Attempt, newAttemptId } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { resolve } from './submit/resolve.ts'
import { send } from './submit/send.ts'
import { type Account, accountOf, type Tools, type Worker } from './worker.ts'

/**
 * Opens an attempt and sends it. The attempt is committed, and the task held, before a byte leaves: if we die, whoever
 * takes the held task next knows that something may have been sent.
 */
export const submit: Worker = {
  name: 'submit',
  states: ['queued', 'held'],
  limit: 64,
  persists: true,
  async run(task, tools, action) {
    const { signal } = action
    const now = tools.clock.now()
    if (task.state === 'held') {
      const { attempt } = action
      if (!attempt)
        throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
      return resolve({ task, attempt, account: accountOf(task, tools), tools, signal }, action)
    }
    if (now >= task.startBy) {
      const message = 'No provider could take this video before its deadline. Try again later.'
      return { change: { state: 'failed', error: { code: 'deadline_exceeded', message }, dueAt: now } }
    }
    const { account, upstreamModel } = routeOf(task, tools)
    const attempt: Attempt = {
      ...{ id: newAttemptId(tools.random), task: task.id, number: task.attempts + 1, account: account.name },
      ...{ keyVersion: account.keyVersion, upstreamModel, openedAt: now },
      ...{ state: 'open', operation: null, settledAt: null, problem: null },
    }
    const opening = { state: 'held', attempt: attempt.id, attempts: attempt.number, dueAt: null } as const
    const held = await action.commit(opening, attempt)
    return send({ task: held, attempt, account, tools, signal })
  },
}

/** The route that was chosen when the task was claimed. */
function routeOf(task: Task, tools: Tools): { account: Account; upstreamModel: string } {
  const account = accountOf(task, tools)
  const route = tools.catalog.entries.get(task.card)?.card.routes.find((one) => one.account === task.account)
  if (route) return { account, upstreamModel: route.upstreamModel }
  throw new Problem('provider_unavailable', 'The model is not available right now.', { retryable: true })
}
