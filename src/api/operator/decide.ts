import { type AccountView, hasOtherAddress } from '../../core/account.ts'
import { type Attempt, handleBytes, maxHandleBytes, operationKey } from '../../core/attempt.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { Problem } from '../../core/problem.ts'
import { accepted, givenUp, type Outcome, resubmitted } from '../../core/recovery.ts'
import { apply } from '../../core/states.ts'
import { isFinished, isTaskId, type Json, type Task } from '../../core/task.ts'
import { eventsOf } from '../../core/timeline.ts'
import { leaseMs } from '../../core/timing.ts'
import { noTraces, taskFields } from '../../core/trace.ts'
import type { AttemptStore, TaskStore } from '../../stores/store.ts'
import { AdoptTask, DecideTask } from '../../wire/operator.ts'
import { describeTask, type OperatorDependencies, taskNotFound, taskPath, theTask } from '../operator.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type Route } from '../route.ts'
import { auditOf } from './audit.ts'

/*
 * An operator's decisions about a held task, whose submit has an unknown outcome. A decision takes the same lease as a
 * worker, so that the two never decide at once.
 */

/** A held task under our lease. */
interface Held {
  task: Task
  attempt: Attempt
  now: number
}

/** How a decision is called in the timeline and in the audit log. */
interface Described {
  name: string
  action: AuditEntry['action']
}

const resubmission: Described = { name: 'operator: resubmitted', action: 'task.resubmit' }

/** All refusals have this code. A state conflict is not 409, because SDKs would repeat the request. */
const refusal = (message: string, param?: string) =>
  new Problem('invalid_request', message, param === undefined ? {} : { param })

const errors = ['invalid_request', 'video_not_found', 'storage_unavailable'] as const
const example = { attempt: `att_${'0'.repeat(36)}` }
const decision = { schema: DecideTask, as: 'json', isOptional: true, example } as const
const decisionErrors = [...errors, 'unknown_parameter', 'invalid_type', 'invalid_value'] as const

/** All are refused for a task that is not held. */
export function decisionRoutes(dependencies: OperatorDependencies): Route[] {
  return [
    defineRoute({
      at: 'POST /operator/v1/tasks/:id/adopt',
      id: 'adoptTask',
      summary: 'Adopt a job for a held task',
      description: 'You found the job of the submit at the provider. The task continues with it.',
      path: taskPath,
      body: { schema: AdoptTask, as: 'json', example: { operation: { id: 'the id at the provider' } } },
      responses: theTask,
      errors: [...errors, ...bodyFaults],
      handler: adoptTask(dependencies),
    }),
    defineRoute({
      at: 'POST /operator/v1/tasks/:id/resubmit',
      id: 'resubmitTask',
      summary: 'Submit a held task again',
      description: 'The video may be generated, and paid for, twice.',
      path: taskPath,
      body: decision,
      responses: theTask,
      errors: decisionErrors,
      handler: resubmitTask(dependencies),
    }),
    defineRoute({
      at: 'POST /operator/v1/tasks/:id/give_up',
      id: 'giveUpTask',
      summary: 'Give up a held task',
      description: 'The task fails with `submission_unknown`.',
      path: taskPath,
      body: decision,
      responses: theTask,
      errors: decisionErrors,
      handler: giveUpTask(dependencies),
    }),
  ]
}

function adoptTask(dependencies: OperatorDependencies) {
  const { accounts, store } = dependencies
  return (request: BodyRequest<{ operation: unknown } & DecideTask>) => {
    const given = readOperation(request.body.operation)
    return decide(request, dependencies, async ({ attempt, now }) => {
      const { id, account, upstreamModel } = attempt
      const { operations } = accountOf(attempt, accounts).provider
      const isId = typeof given === 'string' && !operations?.fits(given, id)
      const operation = (isId && operations?.ofId?.(given, upstreamModel)) || given
      const key = operationKey(operation)
      if ((await store.bound(account, [key])).has(key)) {
        const message = `Operation ${shown(operation)} of account '${account}' already belongs to another attempt.`
        throw refusal(message, 'operation')
      }
      if (operations && !operations.fits(operation, id)) {
        const form = `Operations of account '${account}' look like ${operations.example}`
        throw refusal(`'operation' can't be the operation of attempt '${id}'. ${form}.`, 'operation')
      }
      const { change, fact } = accepted(attempt, { operation }, { now, dueAt: now })
      return { change: { ...change, tried: [] }, fact, name: 'operator: adopted', action: 'task.adopt' }
    })
  }
}

/** The account that the attempt was sent to: only this account can poll the operation. */
function accountOf({ account: name, keyVersion }: Attempt, accounts: OperatorDependencies['accounts']): AccountView {
  const account = accounts.get(name)
  if (account && !hasOtherAddress(keyVersion, account.keyVersion)) return account
  const reason = account ? 'had another address when this was sent' : 'is not configured'
  const advice = `Configure ${account ? 'that address' : 'it'} again and restart, or resubmit the task.`
  throw refusal(`Account '${name}' ${reason}, so the operation can't be polled. ${advice}`)
}

