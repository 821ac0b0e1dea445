import { type Attempt, handleBytes, maxHandleBytes, operationKey } from '../../core/attempt.ts'
import { chance } from '../../core/clock.ts'
import { Problem } from '../../core/problem.ts'
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
import type { Json, Task, TaskError } from '../../core/task.ts'
import { nextPoll } from '../../core/timing.ts'
import {
  type Account,
  type Action,
  callOf,
  type Decision,
  faultOf,
  type Notes,
  requestOf,
  type Tools,
} from '../worker.ts'

/** An attempt at its account, and what it takes to find out what became of it. */
export interface Searched {
  task: Task
  attempt: Attempt
  account: Account
  tools: Tools
  signal: AbortSignal
}

/** What `core/recovery.ts` says about an attempt, once it knows enough; `notes` are of the lookup. */
export async function search(
  searched: Searched,
  action: Pick<Action, 'bound' | 'rivals' | 'attempts'>,
  isDeleted = false,
): Promise<{ step: Exclude<RecoveryStep, { do: 'ask' | 'count' }>; notes: Notes }> {
  const { task, attempt, account, tools } = searched
  let known: Omit<UnknownSubmit, 'now'> = { task, attempt, attempts: null, account, lookup: null, isDeleted }
  let notes: Notes = {}
  for (;;) {
    const step = recover({ ...known, now: tools.clock.now() })
    if (step.do === 'ask') {
      const asked = await lookUp(searched, action)
      known = { ...known, lookup: asked.lookup }
      notes = asked.notes
    } else if (step.do === 'count') known = { ...known, attempts: await action.attempts() }
    else return { step, notes }
  }
}

async function lookUp(
  searched: Searched,
  action: Pick<Action, 'bound' | 'rivals'>,
): Promise<{ lookup: Lookup; notes: Notes }> {
  const { attempt, account, tools, signal } = searched
  const askedAt = tools.clock.now()
  try {
    const finding = await find(searched, action)
    if (finding.is === 'found') requireUsable(account, finding.operation, attempt.id)
    const notes = finding.is === 'unsure' ? noteOnce(searched, 'lookup can not tell', cantTell) : {}
    return { lookup: { ...finding, askedAt }, notes }
  } catch (thrown) {
    signal.throwIfAborted()
    const fault = faultOf(thrown)
    const message = 'The provider could not be asked about this attempt.'
    const problem = new Problem('provider_unavailable', message, { cause: fault.cause ?? fault })
    return { lookup: { is: 'failed', askedAt }, notes: noteOnce(searched, 'lookup failed', problem) }
  }
}

/** More jobs can't be told apart, and to compare each of them would hold up all other work. */
const maxCandidates = 1_000

async function find(
  { task, attempt, account, tools, signal }: Searched,
  { bound, rivals }: Pick<Action, 'bound' | 'rivals'>,
): Promise<Finding> {
  const { name, provider } = account
  const request = await requestOf(task, attempt.upstreamModel, tools)
  const found = await provider.find?.(request, attempt.openedAt, callOf(account, task, tools, signal))
  if (!found) throw new Error('its adapter has no lookup')
  const operations = [...found.matches, ...found.possible]
  if (operations.length > maxCandidates) throw new Error(`it names more than ${maxCandidates} jobs`)
  if (operations.length === 0) return identify(found, new Set(), false)
  // Before what is bound is read: a rival that gets its response in between is bound by then.
  const others = provider.recovery === 'list' ? await rivals(attempt, attempt.openedAt - rivalsMs, maxRivals) : []
  const isRivalled = hasRival({ id: attempt.id, prompt: task.prompt }, others, provider.listedAs)
  return identify(found, await bound(name, operations.map(operationKey)), isRivalled)
}

const cantTell = new Problem(
  'provider_unavailable',
  'The provider lists work that may be of this attempt or of another. Its list does not tell.',
)

/** Said once, not at every look. */
function noteOnce({ attempt, tools }: Searched, name: string, problem: Problem): Notes {
  const told = toldOf(problem)
  if (attempt.problem?.message === told.message) return {}
  return { fact: attemptFact(attempt.id, 'open', told, tools.clock.now()), note: [name, told.message] }
}

/** An operation that can't be stored, or polled, is no response: whether the provider accepted the work stays unknown. */
export function requireUsable({ provider, upstream }: Account, operation: Json, attempt: string): void {
  // Our own may have a whole prompt in it.
  const bytes = upstream === null ? 0 : handleBytes(operation)
  const fits = bytes <= maxHandleBytes && (provider.operations?.fits(operation, attempt) ?? true)
  if (fits) return
  const limit = `its name has ${bytes} bytes, and ${maxHandleBytes} are taken`
  const cause = new Error(bytes > maxHandleBytes ? limit : `it is not like ${provider.operations?.example}`)
  throw new Problem('provider_unavailable', 'The provider names its work as nobody can use it.', { cause })
}

export function accept(
  { attempt, account, tools }: Pick<Searched, 'attempt' | 'account' | 'tools'>,
  acceptance: Acceptance,
  name = acceptance.adopted ? 'attempt adopted' : 'late answer: accepted',
): Decision {
  const now = tools.clock.now()
  const dueAt = now + nextPoll(account.provider.cadenceMs, 0, chance(tools.random))
  const note: Notes['note'] = [name, { attempt: attempt.id, account: attempt.account }]
  return { ...accepted(attempt, acceptance, { now, dueAt }), note }
}

/** For the operator, so with its cause; the engine cuts secrets out. */
export function toldOf({ code, message, cause }: Problem): TaskError {
  if (cause === undefined) return { code, message }
  return { code, message: `${message} (${String((cause as Error).message ?? cause)})`.slice(0, 500) }
}
