import { type Attempt, type AttemptFact, handleBytes, maxHandleBytes } from '../../core/attempt.ts'
import { chance } from '../../core/clock.ts'
import { type Answered, afterAnswer, afterFault, afterRefusal, roomOf } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import type { Change } from '../../core/states.ts'
import type { Json, Task, TaskError } from '../../core/task.ts'
import { backoff, lookUntil, nextLook, nextPoll } from '../../core/timing.ts'
import type { Call, ProviderRequest, Refusal } from '../../providers/provider.ts'
import { type Account, callOf, type Decision, faultOf, type Tools } from '../worker.ts'

/** An attempt on its way: everything that sending it takes. */
export interface Sending {
  task: Task
  attempt: Attempt
  account: Account
  request: ProviderRequest
  tools: Tools
  signal: AbortSignal
}

/**
 * Sends an open attempt and says what became of it. Where it is sent for the second time only an acceptance says anything:
 * that the repeat was refused, or did not arrive, tells nothing of the first.
 */
export async function send(sending: Sending, repeat: 'repeat' | null = null): Promise<Decision> {
  const { task, attempt, account, request, tools, signal } = sending
  const begunAt = tools.clock.now()
  const answered = (): Answered => ({ begunAt, now: tools.clock.now() })
  const { call, mayHaveLeft } = watchSend(callOf(account, task, tools, signal))
  try {
    const answer = await account.provider.submit(request, call)
    if ('refused' in answer) return refuse(sending, answer.refused, answered(), repeat)
    requireUsable(account, answer.operation, attempt.id)
    account.health = afterAnswer(account.health, answered())
    return accept(sending, answer.operation, 'attempt accepted')
  } catch (thrown) {
    signal.throwIfAborted()
    const problem = faultOf(thrown)
    if (!isOurs(problem)) account.health = afterFault(account.health, answered())
    if (!mayHaveLeft() && !repeat) return goElsewhere(sending, problem, 'attempt not sent')
    return stayHeld(sending, problem)
  }
}

/** It is this machine that can't open another connection: no reason to keep other processes from the account. */
function isOurs({ code, cause }: Problem): boolean {
  return code === 'provider_unreachable' && Problem.from(cause).code === 'storage_unavailable'
}

/**
 * Whether the billable request may have left is seen where it leaves, not by what the adapter throws: it may be another
 * of its requests that found nobody.
 */
function watchSend(call: Call): { call: Call; mayHaveLeft: () => boolean } {
  let left = 0
  const send: Call['send'] = async (path, init, signal) => {
    left += 1
    try {
      return await call.send(path, init, signal)
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.code === 'provider_unreachable') left -= 1
      throw thrown
    }
  }
  return { call: { ...call, send }, mayHaveLeft: () => left > 0 }
}

/** What can't be kept, or asked after, is no answer: whether the work was taken stays unknown. */
export function requireUsable({ provider, upstream }: Account, operation: Json, attempt: string): void {
  // Our own may have a whole prompt in it.
  const bytes = upstream === null ? 0 : handleBytes(operation)
  const fits = bytes <= maxHandleBytes && (provider.operations?.fits(operation, attempt) ?? true)
  if (fits) return
  const limit = `its name has ${bytes} bytes, and ${maxHandleBytes} are taken`
  const cause = new Error(bytes > maxHandleBytes ? limit : `it is not like ${provider.operations?.example}`)
  throw new Problem('provider_unavailable', 'The provider names its work as nobody can use it.', { cause })
}

function stayHeld({ task, attempt, tools }: Sending, problem: Problem): Decision {
  const now = tools.clock.now()
  const { openedAt } = attempt
  const left = lookUntil(openedAt, task.finishBy) - now
  const change: Change = { state: 'held', dueAt: now + nextLook(now - openedAt, left, true) }
  return { change, fact: factOf(attempt, 'open', now, problem), note: ['outcome unknown', textOf(problem)] }
}

export function accept(
  { attempt, account, tools }: Pick<Sending, 'attempt' | 'account' | 'tools'>,
  operation: Json,
  name: string,
): Decision {
  const now = tools.clock.now()
  const dueAt = now + nextPoll(account.provider.cadenceMs, 0, chance(tools.random))
  const fact: AttemptFact = { id: attempt.id, state: 'accepted', operation, settledAt: now, problem: null }
  const change: Change = { state: 'running', startedAt: now, dueAt, operation, tries: 0, missingAt: null }
  return { change, fact, note: [name, { attempt: attempt.id, account: attempt.account }] }
}

function refuse(
  sending: Sending,
  { problem, blame, retryAfterMs }: Refusal,
  answered: Answered,
  repeat: 'repeat' | null,
): Decision {
  const { attempt, account } = sending
  const { now } = answered
  account.health =
    blame === 'request'
      ? afterAnswer(account.health, answered)
      : afterRefusal(account.health, blame, answered, retryAfterMs)
  if (repeat) return stayHeld(sending, problem)
  if (blame !== 'request') return goElsewhere(sending, problem, `attempt refused: ${blame}`)
  const { code, message } = problem
  return {
    change: { state: 'failed', error: { code, message }, dueAt: now },
    fact: factOf(attempt, 'refused', now, problem),
    note: ['attempt refused: request', textOf(problem)],
  }
}

/**
 * Not accepted, for sure: the next route now, or whichever has room after a while. Where the same account did not take it
 * twice, the others are full: then it is no use to hurry. It ends at the task's own deadline.
 */
function goElsewhere({ task, attempt, account, tools }: Sending, problem: Problem, name: string): Decision {
  const now = tools.clock.now()
  const tried = [...new Set([...task.tried, account.name])]
  const routes = tools.catalog.entries.get(task.card)?.card.routes ?? []
  const more = routes.some((route) => {
    const other = tools.accounts.get(route.account)
    return other && !tried.includes(other.name) && roomOf(other.health, now) > 0
  })
  const change: Change =
    more && !task.tried.includes(account.name)
      ? { state: 'queued', dueAt: now, tried }
      : { state: 'queued', dueAt: now + backoff(task.tries), tried: more ? tried : [], tries: task.tries + 1 }
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
export function textOf({ message, cause }: Reason): string {
  return cause === undefined ? message : `${message} (${String((cause as Error).message ?? cause)})`.slice(0, 500)
}
