import type { FastifyRequest } from 'fastify'
import { type AccountView, type Healths, isLocalName } from '../core/account.ts'
import type { Attempt } from '../core/attempt.ts'
import { formatSize } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { healthy, isPaused } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import { isTaskId, type Task, type TaskEvent, wireStatus } from '../core/task.ts'
import type { Store } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import {
  ListAttemptsQuery,
  OperatorAccount,
  OperatorAccountList,
  type OperatorAttempt,
  OperatorAttemptList,
  OperatorTask,
} from '../wire/operator.ts'
import type { Route } from './route.ts'
import { readLimit } from './validation.ts'
import { toWireList, toWireOutput } from './wire.ts'

/** What an operator can see of all tasks, attempts and accounts; `operator/decide.ts` has what he can do to a task. */
export interface OperatorDependencies {
  store: Store
  accounts: ReadonlyMap<string, AccountView>
  healths: Healths
  clock: Clock
  log: Log
}

export const taskPath = { task_id: 'The id of the video.' }
export const theTask = { 200: { description: 'The whole of the task.', schema: OperatorTask } }

export function operatorRoutes(dependencies: OperatorDependencies): Route[] {
  return [
    {
      at: 'GET /operator/v1/tasks/:id',
      id: 'showTask',
      summary: 'Show a task',
      description: 'All that is known of it, even if it is deleted: its state, its attempts, its timeline.',
      path: taskPath,
      answers: theTask,
      errors: ['video_not_found', 'storage_unavailable'],
      handler: showTask(dependencies),
    },
    {
      at: 'GET /operator/v1/attempts',
      id: 'listAttempts',
      summary: 'List attempts',
      description:
        'Attempts that may have cost money for no task (`abandoned`, `orphan`), or have no outcome yet (`open`).',
      query: { schema: ListAttemptsQuery },
      answers: { 200: { description: 'The attempts.', schema: OperatorAttemptList } },
      errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
      handler: listAttempts(dependencies),
    },
    {
      at: 'GET /operator/v1/accounts',
      id: 'listAccounts',
      summary: 'List accounts',
      description: 'The health of each account, and why it is paused.',
      answers: { 200: { description: 'The accounts.', schema: OperatorAccountList } },
      errors: ['storage_unavailable'],
      handler: listAccounts(dependencies),
    },
    {
      at: 'POST /operator/v1/accounts/:name/resume',
      id: 'resumeAccount',
      summary: 'End the pause of an account',
      description: 'After the cause is fixed: the account counts as healthy, until it fails again.',
      path: { name: 'The name of the account.' },
      answers: { 200: { description: 'The account.', schema: OperatorAccount } },
      errors: ['account_not_found', 'storage_unavailable'],
      handler: resumeAccount(dependencies),
    },
  ]
}

/** The whole of a task, deleted or not. */
function showTask({ store }: OperatorDependencies) {
  return async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    const task = isTaskId(id) ? await store.find(id) : undefined
    if (!task) throw taskNotFound(id)
    return tell(task, store)
  }
}

export async function tell(task: Task, store: Store) {
  return toOperatorTask(task, await store.attempts(task.id), await store.events(task.id))
}

/**
 * What may have cost money and is nobody's, the newest first; open attempts the oldest first, for most of them are on
 * their way at this moment and need nobody: the state of the task and the age tell.
 */
function listAttempts({ store, clock }: OperatorDependencies) {
  return async (request: FastifyRequest): Promise<OperatorAttemptList> => {
    const { state = 'open' } = request.query as ListAttemptsQuery
    const limit = readLimit(request, ListAttemptsQuery)
    const attempts = await store.attemptsIn(state, limit + 1)
    const now = clock.now()
    const data = attempts.slice(0, limit).map(async (attempt) => ({
      ...toOperatorAttempt(attempt),
      age_seconds: Math.max(0, Math.floor((now - attempt.openedAt) / 1000)),
      // Null where the row of the task is gone: its owner deleted it, or it is past the record retention.
      task_state: (await store.find(attempt.task))?.state ?? null,
    }))
    return { ...toWireList(await Promise.all(data)), has_more: attempts.length > limit }
  }
}