/** The operator takes the risk that the video is generated, and paid for, twice. */
function resubmitTask(dependencies: OperatorDependencies) {
  return (request: DecideRequest) =>
    decide(request, dependencies, async ({ task, attempt, now }) => {
      const { finishBy } = task
      if (now >= finishBy) {
        const when = new Date(finishBy).toISOString()
        throw refusal(`Task '${task.id}' had to be finished by ${when}, so it can't be submitted again. Give it up.`)
      }
      const { change, fact } = resubmitted(attempt, now, attempt.problem ?? undefined)
      // The task may have been held past its `startBy`.
      return { change: { ...change, startBy: finishBy, tries: 0, tried: [] }, fact, ...resubmission }
    })
}

function giveUpTask(dependencies: OperatorDependencies) {
  return (request: DecideRequest) =>
    decide(request, dependencies, async ({ attempt, now }) => ({
      ...givenUp(attempt, now, attempt.problem ?? undefined),
      name: 'operator: given up',
      action: 'task.give_up',
    }))
}

type DecideRequest = BodyRequest<DecideTask | null>

async function decide(
  request: DecideRequest,
  { store, clock, log, accounts, traces = noTraces, metrics }: OperatorDependencies,
  decision: (held: Held) => Promise<Outcome & Described>,
) {
  const id = pathParam(request, 'id')
  const now = clock.now()
  const seen = isTaskId(id) ? await store.find(id) : undefined
  const task = seen && (await store.claimOne(id, 'held', now + leaseMs))
  if (!task) throw await reasonAgainst(id, store)
  try {
    const attempt = await store.attempt(task.attempt ?? '')
    if (!attempt) throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
    refuseOther(attempt, request.body?.attempt)
    refuseAccepted(attempt)
    const { change, fact, name, action } = await decision({ task, attempt, now })
    const after = apply(task, change)
    const detail = { operator: request.token.name, attempt: attempt.id, account: attempt.account }
    const audit = auditOf(request, {
      at: now,
      action,
      target: id,
      before: auditedPart(task),
      after: auditedPart(after),
    })
    // An operator's fact is not a provider's response. Without the lease it is void.
    const fenced = { fact, isFactFenced: true } as const
    const entry = { task: after, ...fenced, audit, events: eventsOf(task, after, now, [name, detail]) }
    if (!(await store.record(entry))) throw await whyOvertaken(attempt, store)
    metrics?.tasks.decided(task, entry)
    log.info(name, { request: request.id, ...taskFields(task), ...detail })
    if (isFinished(after)) traces.later(() => traces.recordTask({ store, accounts }, { task: after, at: now }))
    return await describeTask(after, store)
  } catch (error) {
    // Nothing was decided, so the task gets its due time back. If the lease is lost, this does nothing.
    await store.record({ task: { ...task, dueAt: seen.dueAt } })
    throw error
  }
}

/** Another operator decided meanwhile, and a newer attempt is open. No operator has looked for that one at its provider yet. */
function refuseOther({ id, task }: Attempt, decidedAbout: string | undefined): void {
  if (decidedAbout === undefined || decidedAbout === id) return
  throw refusal(
    `\`attempt\` is '${decidedAbout.slice(0, 50)}'. The open attempt of task '${task}' is '${id}'. Look for that one at the provider, then decide again.`,
    'attempt',
  )
}

/** The provider's response arrived while the task was held. The next worker continues with it. */
function refuseAccepted({ id, state, operation }: Attempt): void {
  if (state !== 'accepted') return
  throw refusal(
    `The provider's response has arrived: attempt '${id}' was accepted as ${shown(operation)}. The task continues by itself.`,
  )
}

/** What was recorded between our look at the attempt and our decision. */
async function whyOvertaken({ id, task }: Attempt, store: AttemptStore & TaskStore): Promise<Problem> {
  const [attempt, after] = await Promise.all([store.attempt(id), store.find(task)])
  // A task that was deleted, or that another operator decided about, does not continue with this response.
  const continues = attempt?.state === 'accepted' && after?.state === 'held' && after.deletedAt === null
  if (!continues) return refusal(`Task '${task}' was changed meanwhile. Check it again.`)
  return refusal(
    `Attempt '${id}' was accepted as ${shown(attempt.operation)} meanwhile. The task continues with that by itself.`,
  )
}

/** An operation in a message. */
function shown(operation: Json): string {
  return operationKey(operation).slice(0, 200)
}

async function reasonAgainst(id: string, store: TaskStore): Promise<Problem> {
  const task = isTaskId(id) ? await store.find(id) : undefined
  if (!task) return taskNotFound(id)
  if (task.deletedAt !== null) return refusal(`Task '${id}' was deleted by its owner. There is nothing to decide.`)
  if (task.state !== 'held') return refusal(`Task '${id}' is ${task.state}, not held. There is nothing to decide.`)
  return refusal(`Task '${id}' is being processed at this moment. Check it again in a few seconds.`)
}

/** Limited like the operations of providers: it is read with every poll. */
function readOperation(operation: unknown): Json {
  if (isFlat(operation, 8) && handleBytes(operation) <= maxHandleBytes) return operation
  throw new Problem('invalid_value', `Invalid 'operation': it may have up to ${maxHandleBytes} bytes and 8 levels.`, {
    param: 'operation',
  })
}

function isFlat(value: unknown, levels: number): value is Json {
  if (value === null || typeof value !== 'object') return true
  return levels > 0 && Object.values(value).every((inner) => isFlat(inner, levels - 1))
}

/** What a decision changes of a task. */
function auditedPart({ state, account, attempt, operation, error }: Task): object {
  return { state, account, attempt, operation, error }
}
