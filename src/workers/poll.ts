import { handleBytes, maxHandleBytes } from '../core/attempt.ts'
import { chance } from '../core/clock.ts'
import { estimateProgress, remember } from '../core/estimate.ts'
import { boundOfCost } from '../core/ledger.ts'
import { moneyText } from '../core/money.ts'
import { Problem } from '../core/problem.ts'
import type { Change } from '../core/states.ts'
import type { Task, TaskError, TaskUsage } from '../core/task.ts'
import { lostAfterMs, nextPoll } from '../core/timing.ts'
import type { Progress } from '../providers/provider.ts'
import { pollTask } from './poll/together.ts'
import {
  type Account,
  type Action,
  accountOf,
  callOf,
  type Decision,
  type DecisionExtras,
  faultOf,
  keyOf,
  type Tools,
  type Worker,
} from './worker.ts'

/**
 * How many polls of an account run at once. A poll takes about 0.3 s, and a young task is polled every 5 s: of 16 tasks one
 * is being polled. Polls that run at once have a connection each.
 */
const [leastPolls, mostPolls, tasksForPoll] = [64, 512, 16]

/** Polls the provider for a running task. Only a clear response, or our deadline, ends the task. */
export const poll: Worker = {
  name: 'poll',
  states: ['running'],
  limit: leastPolls,
  limitFor: (concurrency) => Math.max(leastPolls, Math.min(mostPolls, Math.ceil(concurrency / tasksForPoll))),
  async run(task, tools, action) {
    const { signal } = action
    const { clock, random, durations } = tools
    const sent = await keyOf(task, tools, action)
    const account = accountOf(task, tools, sent)
    const result = await pollProvider(task, account, tools, signal)
    const now = clock.now()
    if (result === 'unclear') return giveUp(task, account, tools, signal)
    const age = now - (task.startedAt ?? now)
    const dueAt = now + nextPoll(account.provider.cadenceMs, age, chance(random))
    switch (result.status) {
      case 'running': {
        if (now >= task.finishBy) return giveUp(task, account, tools, signal)
        const progress = result.progress ?? estimateProgress(age, durations.get(task.card) ?? [])
        const change = { progress, dueAt: Math.min(dueAt, task.finishBy), tries: 0, missingAt: null, output: null }
        return { change }
      }
      case 'succeeded':
        durations.set(task.card, remember(durations.get(task.card) ?? [], age))
        return {
          change: {
            state: 'storing',
            progress: 99,
            output: result.output,
            ...(result.usage && { usage: result.usage }),
            dueAt: now,
            tries: 0,
            // The time for a fresh link goes on. A job that was missing is back, so its time is over.
            missingAt: task.output === null ? null : task.missingAt,
          },
          ...(result.note && { note: result.note }),
          ...warningOf(task, result.usage ?? null),
        }
      case 'failed':
        return afterFailure(task, result.problem, { account, tools, action })
      case 'missing': {
        // Another credential may not see jobs of the first one: the task waits for the right one, or for its deadline.
        if (sent && sent.keyVersion !== account.keyVersion && now < task.finishBy)
          throw Problem.ofUnclearResponse(new Error('the current key does not find this job'))
        const missingAt = (task.output === null && task.missingAt) || now
        if (now < missingAt + lostAfterMs) return { change: { missingAt, dueAt, output: null } }
        const message = 'The provider lost this video before it was finished.'
        return fail({ code: 'lost_upstream', message }, now)
      }
    }
  },
}

/** An error of a poll is not a response: only the deadline ends the task then. A full disk keeps its own code. */
async function pollProvider(
  task: Task,
  account: Account,
  tools: Tools,
  signal: AbortSignal,
): Promise<Progress | 'unclear'> {
  try {
    const result = await pollTask(task, account, tools, signal)
    const bytes = result.status === 'succeeded' ? handleBytes(result.output) : 0
    if (bytes > maxHandleBytes)
      throw new Error(`the handle of the result has ${bytes} bytes; at most ${maxHandleBytes} are accepted`)
    return result
  } catch (thrown) {
    signal.throwIfAborted()
    // A provider that does not respond can't keep a task past its deadline.
    if (tools.clock.now() >= task.finishBy) return 'unclear'
    const problem = faultOf(thrown)
    if (problem.code === 'storage_unavailable') throw problem
    throw Problem.ofUnclearResponse(problem.cause ?? problem)
  }
}

/** The cost of the video is bounded then: see `core/ledger.ts`. */
function warningOf({ price }: Task, usage: TaskUsage | null): DecisionExtras {
  const most = boundOfCost(price, usage)
  if (!price || most === undefined) return {}
  const detail = `${usage?.outputTokens} output tokens; the posted cost is ${moneyText(most, price.currency)}`
  return { warning: ['the provider reported more usage than can be true', detail] }
}

/** An account that is being drained gets no task of another. One that is paused may get it later. */
function isUsable(other: Account | undefined, current: Account): boolean {
  return other !== undefined && (other.name === current.name || other.mode !== 'draining')
}

/**
 * The task is queued again, for another route if one has a free slot, if the failure was not billed and not caused by the
 * prompt. There are at most as many attempts as routes. A second operation of one submit counts as one: it may be paid for.
 */
async function afterFailure(
  task: Task,
  { code, message }: Problem,
  { account, tools, action }: { account: Account; tools: Tools; action: Action },
): Promise<Decision> {
  const { clock, catalog, accounts } = tools
  const now = clock.now()
  const card = catalog.entries.get(task.card)?.card
  const routes = card?.routes.filter((route) => isUsable(accounts.get(route.account), account)) ?? []
  const begun = (await action.attempts()).filter(({ state }) => state === 'accepted' || state === 'orphan')
  const final = card?.failuresBilled !== false || code === 'content_policy' || now >= task.finishBy
  if (final || begun.length >= routes.length) return fail({ code, message }, now)
  const change: Change = {
    state: 'queued',
    dueAt: now,
    tried: [account.name],
    startBy: task.finishBy,
    operation: null,
    output: null,
    missingAt: null,
  }
  return {
    change,
    note: ['failed upstream: trying the next route', `${code}: ${message}`],
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

function fail(error: TaskError, now: number): Decision {
  return { change: { state: 'failed', error, dueAt: now } }
}
