import { type Attempt, newAttemptId } from '../core/attempt.ts'
import { type Answered, afterAnswer, afterFault, afterRefusal, roomOf } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import { attemptFact, endsWithoutAccount, givenUp, nextLookAt, resubmitted } from '../core/recovery.ts'
import type { Change } from '../core/states.ts'
import type { Task } from '../core/task.ts'
import { backoff } from '../core/timing.ts'
import type { Call, ProviderRequest, Refusal } from '../providers/provider.ts'
import { accept, requireUsable, type Searched, search, toldOf } from './submit/lookup.ts'
import {
  type Account,
  type Action,
  accountAt,
  accountOf,
  callOf,
  type Decision,
  faultOf,
  type Notes,
  requestOf,
  type Tools,
  type Worker,
} from './worker.ts'

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
    if (task.state === 'held') return recoverHeld(task, tools, action)
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

/** The route that was chosen when the task was claimed. */
function routeOf(task: Task, tools: Tools): { account: Account; upstreamModel: string } {
  const account = accountOf(task, tools)
  const route = tools.catalog.entries.get(task.card)?.card.routes.find((one) => one.account === task.account)
  if (route) return { account, upstreamModel: route.upstreamModel }
  throw new Problem('provider_unavailable', 'The model is not available right now.', { retryable: true })
}

/** Does what `core/recovery.ts` says about an attempt without a response. */
async function recoverHeld(task: Task, tools: Tools, action: Action): Promise<Decision> {
  const { attempt, signal } = action
  if (!attempt) throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
  const giveUp = (): Decision => ({ ...givenUp(attempt, tools.clock.now()), note: ['outcome unknown: given up'] })
  if (!accountAt(task, tools, attempt) && endsWithoutAccount({ task, attempt, now: tools.clock.now() })) return giveUp()
  const searched: Searched = { task, attempt, account: accountOf(task, tools, attempt), tools, signal }
  const { step, notes } = await search(searched, action)
  const now = tools.clock.now()
  switch (step.do) {
    case 'accept':
      return accept(searched, step)
    case 'refuse':
      return { change: { state: 'queued', dueAt: now }, note: ['late answer: refused'] }
    case 'repeat':
      return send({ ...searched, request: await requestOf(task, attempt.upstreamModel, tools) })
    case 'wait':
      return { change: { state: 'held', dueAt: step.dueAt }, ...notes }
    case 'hold':
      return { change: { state: 'held', dueAt: step.dueAt }, ...notes, ...(step.releases && { releases: true }) }
    case 'resubmit':
      return { ...resubmitted(attempt, now), note: ['outcome unknown: submitted again, as the account says'] }
    case 'give up':
      return giveUp()
  }
}

/** An attempt on its way: everything that sending it takes. */
interface Sending extends Searched {
  request: ProviderRequest
}

/** How the attempt is committed, at the last moment before its request leaves. */
interface Opening {
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
async function send(sending: Sending, opening: Opening | null = null): Promise<Decision> {
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
    return accept(sent, { operation: answer.operation }, 'attempt accepted')
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

function stayHeld({ task, attempt, tools }: Sending, problem: Problem): Decision {
  const now = tools.clock.now()
  const told = toldOf(problem)
  const change: Change = { state: 'held', dueAt: nextLookAt({ task, attempt, now }) }
  return { change, fact: attemptFact(attempt.id, 'open', told, now), note: ['outcome unknown', told.message] }
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
  const change: Change = { state: 'failed', error: { code, message }, dueAt: now }
  return { change, ...refusalOf(sending, problem, 'attempt refused: request', departure) }
}

/** What was refused before it was committed has no attempt to record it on. */
function refusalOf({ attempt, tools }: Sending, problem: Problem, name: string, departure: SentAttempt): Notes {
  const told = toldOf(problem)
  const fact = departure.isCommitted() && attemptFact(attempt.id, 'refused', told, tools.clock.now())
  return { note: [name, told.message], ...(fact && { fact }) }
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
  return { change, ...refusalOf(sending, problem, name, departure) }
}