/**
 * `missing` are those that unfinished tasks wait for and nobody configured; `elsewhere` are other processes' own,
 * which can't be resumed here.
 */
function listAccounts({ store, accounts, healths, clock }: OperatorDependencies) {
  return async (): Promise<OperatorAccountList> => {
    await healths.learn()
    const now = clock.now()
    const others = (await store.accountsInUse()).filter((name) => !accounts.has(name))
    const [elsewhere, missing] = [others.filter(isLocalName), others.filter((name) => !isLocalName(name))]
    const shown = [...accounts.values()].map((account) => toOperatorAccount(account, now))
    return { ...toWireList(shown), missing, elsewhere }
  }
}

/**
 * For who mended what was wrong: the account is as good as new, until it shows otherwise. `was_paused`: whether that
 * changed anything; one that was recovering is let off that too.
 */
function resumeAccount({ accounts, healths, clock, log }: OperatorDependencies) {
  return async (request: FastifyRequest): Promise<OperatorAccount> => {
    const { name } = request.params as { name: string }
    const account = accounts.get(name)
    if (!account) throw accountNotFound(name, [...accounts.keys()])
    await healths.learn()
    const paused = account.health.reason !== null
    account.health = healthy
    await healths.tell(name)
    log.info('account resumed', { account: name, operator: request.token.name, paused })
    return { ...toOperatorAccount(account, clock.now()), was_paused: paused }
  }
}

export function taskNotFound(id: string): Problem {
  return new Problem('video_not_found', `Task '${id.slice(0, 100)}' not found.`)
}

function accountNotFound(name: string, configured: string[]): Problem {
  if (isLocalName(name)) {
    const whose = `'${name.slice(0, 100)}' would be another process's own account, and can't be resumed here.`
    const instead = 'Its pause ends by itself, or when that process is restarted.'
    return new Problem('account_not_found', `${whose} ${instead}`, { param: 'name' })
  }
  const there = configured.length > 0 ? `Configured are: ${configured.join(', ')}.` : 'None is configured.'
  return new Problem('account_not_found', `There is no account '${name.slice(0, 100)}'. ${there}`, { param: 'name' })
}

/*
 * What operators see. Times are ISO 8601 in UTC with milliseconds: a timeline in the whole seconds of the Videos API
 * would show half of its events at once.
 */

/** The provider's own `output` stays inside: it may be a link that opens without a key. */
function toOperatorTask(task: Task, attempts: readonly Attempt[], events: readonly TaskEvent[]): OperatorTask {
  return {
    id: task.id,
    object: 'operator.task',
    owner: task.owner,
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
    attempts: attempts.map(toOperatorAttempt),
    timeline: events.map(({ at, name, detail }) => ({ at: iso(at), name, detail })),
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
    // Only a task that is removed in this moment can show it.
    state: attempt.state === 'removed' ? 'accepted' : attempt.state,
    opened_at: iso(attempt.openedAt),
    settled_at: iso(attempt.settledAt),
    operation: attempt.operation,
    problem: attempt.problem,
  }
}

/** `recovering`: its pause is over, and one task goes first to see. */
function toOperatorAccount(account: AccountView, now: number): OperatorAccount {
  const { name, provider, concurrency, onUnknown, health } = account
  const { failures, pausedUntil, reason } = health
  const paused = isPaused(health, now)
  return {
    name,
    object: 'operator.account',
    provider: provider.name,
    recovery: provider.recovery,
    concurrency,
    on_unknown: onUnknown,
    health: {
      state: paused ? 'paused' : reason === null ? 'ok' : 'recovering',
      reason,
      paused_until: paused ? iso(pausedUntil) : null,
      failures,
    },
  }
}

function iso(ms: number): string
function iso(ms: number | null): string | null
function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
