import type { FastifyRequest } from 'fastify'
import type { AccountView, Healths } from '../core/account.ts'
import type { Attempt } from '../core/attempt.ts'
import { formatSize } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import type { LedgerEntry } from '../core/ledger.ts'
import { fromMicros } from '../core/money.ts'
import { Problem } from '../core/problem.ts'
import { isTaskId, type Task, type TaskEvent, wireStatus } from '../core/task.ts'
import type { Traces } from '../core/trace.ts'
import { mostEndpoints, newDelivery, type WebhookDelivery } from '../core/webhook.ts'
import type { AttemptStore, DeliveryStore, EndpointStore, LeaseStore, TaskStore, TokenStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { TaskMeter } from '../telemetry/tasks.ts'
import {
  ListAttemptsQuery,
  type OperatorAttempt,
  OperatorAttemptList,
  OperatorTask,
  type OperatorTaskSummary,
} from '../wire/operator.ts'
import { defineRoute, pathParam, type QueryRequest, type Route } from './route.ts'
import { readLimit } from './validation.ts'
import { iso, toWireList, toWireOutput } from './wire.ts'

/** Shows operators all tasks and attempts. `operator/decide.ts` has the decisions about a held task. */
export interface OperatorDependencies {
  store: TaskStore &
    LeaseStore &
    AttemptStore &
    Pick<TokenStore, 'appendAudit'> &
    Pick<EndpointStore, 'endpoints'> &
    Pick<DeliveryStore, 'delivery'>
  accounts: ReadonlyMap<string, AccountView>
  healths: Healths
  clock: Clock
  log: Log
  /** Off if it is left out. */
  traces?: Traces
  /** Counts decisions about tasks, if there are metrics. */
  metrics?: { readonly tasks: Pick<TaskMeter, 'decided'> }
}

export const taskPath = { task_id: 'The id of the video.' }
export const theTask = { 200: { description: 'The task.', schema: OperatorTask } }

export function operatorRoutes(dependencies: OperatorDependencies): Route[] {
  return [
    {
      at: 'GET /operator/v1/tasks/:id',
      id: 'showTask',
      summary: 'Show a task',
      description: 'The task with its state, attempts and timeline, even if it is deleted.',
      path: taskPath,
      responses: theTask,
      errors: ['video_not_found', 'storage_unavailable'],
      handler: showTask(dependencies),
    },
    defineRoute({
      at: 'GET /operator/v1/attempts',
      id: 'listAttempts',
      summary: 'List attempts',
      description:
        'Attempts that may have cost money without a result (`abandoned`, `orphan`), or have no outcome yet (`open`).',
      query: { schema: ListAttemptsQuery },
      responses: { 200: { description: 'The attempts.', schema: OperatorAttemptList } },
      errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
      handler: listAttempts(dependencies),
    }),
  ]
}

function showTask({ store }: OperatorDependencies) {
  return async (request: FastifyRequest) => {
    const id = pathParam(request, 'id')
    const task = isTaskId(id) ? await store.find(id) : undefined
    if (!task) throw taskNotFound(id)
    return describeTask(task, store)
  }
}

export async function describeTask(task: Task, store: OperatorDependencies['store']): Promise<OperatorTask> {
  const { id } = task
  const parts = [store.attempts(id), store.events(id), store.entries(id)] as const
  const [attempts, events, entries] = await Promise.all(parts)
  const deliveries = await deliveriesOf(task, events, store)
  return {
    ...toTaskSummary(task),
    attempts: attempts.map(toOperatorAttempt),
    timeline: events.map(({ at, name, detail }) => ({ at: iso(at), name, detail })),
    entries: entries.map(toWireEntry),
    deliveries: deliveries.map(toWireDelivery),
  }
}

/** The id of a delivery follows from the event and the endpoint. */
async function deliveriesOf(
  { id: task, owner }: Task,
  events: readonly TaskEvent[],
  store: Pick<EndpointStore, 'endpoints'> & Pick<DeliveryStore, 'delivery'>,
): Promise<WebhookDelivery[]> {
  const end = events.findLast(({ name }) => name === 'completed' || name === 'failed')
  if (!end) return []
  const event = { task, at: end.at, type: end.name === 'completed' ? 'video.completed' : 'video.failed' } as const
  const endpoints = await store.endpoints(owner, { limit: mostEndpoints })
  const found = endpoints.map((endpoint) => store.delivery(endpoint.id, newDelivery(endpoint, event).id))
  return (await Promise.all(found)).filter((delivery) => delivery !== undefined)
}

/**
 * Open attempts come oldest first: most of them are being sent at this moment and need no decision. The state of the
 * task and the age show which ones do.
 */
function listAttempts({ store, clock }: OperatorDependencies) {
  return async (request: QueryRequest<ListAttemptsQuery>): Promise<OperatorAttemptList> => {
    const { state = 'open' } = request.query
    const limit = readLimit(request, ListAttemptsQuery)
    const attempts = await store.attemptsIn(state, limit + 1, readPlace(request.query.after))
    const now = clock.now()
    const data = attempts.slice(0, limit).map(async (attempt) => {
      // Undefined if the row was removed: its owner deleted it, or the record retention is over.
      const task = await store.find(attempt.task)
      return {
        ...toOperatorAttempt(attempt),
        age_seconds: Math.max(0, Math.floor((now - attempt.openedAt) / 1000)),
        task_state: task?.state ?? null,
        prompt: task?.prompt ?? null,
        owner: task?.owner ?? null,
      }
    })
    const last = attempts.slice(0, limit).at(-1)
    const place = { has_more: attempts.length > limit, last_id: last ? `${last.openedAt}.${last.id}` : null }
    return { ...toWireList(await Promise.all(data)), ...place }
  }
}

/** Attempts are listed by time: the place has it, because the attempt may be removed before the next page is read. */
function readPlace(text: string | undefined): { openedAt: number; id: string } | undefined {
  if (text === undefined) return undefined
  const [, openedAt, id = ''] = /^(\d{1,15})\.([\w-]+)$/.exec(text) ?? []
  if (openedAt !== undefined) return { openedAt: Number(openedAt), id }
  throw new Problem('invalid_value', '`after` is not a place in this list. Use `last_id` of a page.', {
    param: 'after',
  })
}

export function taskNotFound(id: string): Problem {
  return new Problem('video_not_found', `Task '${id.slice(0, 100)}' not found.`)
}

/*
 * The shapes that operators see. Times are ISO 8601 in UTC with milliseconds: in whole seconds many events of a
 * timeline would have the same time.
 */

function toWireEntry({ step, account, amount, currency, at }: LedgerEntry): OperatorTask['entries'][number] {
  return { step, account, amount: fromMicros(amount), currency, at: iso(at) }
}

function toWireDelivery(delivery: WebhookDelivery): OperatorTask['deliveries'][number] {
  const { id, endpoint, state, log, createdAt, dueAt, endedAt } = delivery
  const times = { created_at: iso(createdAt), next_try_at: iso(dueAt), ended_at: iso(endedAt) }
  return { id, endpoint, state, tries: log.length, ...times }
}

/** Without the provider's own `output`, which may be a link that works without a key. */
export function toTaskSummary(task: Task): OperatorTaskSummary {
  return {
    id: task.id,
    object: 'operator.task',
    owner: task.owner,
    token: task.token,
    model: task.model,
    card: task.card,
    prompt: task.prompt,
    seconds: String(task.seconds),
    size: formatSize(task.size),
    parameters: task.parameters,
    has_image: task.image !== null,
    source: task.source && { kind: task.source.kind, video: task.source.video },
    metadata: task.metadata,
    state: task.state,
    status: wireStatus(task),
    progress: task.progress,
    error: task.error,
    created_at: iso(task.createdAt),
    start_by: iso(task.startBy),
    finish_by: iso(task.finishBy),
    started_at: iso(task.startedAt),
    missing_at: iso(task.missingAt),
    completed_at: iso(task.completedAt),
    expires_at: iso(task.expiresAt),
    due_at: iso(task.dueAt),
    deleted: task.deletedAt !== null,
    deleted_at: iso(task.deletedAt),
    account: task.account,
    attempt: task.attempt,
    tried: task.tried,
    tries: task.tries,
    video: task.video,
    output: task.videoFacts && toWireOutput(task.videoFacts),
    warnings: task.warnings,
  }
}

function toOperatorAttempt(attempt: Attempt): OperatorAttempt {
  return {
    id: attempt.id,
    object: 'operator.attempt',
    task: attempt.task,
    number: attempt.number,
    account: attempt.account,
    key_version: attempt.keyVersion,
    upstream_model: attempt.upstreamModel,
    // `removed` can only show while the task is being removed.
    state: attempt.state === 'removed' ? 'accepted' : attempt.state,
    opened_at: iso(attempt.openedAt),
    settled_at: iso(attempt.settledAt),
    operation: attempt.operation,
    problem: attempt.problem,
  }
}
