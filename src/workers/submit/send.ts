import { type Attempt, type AttemptFact, nextLook } from '../../core/attempt.ts'
import { afterFault, afterRefusal, healthy, roomOf } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import { chance } from '../../core/routing.ts'
import type { Change } from '../../core/states.ts'
import type { Json, Task, TaskError } from '../../core/task.ts'
import { nextPoll } from '../../core/timing.ts'
import type { Refusal } from '../../providers/provider.ts'
import { type Account, callOf, type Decision, requestOf, type Tools } from '../worker.ts'

/** An attempt on its way: everything that sending it, or asking after it, takes. */
export interface Sending {
  task: Task
  attempt: Attempt
  account: Account
  tools: Tools
  signal: AbortSignal
}

/**
 * Sends an open attempt and says what became of it. Where it is sent for the second time only an acceptance says anything:
 * that the repeat was refused, or did not arrive, tells nothing of the first.
 */
export async function send(sending: Sending, repeat: 'repeat' | null = null): Promise<Decision> {
  const { task, attempt, account, tools, signal } = sending
  const request = await requestOf(task, attempt.upstreamModel, tools)
  try {
    const answer = await account.provider.submit(request, callOf(account, task, signal))
    if ('refused' in answer) return refuse(sending, answer.refused, repeat)
    account.health = healthy
    return accept(sending, answer.operation, 'attempt accepted')
  } catch (thrown) {
    signal.throwIfAborted()
    const problem = Problem.from(thrown)
    const now = tools.clock.now()
    account.health = afterFault(account.health, now)
    if (problem.code === 'provider_unreachable' && !repeat) return goElsewhere(sending, problem, 'attempt not sent')
    return stayHeld(sending, problem)
  }
}

function stayHeld({ attempt, tools }: Sending, problem: Problem): Decision {
  const now = tools.clock.now()
  const change: Change = { state: 'held', dueAt: now + nextLook(now - attempt.openedAt) }
  return { change, fact: factOf(attempt, 'open', now, problem), note: ['outcome unknown', textOf(problem)] }
}

export function accept({ attempt, account, tools }: Sending, operation: Json, name: string): Decision {
  const now = tools.clock.now()
  const dueAt = now + nextPoll(account.provider.cadenceMs, 0, chance(tools.random))
  const fact: AttemptFact = { id: attempt.id, state: 'accepted', operation, settledAt: now, problem: null }
  const change: Change = { state: 'running', startedAt: now, dueAt, operation, tries: 0, missingAt: null }
  return { change, fact, note: [name, { attempt: attempt.id, account: attempt.account }] }
}

function refuse(sending: Sending, { problem, blame, retryAfterMs }: Refusal, repeat: 'repeat' | null): Decision {
  const { attempt, account, tools } = sending
  const now = tools.clock.now()
  account.health = blame === 'request' ? healthy : afterRefusal(account.health, blame, now, retryAfterMs)
  if (repeat) return stayHeld(sending, problem)
  if (blame !== 'request') {
    return goElsewhere(sending, problem, `attempt refused: ${blame}`)
  }
  const { code, message } = problem
  return {
    change: { state: 'failed', error: { code, message }, dueAt: now },
    fact: factOf(attempt, 'refused', now, problem),
    note: ['attempt refused: request', textOf(problem)],
  }
}

/** Not accepted, for sure: the next route now, or all of them again after a while. It ends at the task's own deadline. */
function goElsewhere({ task, attempt, account, tools }: Sending, problem: Problem, name: string): Decision {
  const now = tools.clock.now()
  const tried = [...task.tried, account.name]
  const routes = tools.catalog.entries.get(task.card)?.card.routes ?? []
  const more = routes.some((route) => {
    const other = tools.accounts.get(route.account)
    return other && !tried.includes(other.name) && roomOf(other.health, now) > 0
  })
  const wait = Math.min(30_000, 1_000 * 2 ** Math.min(task.tries, 5))
  const change: Change = more
    ? { state: 'queued', dueAt: now, tried }
    : { state: 'queued', dueAt: now + wait, tried: [], tries: task.tries + 1 }
  return { change, fact: factOf(attempt, 'refused', now, problem), note: [name, textOf(problem)] }
}

/** A Problem, or what a client is told. */
type Reason = TaskError & { cause?: unknown }

export function factOf(attempt: Attempt, state: Attempt['state'], now: number, problem: Reason): AttemptFact {
  const settledAt = state === 'open' ? null : now
  return {
    id: attempt.id,
    state,
    operation: null,
    settledAt,
    problem: { code: problem.code, message: textOf(problem) },
  }
}

/** For the operator, so with its cause; the engine cuts secrets out. */
function textOf({ message, cause }: Reason): string {
  return cause === undefined ? message : `${message} (${String((cause as Error).message ?? cause)})`.slice(0, 500)
}
