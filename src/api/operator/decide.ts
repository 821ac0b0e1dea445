import type { FastifyRequest } from 'fastify'
import { type AccountView, isElsewhere } from '../../core/account.ts'
import { type Attempt, handleBytes, maxHandleBytes, operationKey } from '../../core/attempt.ts'
import { Problem } from '../../core/problem.ts'
import { accepted, givenUp, type Outcome, resubmitted } from '../../core/recovery.ts'
import { apply } from '../../core/states.ts'
import { isTaskId, type Json, type Task } from '../../core/task.ts'
import { eventsOf } from '../../core/timeline.ts'
import { leaseMs } from '../../core/timing.ts'
import type { Store } from '../../stores/store.ts'
import { AdoptTask } from '../../wire/operator.ts'
import { type OperatorDependencies, taskNotFound, taskPath, tell, theTask } from '../operator.ts'
import { bodyFaults, type Route } from '../route.ts'

/*
 * What an operator decides about a held task: a submit of which nobody knows whether the provider took it. He takes the
 * same lease as a worker would, so that the two never decide at once.
 */

/** A held task under our lease. */
interface Held {
  task: Task
  attempt: Attempt
  now: number
}

/** A refusal: our text, the code is always the same. A state conflict is no 409, which SDKs would repeat. */
const refusal = (message: string, param?: string) =>
  new Problem('invalid_request', message, param === undefined ? {} : { param })

const errors = ['invalid_request', 'video_not_found', 'storage_unavailable'] as const

/** Each is refused for a task that is not held. */
export function decisionRoutes(dependencies: OperatorDependencies): Route[] {
  return [
    {
      at: 'POST /operator/v1/tasks/:id/adopt',
      id: 'adoptTask',
      summary: 'Adopt work for a held task',
      description: 'You found the work of the submit at the provider: the task continues with it.',
      path: taskPath,
      body: { schema: AdoptTask, as: 'json', example: { operation: { id: 'the id at the provider' } } },
      answers: theTask,
      errors: [...errors, ...bodyFaults],
      handler: adoptTask(dependencies),
    },
    {
      at: 'POST /operator/v1/tasks/:id/resubmit',
      id: 'resubmitTask',
      summary: 'Submit a held task again',
      description: 'The video may be generated, and paid for, twice.',
      path: taskPath,
      answers: theTask,
      errors,
      handler: resubmitTask(dependencies),
    },
    {
      at: 'POST /operator/v1/tasks/:id/give_up',
      id: 'giveUpTask',
      summary: 'Give a held task up',
      description: 'The task fails with `submission_unknown`.',
      path: taskPath,
      answers: theTask,
      errors,
      handler: giveUpTask(dependencies),
    },
  ]
}

/** The operator found at the provider what became of the attempt: the task runs on with that. */
function adoptTask(dependencies: OperatorDependencies) {
  const { accounts, store } = dependencies
  return (request: FastifyRequest) => {
    const given = readOperation((request.body as { operation: Json }).operation)
    return decide(request, dependencies, async ({ attempt, now }) => {
      const { id, account, upstreamModel } = attempt
      const { operations } = accountThere(attempt, accounts).provider
      const isId = typeof given === 'string' && !operations?.fits(given, id)
      const operation = (isId && operations?.ofId?.(given, upstreamModel)) || given
      const key = operationKey(operation)
      if ((await store.bound(account, [key])).has(key)) {
        const shown = key.slice(0, 200)
        throw refusal(`Operation ${shown} of account '${account}' belongs to another attempt already.`, 'operation')
      }
      if (operations && !operations.fits(operation, id)) {
        const form = `Those of account '${account}' look like ${operations.example}`
        throw refusal(`This can't be the operation of attempt '${id}'. ${form}.`, 'operation')
      }
      const { change, fact } = accepted(attempt, { operation }, { now, dueAt: now })
      return { change: { ...change, tried: [] }, fact, name: 'operator: adopted' }
    })
  }
}

