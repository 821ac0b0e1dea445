import { acceptsTasks } from '../core/account.ts'
import { type Attempt, newAttemptId } from '../core/attempt.ts'
import { afterFault, afterRefusal, afterResponse, newTasksAllowed, type RequestTimes } from '../core/health.ts'
import { errorForOperator, Problem } from '../core/problem.ts'
import { attemptFact, endsWithoutAccount, givenUp, nextCheckAt, resubmitted } from '../core/recovery.ts'
import type { Change } from '../core/states.ts'
import type { Task } from '../core/task.ts'
import { backoff } from '../core/timing.ts'
import type { Call, ProviderRequest, Refusal } from '../providers/provider.ts'
import { type AttemptSearch, accept, recoverAttempt, requireUsable } from './submit/lookup.ts'
import {
  type Account,
  type Action,
  accountAt,
  accountOf,
  callOf,
  type Decision,
  type DecisionExtras,
  faultOf,
  requestOf,
  type Tools,
  type Worker,
} from './worker.ts'

/**
 * Opens an attempt and sends it. Right before the first byte is sent, the attempt is committed and the task held: if this
 * process dies, the next worker that claims the held task knows that a request may have been sent.
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
      const message = 'No provider could accept this video before its deadline. Try again later.'
      return { change: { state: 'failed', error: { code: 'deadline_exceeded', message }, dueAt: now } }
    }
    const { account, upstreamModel } = routeOf(task, tools)
    const attempt: Attempt = {
      id: newAttemptId(tools.random),
      task: task.id,
      number: task.attempts + 1,
      account: account.name,
      keyVersion: account.keyVersion,
      upstreamModel,
      openedAt: now,
      state: 'open',
      operation: null,
      settledAt: null,
      problem: null,
    }
    const request = await requestOf(task, upstreamModel, tools)
    const change = { state: 'held', attempt: attempt.id, attempts: attempt.number, dueAt: null } as const
    const commit = async (isOpen?: () => boolean) => {
      // It may have been removed, drained or changed while the request was prepared.
      const current = tools.accounts.get(account.name)
      if (!current || !acceptsTasks(current) || current.keyVersion !== account.keyVersion) throw unavailable()
      const committed = await action.commit(change, attempt, isOpen)
      tools.keyVersions.set(attempt.id, attempt.keyVersion)
      return committed
    }
    return send({ task, attempt, account, request, tools, signal }, { commit, leave: action.leave })
  },
}

/** The route that was chosen when the task was claimed. */
function routeOf(task: Task, tools: Tools): { account: Account; upstreamModel: string } {
  const account = accountOf(task, tools)
  const route = tools.catalog.entries
    .get(task.card)
    ?.card.routes.find((candidate) => candidate.account === task.account)
  if (route) return { account, upstreamModel: route.upstreamModel }
  throw unavailable()
}

function unavailable(): Problem {
  return new Problem('provider_unavailable', 'The model is not available right now.', { retryable: true })
}

/** Does what `core/recovery.ts` decides about an attempt without a response. */
async function recoverHeld(task: Task, tools: Tools, action: Action): Promise<Decision> {
  const { attempt, signal } = action
  if (!attempt) throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
  const giveUp = (): Decision => ({ ...givenUp(attempt, tools.clock.now()), note: ['outcome unknown: given up'] })
  if (!accountAt(task, tools, attempt) && endsWithoutAccount({ task, attempt, now: tools.clock.now() })) return giveUp()
  const search: AttemptSearch = { task, attempt, account: accountOf(task, tools, attempt), tools, signal }
  const { step, notes } = await recoverAttempt(search, action)
  const now = tools.clock.now()
  switch (step.do) {
    case 'accept':
      return accept(search, step)
    case 'refuse':
      return { change: { state: 'queued', dueAt: now }, note: ['late response: refused'] }
    case 'repeat':
      return send({ ...search, request: await requestOf(task, attempt.upstreamModel, tools) })
    case 'wait':
      return { change: { state: 'held', dueAt: step.dueAt }, ...notes }
    case 'hold':
      return {
        change: { state: 'held', dueAt: step.dueAt },
        ...notes,
        ...(step.releasesSlots && { releasesSlots: true }),
      }
    case 'resubmit':
      return { ...resubmitted(attempt, now), note: ['outcome unknown: resubmitted (on_unknown: resubmit)'] }
    case 'give up':
      return giveUp()
  }
}

/** An attempt and its request. */
interface Sending extends AttemptSearch {
  request: ProviderRequest
}

/** Commits a new attempt, at the last moment before its request is sent. */
interface Opening {
  /** Returns the task and its attempt as they were committed. */
  commit(isOpen?: () => boolean): Promise<Opened>
  leave(): void
}

type Opened = Pick<Sending, 'task' | 'attempt'>

/**
 * Sends an attempt and decides about its task. With an `opening` the attempt is new: the provider prepares its request, the
 * connection is opened, the attempt is committed, and then the request is sent. If the process dies earlier, nothing is
 * unknown. Without an `opening` this repeats an open attempt: then only an acceptance counts, because the refusal or
 * failure of a repeat proves nothing about the first request.
 */
