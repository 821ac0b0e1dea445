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
import type { AttemptStore, LeaseStore, TaskStore, TokenStore } from '../stores/store.ts'
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
  store: TaskStore & LeaseStore & AttemptStore & Pick<TokenStore, 'appendAudit'>
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

export async function describeTask(task: Task, store: AttemptStore & TaskStore) {
  const parts = [store.attempts(task.id), store.events(task.id), store.entries(task.id)] as const
  return toOperatorTask(task, ...(await Promise.all(parts)))
}

/**
 * Open attempts come oldest first: most of them are being sent at this moment and need no decision. The state of the
 * task and the age show which ones do.
 */
function listAttempts({ store, clock }: OperatorDependencies) {
  return async (request: QueryRequest<ListAttemptsQuery>): Promise<OperatorAttemptList> => {
    const { state = 'open' } = request.query
    const limit = readLimit(request, ListAttemptsQuery)
    const attempts = await store.attemptsIn(state, limit + 1)
    const now = clock.now()
    const data = attempts.slice(0, limit).map(async (attempt) => ({
      ...toOperatorAttempt(attempt),
      age_seconds: Math.max(0, Math.floor((now - attempt.openedAt) / 1000)),
      // Null if the row of the task was removed: its owner deleted it, or the record retention is over.
      task_state: (await store.find(attempt.task))?.state ?? null,
    }))
    return { ...toWireList(await Promise.all(data)), has_more: attempts.length > limit }
  }
}

export function taskNotFound(id: string): Problem {
  return new Problem('video_not_found', `Task '${id.slice(0, 100)}' not found.`)
}

/*
 * The shapes that operators see. Times are ISO 8601 in UTC with milliseconds: in whole seconds many events of a
 * timeline would have the same time.
 */

function toOperatorTask(
  task: Task,
  attempts: readonly Attempt[],
  events: readonly TaskEvent[],
  entries: readonly LedgerEntry[],
): OperatorTask {
  return {
    ...toTaskSummary(task),
    attempts: attempts.map(toOperatorAttempt),
    timeline: events.map(({ at, name, detail }) => ({ at: iso(at), name, detail })),
    entries: entries.map(({ step, account, amount, currency, at }) => ({
      step,
      account,
      amount: fromMicros(amount),
      currency,
      at: iso(at),
    })),
  }
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
