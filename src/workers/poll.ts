import { handleBytes, maxHandleBytes } from '../core/attempt.ts'
import { chance } from '../core/clock.ts'
import { estimateProgress, remember } from '../core/estimate.ts'
import { Problem } from '../core/problem.ts'
import type { Change } from '../core/states.ts'
import type { Task, TaskError } from '../core/task.ts'
import { lostAfterMs, nextPoll } from '../core/timing.ts'
import type { Progress } from '../providers/provider.ts'
import {
  type Account,
  type Action,
  accountOf,
  attemptOf,
  callOf,
  type Decision,
  faultOf,
  type Tools,
  unclear,
  type Worker,
} from './worker.ts'

/** Asks the provider how a running task is doing. Only its definite word or our deadline ends the task. */
export const poll: Worker = {
  name: 'poll',
  states: ['running'],
  limit: 64,
  async run(task, tools, action) {
    const { signal } = action
    const { clock, random, durations } = tools
    const attempt = await attemptOf(task, action)
    const account = accountOf(task, tools, attempt)
    const answer = await ask(task, account, tools, signal)
    const now = clock.now()
    if (answer === 'no answer') return giveUp(task, account, tools, signal)
    const age = now - (task.startedAt ?? now)
    const dueAt = now + nextPoll(account.provider.cadenceMs, age, chance(random))
    switch (answer.status) {
      case 'running': {
        if (now >= task.finishBy) return giveUp(task, account, tools, signal)
        const progress = answer.progress ?? estimateProgress(age, durations.get(task.card) ?? [])
        const change = { progress, dueAt: Math.min(dueAt, task.finishBy), tries: 0 }
        return { change: { ...change, missingAt: null, output: null } }
      }
      case 'succeeded':
        durations.set(task.card, remember(durations.get(task.card) ?? [], age))
        return {
          change: {
            ...{ state: 'storing', progress: 99, output: answer.output, dueAt: now, tries: 0 },
            // The time for a fresh link goes on; that of a job which was missing is over.
            missingAt: task.output === null ? null : task.missingAt,
          },
          ...(answer.note && { note: answer.note }),
        }
      case 'failed':
        return afterFailure(task, answer.problem, { account, tools, action })
      case 'missing': {
        // Another credential need not know what the first one sent: that waits for the right one, or for the deadline.
        if (attempt && attempt.keyVersion !== account.keyVersion && now < task.finishBy)
          throw new Problem('provider_unavailable', unclear, {
            cause: new Error('unknown to this key'),
            retryable: true,
          })
        const missingAt = (task.output === null && task.missingAt) || now
        if (now < missingAt + lostAfterMs) return { change: { missingAt, dueAt, output: null } }
        const message = 'The provider lost this video before it was finished.'
        return fail({ code: 'lost_upstream', message }, now)
      }
    }
  },
}

/** Whatever a poll throws is no answer, so it ends nothing: only the deadline does. A full disk keeps its own name. */
async function ask(task: Task, account: Account, tools: Tools, signal: AbortSignal): Promise<Progress | 'no answer'> {
  try {
    const answer = await account.provider.poll(task.operation, callOf(account, task, tools, signal))
    const bytes = answer.status === 'succeeded' ? handleBytes(answer.output) : 0
    if (bytes > maxHandleBytes)
      throw new Error(`its result is named in ${bytes} bytes, and ${maxHandleBytes} are taken`)
    return answer
  } catch (thrown) {
    signal.throwIfAborted()
    // Whoever does not answer can't keep a task beyond its time.
    if (tools.clock.now() >= task.finishBy) return 'no answer'
    const problem = faultOf(thrown)
    if (problem.code === 'storage_unavailable') throw problem
    const { cause = problem } = problem
    // An Error, for the timeline to have its text.
    const seen = cause instanceof Error ? cause : new Error(String(cause))
    throw new Problem('provider_unavailable', unclear, { cause: seen, retryable: true })
  }
}

/**
 * Another try may do better, on another route if one has room, where this failure cost nothing and the prompt is not to
 * blame. As many are made as there are routes.
 */
async function afterFailure(
  task: Task,
  { code, message }: Problem,
  { account, tools, action }: { account: Account; tools: Tools; action: Action },
): Promise<Decision> {
  const { clock, catalog, accounts } = tools
  const now = clock.now()
  const card = catalog.entries.get(task.card)?.card
  const routes = card?.routes.filter((route) => accounts.has(route.account)) ?? []
  const made = (await action.attempts()).filter(({ state }) => state === 'accepted' || state === 'orphan')
  const final = card?.failuresBilled !== false || code === 'content_policy' || now >= task.finishBy
  if (final || made.length >= routes.length) return fail({ code, message }, now)
  const change: Change = {
    ...{ state: 'queued', dueAt: now, tried: [account.name], startBy: task.finishBy },
    ...{ operation: null, output: null, missingAt: null },
  }
  return {
    change,
    note: ['failed upstream: on to the next route', `${code}: ${message}`],
    afterwards: async () => account.provider.forget?.(task.operation, callOf(account, task, tools, action.signal)),
  }
}

function giveUp(task: Task, account: Account, tools: Tools, signal: AbortSignal): Decision {
  const message = 'The video was not finished before its deadline.'
  return {
    ...fail({ code: 'deadline_exceeded', message }, tools.clock.now()),
    afterwards: async () => {
      await account.provider.cancel?.(task.operation, callOf(account, task, tools, signal))
    },
  }
}

function fail(error: TaskError, now: number): Decision & object {
  return { change: { state: 'failed', error, dueAt: now } }
}