async function send(sending: Sending, opening: Opening | null = null): Promise<Decision> {
  const { task, attempt, account, request, tools, signal } = sending
  const begunAt = tools.clock.now()
  const times = (): RequestTimes => ({ begunAt, now: tools.clock.now() })
  const departure = trackSend(opening)
  const call = callOf(account, { attempt: attempt.id, trace: task.trace }, tools, signal)
  let accepted: Decision
  try {
    // A local provider sends no request: its work begins with the submit.
    if (account.upstream === null) await departure.commitOnly()
    const answer = await account.provider.submit(request, departure.watch(call))
    const sent: Sending = { ...sending, ...departure.opened() }
    if ('refused' in answer) return refuse(sent, answer.refused, times(), departure)
    if (!departure.isCommitted()) throw new Error('the adapter returned an operation without sending a request')
    requireUsable(account, answer.operation, attempt.id)
    account.health = afterResponse(account.health, times())
    accepted = accept(sent, { operation: answer.operation }, 'attempt accepted')
  } catch (thrown) {
    departure.throwIfNotCommitted()
    const problem = faultOf(thrown)
    const isUnsent = opening !== null && !departure.mayHaveLeft()
    if (!isUnsent || !departure.isCommitted()) signal.throwIfAborted()
    if (!isOurs(problem)) account.health = afterFault(account.health, times())
    const sent: Sending = { ...sending, ...departure.opened() }
    return isUnsent ? goElsewhere(sent, problem, notSent, departure) : stayHeld(sent, problem)
  }
  tools.alarms?.clear('model_retired', modelAt(sending))
  return accepted
}

/** The subject of an alarm about a model that the provider does not know. */
function modelAt({ task, account }: Sending): string {
  return `${task.card} at ${account.name}`
}

/** This machine can't open another connection, or its lease ended: the account is not paused because of that. */
function isOurs({ code, cause }: Problem): boolean {
  if (code === 'storage_unavailable') return true
  return code === 'provider_unreachable' && Problem.from(cause).code === 'storage_unavailable'
}

type SentAttempt = ReturnType<typeof trackSend>

/**
 * Tracks the one billable request. Whether it may have been sent is known where it is sent, and not from what the adapter
 * throws: another of its requests may have failed.
 */
function trackSend(opening: Opening | null) {
  let opened: Opened | undefined
  let failure: { thrown: unknown } | undefined
  let mayHaveLeft = opening === null
  const commit = async (isOpen?: () => boolean) => {
    if (!opening) return
    try {
      opened = await opening.commit(isOpen)
    } catch (thrown) {
      // A connection that was closed meanwhile is a fault like one that could not be opened.
      if (Problem.from(thrown).code !== 'provider_unreachable') failure = { thrown }
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
      if (isUsed) throw new Error('the adapter sent a second billable request for one attempt')
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
    /** Throws the error of a failed commit itself, whatever the adapter turned it into. */
    throwIfNotCommitted(): void {
      if (failure) throw failure.thrown
    },
  }
}

function stayHeld({ task, attempt, account, tools }: Sending, problem: Problem): Decision {
  const now = tools.clock.now()
  const error = errorForOperator(problem)
  const change: Change = { state: 'held', dueAt: nextCheckAt({ task, attempt, now }) }
  const fact = attemptFact(attempt.id, 'open', error, now)
  return {
    change,
    fact,
    note: ['outcome unknown', error.message],
    met: { account: account.name, problem, isRefusal: false },
  }
}

function refuse(
  sending: Sending,
  { problem, blame, retryAfterMs, isCredit, isModelUnknown }: Refusal,
  times: RequestTimes,
  departure: SentAttempt,
): Decision {
  const { account } = sending
  const { now } = times
  account.health =
    blame === 'request'
      ? afterResponse(account.health, times)
      : afterRefusal(account.health, blame, times, retryAfterMs, isCredit)
  if (isModelUnknown) sending.tools.alarms?.raise('model_retired', modelAt(sending), { task: sending.task.id })
  if (departure.isRepeat) return stayHeld(sending, problem)
  if (blame !== 'request') return goElsewhere(sending, problem, `attempt refused: ${blame}`, departure)
  const { code, message } = problem
  const change: Change = { state: 'failed', error: { code, message }, dueAt: now }
  return { change, ...refusalOf(sending, problem, 'attempt refused: request', departure) }
}

/** A refusal before the commit has no attempt to be recorded on. */
function refusalOf(
  { attempt, account, tools }: Sending,
  problem: Problem,
  name: string,
  departure: SentAttempt,
): DecisionExtras {
  const error = errorForOperator(problem)
  const fact = departure.isCommitted() && attemptFact(attempt.id, 'refused', error, tools.clock.now())
  const { recovery, refusesDuplicates } = account.provider
  // Without the lease, another process may have repeated the same attempt by now, and the provider may accept that.
  const isFenced = recovery === 'key' || refusesDuplicates
  return { note: [name, error.message], ...(fact && { fact, ...(isFenced && { isFactFenced: true as const }) }) }
}

const notSent = 'attempt not sent'

/**
 * The attempt was surely not accepted: the task goes to the next route now, or waits and then tries any route with a free
 * slot. It also waits if the same account refused it twice: then all others are full. Its deadline ends this.
 */
function goElsewhere(sending: Sending, problem: Problem, name: string, departure: SentAttempt): Decision {
  const { task, account, tools } = sending
  const now = tools.clock.now()
  const tried = [...new Set([...task.tried, account.name])]
  const routes = tools.catalog.entries.get(task.card)?.card.routes ?? []
  const hasOther = routes.some((route) => {
    const other = tools.accounts.get(route.account)
    return other && acceptsTasks(other) && !tried.includes(other.name) && newTasksAllowed(other.health, now) > 0
  })
  const change: Change =
    hasOther && !task.tried.includes(account.name)
      ? { state: 'queued', dueAt: now, tried }
      : { state: 'queued', dueAt: now + backoff(task.tries), tried: hasOther ? tried : [], tries: task.tries + 1 }
  const met = { account: account.name, problem, isRefusal: name !== notSent }
  return { change, ...refusalOf(sending, problem, name, departure), met }
}
