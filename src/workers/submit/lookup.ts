import { type Attempt, handleBytes, maxHandleBytes, operationKey } from '../../core/attempt.ts'
import { chance } from '../../core/clock.ts'
import { errorForOperator, Problem } from '../../core/problem.ts'
import {
  type Acceptance,
  accepted,
  attemptFact,
  type Finding,
  hasRival,
  identify,
  type Lookup,
  maxRivals,
  type RecoveryStep,
  recover,
  rivalsMs,
  type UnknownSubmit,
} from '../../core/recovery.ts'
import type { Json, Task } from '../../core/task.ts'
import { nextPoll } from '../../core/timing.ts'
import {
  type Account,
  type Action,
  callOf,
  type Decision,
  type DecisionExtras,
  faultOf,
  requestOf,
  type Tools,
} from '../worker.ts'

/** An attempt of unknown outcome, and what is needed to find out what happened to it. */
export interface AttemptSearch {
  task: Task
  attempt: Attempt
  account: Account
  tools: Tools
  signal: AbortSignal
}

/** Asks `core/recovery.ts` what to do about an attempt, and reads what it needs for that. `notes` are about the lookup. */
export async function recoverAttempt(
  search: AttemptSearch,
  action: Pick<Action, 'bound' | 'rivals' | 'attempts'>,
  isDeleted = false,
): Promise<{ step: Exclude<RecoveryStep, { do: 'ask' | 'count' }>; notes: DecisionExtras }> {
  const { task, attempt, account, tools } = search
  let known: Omit<UnknownSubmit, 'now'> = { task, attempt, attempts: null, account, lookup: null, isDeleted }
  let notes: DecisionExtras = {}
  for (;;) {
    const step = recover({ ...known, now: tools.clock.now() })
    if (step.do === 'ask') {
      const result = await lookUp(search, action)
      known = { ...known, lookup: result.lookup }
      notes = result.notes
    } else if (step.do === 'count') known = { ...known, attempts: await action.attempts() }
    else return { step, notes }
  }
}

async function lookUp(
  search: AttemptSearch,
  action: Pick<Action, 'bound' | 'rivals'>,
): Promise<{ lookup: Lookup; notes: DecisionExtras }> {
  const { attempt, account, tools, signal } = search
  const askedAt = tools.clock.now()
  try {
    const finding = await find(search, action)
    if (finding.is === 'found') requireUsable(account, finding.operation, attempt.id)
    const notes = finding.is === 'unsure' ? noteOnce(search, 'lookup inconclusive', ambiguous) : {}
    return { lookup: { ...finding, askedAt }, notes }
  } catch (thrown) {
    signal.throwIfAborted()
    const fault = faultOf(thrown)
    const message = 'The lookup of this attempt at the provider failed.'
    const problem = new Problem('provider_unavailable', message, { cause: fault.cause ?? fault })
    return { lookup: { is: 'failed', askedAt }, notes: noteOnce(search, 'lookup failed', problem) }
  }
}

/** A longer list is not compared: that would delay all other work. */
const maxCandidates = 1_000

async function find(
  { task, attempt, account, tools, signal }: AttemptSearch,
  { bound, rivals }: Pick<Action, 'bound' | 'rivals'>,
): Promise<Finding> {
  const { name, provider } = account
  const request = await requestOf(task, attempt.upstreamModel, tools)
  const found = await provider.find?.(request, attempt.openedAt, callOf(account, task, tools, signal))
  if (!found) throw new Error('the adapter has no lookup')
  const operations = [...found.matches, ...found.possible]
  if (operations.length > maxCandidates) throw new Error(`the provider lists more than ${maxCandidates} jobs`)
  if (operations.length === 0) return identify(found, new Set(), false)
  // Rivals are read before `bound`: a rival that gets its response in between is bound by then.
  const others = provider.recovery === 'list' ? await rivals(attempt, attempt.openedAt - rivalsMs, maxRivals) : []
  const isRivalled = hasRival({ id: attempt.id, prompt: task.prompt }, others, provider.listedAs)
  return identify(found, await bound(name, operations.map(operationKey)), isRivalled)
}

const ambiguous = new Problem(
  'provider_unavailable',
  'The provider lists jobs that may belong to this attempt or to another one.',
)

/** A problem is noted when it is new, and not again at each lookup. */
function noteOnce({ attempt, tools }: AttemptSearch, name: string, problem: Problem): DecisionExtras {
  const error = errorForOperator(problem)
  if (attempt.problem?.message === error.message) return {}
  return { fact: attemptFact(attempt.id, 'open', error, tools.clock.now()), note: [name, error.message] }
}

/** An operation that can't be stored or polled is no response: it stays unknown whether the provider accepted the work. */
export function requireUsable({ provider, upstream }: Account, operation: Json, attempt: string): void {
  // An operation of a local provider may contain a whole prompt.
  const bytes = upstream === null ? 0 : handleBytes(operation)
  const fits = bytes <= maxHandleBytes && (provider.operations?.fits(operation, attempt) ?? true)
  if (fits) return
  const tooLong = `the job id has ${bytes} bytes; at most ${maxHandleBytes} are accepted`
  const cause = new Error(bytes > maxHandleBytes ? tooLong : `the job id is not like ${provider.operations?.example}`)
  throw new Problem('provider_unavailable', 'The provider returned an unusable job id.', { cause })
}

export function accept(
  { attempt, account, tools }: Pick<AttemptSearch, 'attempt' | 'account' | 'tools'>,
  acceptance: Acceptance,
  name = acceptance.adopted ? 'attempt adopted' : 'late response: accepted',
): Decision {
  const now = tools.clock.now()
  const dueAt = now + nextPoll(account.provider.cadenceMs, 0, chance(tools.random))
  const note: DecisionExtras['note'] = [name, { attempt: attempt.id, account: attempt.account }]
  return { ...accepted(attempt, acceptance, { now, dueAt }), note }
}