/** Where it was sent: nobody else could be asked after the operation. */
function accountThere({ account: name, keyVersion }: Attempt, accounts: OperatorDependencies['accounts']): AccountView {
  const account = accounts.get(name)
  if (account && !isElsewhere(keyVersion, account.keyVersion)) return account
  const why = account ? 'had another address when this was sent' : 'is not configured'
  const advice = `Configure ${account ? 'that one' : 'it'} again and restart, or resubmit the task.`
  throw refusal(`Account '${name}' ${why}, so nobody could ask after the operation. ${advice}`)
}

/** The operator takes the risk that it is made, and paid for, twice. */
function resubmitTask(dependencies: OperatorDependencies) {
  return (request: FastifyRequest) =>
    decide(request, dependencies, async ({ task, attempt, now }) => {
      const { finishBy } = task
      if (now >= finishBy) {
        const when = new Date(finishBy).toISOString()
        throw refusal(`Task '${task.id}' had to be finished by ${when}: it can't be submitted any more. Give it up.`)
      }
      const { change, fact } = resubmitted(attempt, now, attempt.problem ?? undefined)
      // It may have been held for longer than it had time to start.
      return { change: { ...change, startBy: finishBy, tries: 0, tried: [] }, fact, name: 'operator: resubmitted' }
    })
}

function giveUpTask(dependencies: OperatorDependencies) {
  return (request: FastifyRequest) =>
    decide(request, dependencies, async ({ attempt, now }) => ({
      ...givenUp(attempt, now, attempt.problem ?? undefined),
      name: 'operator: given up',
    }))
}

async function decide(
  request: FastifyRequest,
  { store, clock, log }: OperatorDependencies,
  make: (held: Held) => Promise<Outcome & { name: string }>,
) {
  const { id } = request.params as { id: string }
  const now = clock.now()
  const seen = isTaskId(id) ? await store.find(id) : undefined
  const task = seen && (await store.claimOne(id, 'held', now + leaseMs))
  if (!task) throw await whyNot(id, store)
  try {
    const attempt = await store.attempt(task.attempt ?? '')
    if (!attempt) throw new Problem('internal', 'Something went wrong on our side.', { cause: 'held without attempt' })
    refuseAnswered(attempt)
    const { change, fact, name } = await make({ task, attempt, now })
    const after = apply(task, change)
    const detail = { operator: request.token.name, attempt: attempt.id, account: attempt.account }
    if (!(await store.record({ task: after, fact, events: eventsOf(task, after, now, [name, detail]) })))
      throw refusal(`Task '${id}' was moved on by somebody else meanwhile. Look at it again.`)
    log.info(name, { task: id, ...detail })
    return await tell(after, store)
  } catch (error) {
    // Nothing was decided: it is as it was. Where the lease is gone already, this does nothing.
    await store.record({ task: { ...task, dueAt: seen.dueAt } })
    throw error
  }
}

/** An answer that came while the task was held decides it: the next worker sees to that. */
function refuseAnswered({ id, state, operation }: Attempt): void {
  if (state !== 'accepted') return
  const shown = operationKey(operation).slice(0, 200)
  throw refusal(`The answer has come meanwhile: attempt '${id}' was accepted as ${shown}. The task runs on by itself.`)
}

async function whyNot(id: string, store: Store): Promise<Problem> {
  const task = isTaskId(id) ? await store.find(id) : undefined
  if (!task) return taskNotFound(id)
  if (task.deletedAt !== null) return refusal(`Task '${id}' was deleted by its owner: there is nothing to decide.`)
  if (task.state !== 'held') return refusal(`Task '${id}' is ${task.state}, not held: there is nothing to decide.`)
  return refusal(`Task '${id}' is being worked on at this moment. Look at it again in a few seconds.`)
}

/** As small and as flat as any provider's own: it is read with every poll. */
function readOperation(operation: Json): Json {
  if (isFlat(operation, 8) && handleBytes(operation) <= maxHandleBytes) return operation
  throw new Problem('invalid_value', "Invalid 'operation': it is too large, or nested too deeply.", {
    param: 'operation',
  })
}

function isFlat(value: Json, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true
  return levels > 0 && Object.values(value).every((inner) => isFlat(inner, levels - 1))
}
