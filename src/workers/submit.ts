import { type Attempt, newAttemptId } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { lookUntil } from '../core/timing.ts'
import { giveUp, resolve } from './submit/resolve.ts'
import { send } from './submit/send.ts'
import { type Account, type Action, accountOf, type Decision, requestOf, type Tools, type Worker } from './worker.ts'

/**
 * Opens an attempt and sends it. The attempt is committed, and the task held, right before a byte leaves: if this process
 * dies, the next worker that takes the held task knows that something may have been sent.
 */
export const submit: Worker = {
  name: 'submit',
  states: ['queued', 'held'],
  limit: 64,
  persists: true,
  async run(task, tools, action) {
    const { signal } = action
    const now = tools.clock.now()
    if (task.state === 'held') return lookInto(task, tools, action)
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
    const request = await requestOf(task, upstreamModel, tools)
    const change = { state: 'held', attempt: attempt.id, attempts: attempt.number, dueAt: null } as const
    const commit = async () => {
      // Not before: how long its outcome is looked for counts from here.
      const opened = { ...attempt, openedAt: tools.clock.now() }
      return { attempt: opened, task: await action.commit(change, opened) }
    }
    return send({ task, attempt, account, request, tools, signal }, { commit, leave: action.leave })
  },
}

async function lookInto(task: Task, tools: Tools, action: Action): Promise<Decision> {
  const { attempt, signal } = action
  if (!attempt) throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
  try {
    return await resolve({ task, attempt, account: accountOf(task, tools, attempt), tools, signal }, action)
  } catch (thrown) {
    // Its account may never come back: that is waited for no longer than for any other news, nor past the deadline.
    const end = Math.min(task.finishBy, lookUntil(attempt.openedAt, task.finishBy))
    const blocked = thrown instanceof Problem && thrown.code === 'provider_unavailable'
    if (blocked && attempt.state === 'open' && tools.clock.now() >= end) return giveUp({ attempt, tools })
    throw thrown
  }
}

/** The route that was chosen when the task was claimed. */
function routeOf(task: Task, tools: Tools): { account: Account; upstreamModel: string } {
  const account = accountOf(task, tools)
  const route = tools.catalog.entries.get(task.card)?.card.routes.find((one) => one.account === task.account)
  if (route) return { account, upstreamModel: route.upstreamModel }
  throw new Problem('provider_unavailable', 'The model is not available right now.', { retryable: true })
}
