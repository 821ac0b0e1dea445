import { type Attempt, type AttemptFact, handleBytes, maxHandleBytes } from '../../core/attempt.ts'
import { chance } from '../../core/clock.ts'
import { type Answered, afterAnswer, afterFault, afterRefusal, roomOf } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import type { Change } from '../../core/states.ts'
import type { Json, Task, TaskError } from '../../core/task.ts'
import { backoff, lookUntil, nextLook, nextPoll } from '../../core/timing.ts'
import type { Call, ProviderRequest, Refusal } from '../../providers/provider.ts'
import { type Account, callOf, type Decision, faultOf, type Notes, type Tools } from '../worker.ts'

/** An attempt on its way: everything that sending it takes. */
export interface Sending {
  task: Task
  attempt: Attempt
  account: Account
  request: ProviderRequest
  tools: Tools
  signal: AbortSignal
}

/** How the attempt is committed, at the last moment before its request leaves. */
export interface Opening {
  /** The task and its attempt as they were committed. */
  commit(): Promise<Opened>
  leave(): void
}

type Opened = Pick<Sending, 'task' | 'attempt'>

/**
 * Sends an attempt and says what became of it. With an opening the attempt does not exist yet: the provider prepares its
 * request, the connection is opened, the attempt is committed, and then the request leaves. A process that dies earlier
 * leaves nothing unknown. Without an opening this repeats an open attempt: then only an acceptance says anything, because
 * a repeat that was refused, or did not arrive, tells nothing of the first.
 */
export async function send(sending: Sending, opening: Opening | null = null): Promise<Decision> {
  const { attempt, account, request, tools, signal } = sending
  const begunAt = tools.clock.now()
  const answered = (): Answered => ({ begunAt, now: tools.clock.now() })
  const departure = openDeparture(opening)
  const call = callOf(account, { attempt: attempt.id }, tools, signal)
  try {
    // A local provider sends nothing: its work begins with the submit.
    if (account.upstream === null) await departure.commitOnly()
    const answer = await account.provider.submit(request, departure.watch(call))
    const sent: Sending = { ...sending, ...departure.opened() }
    if ('refused' in answer) return refuse(sent, answer.refused, answered(), departure)
    if (!departure.isCommitted()) throw new Error('a provider names an operation without having sent anything')
    requireUsable(account, answer.operation, attempt.id)
    account.health = afterAnswer(account.health, answered())
    return accept(sent, answer.operation, 'attempt accepted')
  } catch (thrown) {
    departure.throwIfNotCommitted()
    const problem = faultOf(thrown)
    const isUnsent = opening !== null && !departure.mayHaveLeft()
    if (!isUnsent || !departure.isCommitted()) signal.throwIfAborted()
    if (!isOurs(problem)) account.health = afterFault(account.health, answered())
    const sent: Sending = { ...sending, ...departure.opened() }
    return isUnsent ? goElsewhere(sent, problem, 'attempt not sent', departure) : stayHeld(sent, problem)
  }
}

/** This machine can't open another connection: no reason to keep other processes from the account. */
function isOurs({ code, cause }: Problem): boolean {
  return code === 'provider_unreachable' && Problem.from(cause).code === 'storage_unavailable'
}

type SentAttempt = ReturnType<typeof openDeparture>

/**
 * What is known of the one billable request. Whether it may have left is seen where it leaves, not by what the adapter
 * throws: another of its requests may have failed.
 */
function openDeparture(opening: Opening | null) {
  let opened: Opened | undefined
  let failure: { thrown: unknown } | undefined
  let mayHaveLeft = opening === null
  const commit = async () => {
    if (!opening) return
    try {
      opened = await opening.commit()
    } catch (thrown) {
      failure = { thrown }
      throw thrown
    }
  }
  const leave = () => {
    opening?.leave()
    mayHaveLeft = true
  }
  const watch = (call: Call): Call => {
    let isUsed = false
    const send: Call['send'] = async (path, init, signal) => {
      if (isUsed) throw new Error('a provider sends one billable request for an attempt')
      isUsed = true
      try {
        return await call.send(path, init, signal, { ready: commit, leave })
      } catch (thrown) {
        if (thrown instanceof Problem && thrown.code === 'provider_unreachable' && opening) mayHaveLeft = false
        throw thrown
      }
    }
    return { ...call, send }
  }
  return {
    isRepeat: opening === null,
    async commitOnly(): Promise<void> {
      await commit()
      opening?.leave()
    },
    watch,
    opened: () => opened,
    isCommitted: () => opening === null || opened !== undefined,
    mayHaveLeft: () => mayHaveLeft,
    /** Whatever an adapter made of it: what could not be committed is told as it was. */
    throwIfNotCommitted(): void {
      if (failure) throw failure.thrown
    },
  }
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
  how: Pick<AttemptFact, 'adopted'> = {},
): Decision {
  const now = tools.clock.now()
  const dueAt = now + nextPoll(account.provider.cadenceMs, 0, chance(tools.random))
  const fact: AttemptFact = { id: attempt.id, state: 'accepted', operation, settledAt: now, problem: null, ...how }
  const change: Change = { state: 'running', startedAt: now, dueAt, operation, tries: 0, missingAt: null }
  return { change, fact, note: [name, { attempt: attempt.id, account: attempt.account }] }
}

function refuse(
  sending: Sending,
  { problem, blame, retryAfterMs }: Refusal,
  answered: Answered,
  departure: SentAttempt,
): Decision {
  const { account } = sending
  const { now } = answered
  account.health =
    blame === 'request'
      ? afterAnswer(account.health, answered)
      : afterRefusal(account.health, blame, answered, retryAfterMs)
  if (departure.isRepeat) return stayHeld(sending, problem)
  if (blame !== 'request') return goElsewhere(sending, problem, `attempt refused: ${blame}`, departure)
  const { code, message } = problem
  return {
    change: { state: 'failed', error: { code, message }, dueAt: now },
    ...refusalOf(sending, problem, departure),
    note: ['attempt refused: request', textOf(problem)],
  }
}

/** What was refused before it was committed has no attempt to record it on. */
function refusalOf({ attempt, tools }: Sending, problem: Problem, departure: SentAttempt): Notes {
  return departure.isCommitted() ? { fact: factOf(attempt, 'refused', tools.clock.now(), problem) } : {}
}

/**
 * Not accepted, for sure: the next route now, or whichever has room after a while. Where the same account did not take it
 * twice, the others are full: then it is no use to hurry. It ends at the task's own deadline.
 */
function goElsewhere(sending: Sending, problem: Problem, name: string, departure: SentAttempt): Decision {
  const { task, account, tools } = sending
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
  return { change, ...refusalOf(sending, problem, departure), note: [name, textOf(problem)] }
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
