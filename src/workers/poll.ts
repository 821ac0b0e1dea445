import { estimateProgress, remember } from '../core/estimate.ts'
import type { Problem } from '../core/problem.ts'
import { chance } from '../core/routing.ts'
import type { Change } from '../core/states.ts'
import type { Task, TaskError } from '../core/task.ts'
import { lostAfterMs, nextPoll } from '../core/timing.ts'
import { type Account, accountOf, callOf, type Decision, type Tools, type Worker } from './worker.ts'

/** Asks the provider how a running task is doing. Only its definite word or our deadline ends the task. */
export const poll: Worker = {
  name: 'poll',
  states: ['running'],
  limit: 64,
  async run(task, tools, { signal }) {
    const { clock, random, durations } = tools
    const account = accountOf(task, tools)
    const call = callOf(account, task, signal)
    const answer = await account.provider.poll(task.operation, call).catch((thrown) => {
      signal.throwIfAborted()
      // Whoever does not answer can't keep a task beyond its time.
      if (clock.now() >= task.finishBy) return 'no answer' as const
      throw thrown
    })
    const now = clock.now()
    if (answer === 'no answer') return giveUp(task, account, tools)
    const age = now - (task.startedAt ?? now)
    const dueAt = now + nextPoll(account.provider.cadenceMs, age, chance(random))
    switch (answer.status) {
      case 'running': {
        if (now >= task.finishBy) return giveUp(task, account, tools)
        const progress = answer.progress ?? estimateProgress(age, durations.get(task.card) ?? [])
        return { change: { progress, dueAt: Math.min(dueAt, task.finishBy), missingAt: null, tries: 0 } }
      }
      case 'succeeded':
        durations.set(task.card, remember(durations.get(task.card) ?? [], age))
        return { change: { state: 'storing', progress: 99, output: answer.output, dueAt: now, tries: 0 } }
      case 'failed':
        return afterFailure(task, answer.problem, tools)
      case 'missing': {
        const missingAt = task.missingAt ?? now
        if (now < missingAt + lostAfterMs) return { change: { missingAt, dueAt } }
        const message = 'The provider lost this video before it was finished.'
        return fail({ code: 'lost_upstream', message }, now)
      }
    }
  },
}

/** Another route may do better, where this one's failure cost nothing and the prompt is not to blame. */
function afterFailure(task: Task, { code, message }: Problem, { clock, catalog, accounts }: Tools): Decision {
  const now = clock.now()
  const card = catalog.entries.get(task.card)?.card
  const tried = [...task.tried, task.account ?? '']
  const more = card?.routes.some(({ account }) => !tried.includes(account) && accounts.has(account))
  if (!more || card?.failuresBilled !== false || code === 'content_policy' || now >= task.finishBy)
    return fail({ code, message }, now)
  const change: Change = {
    state: 'queued',
    dueAt: now,
    tried,
    startBy: task.finishBy,
    operation: null,
    missingAt: null,
  }
  return { change, note: ['failed upstream: on to the next route', `${code}: ${message}`] }
}

function giveUp(task: Task, account: Account, { clock }: Tools): Decision {
  const message = 'The video was not finished before its deadline.'
  return {
    ...fail({ code: 'deadline_exceeded', message }, clock.now()),
    afterwards: async () => {
      const call = callOf(account, task, AbortSignal.timeout(30_000))
      await account.provider.cancel?.(task.operation, call)
    },
  }
}

function fail(error: TaskError, now: number): Decision & object {
  return { change: { state: 'failed', error, dueAt: now } }
}
