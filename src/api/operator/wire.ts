import type { AccountView } from '../../core/account.ts'
import type { Attempt } from '../../core/attempt.ts'
import { formatSize } from '../../core/catalog.ts'
import { isPaused } from '../../core/health.ts'
import { type Task, type TaskEvent, wireStatus } from '../../core/task.ts'
import { toWireOutput } from '../wire.ts'

/*
 * What operators see. Times are ISO 8601 in UTC with milliseconds: a timeline in the whole seconds of the Videos API
 * would show half of its events at once.
 */

/** The provider's own `output` stays inside: it may be a link that opens without a key. */
export function toOperatorTask(task: Task, attempts: readonly Attempt[], events: readonly TaskEvent[]) {
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

export function toOperatorAttempt(attempt: Attempt) {
  return {
    id: attempt.id,
    object: 'operator.attempt',
    task: attempt.task,
    number: attempt.number,
    account: attempt.account,
    key_version: attempt.keyVersion,
    upstream_model: attempt.upstreamModel,
    state: attempt.state,
    opened_at: iso(attempt.openedAt),
    settled_at: iso(attempt.settledAt),
    operation: attempt.operation,
    problem: attempt.problem,
  }
}

/** `recovering`: its pause is over, and one task goes first to see. */
export function toOperatorAccount({ name, provider, concurrency, onUnknown, health }: AccountView, now: number) {
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
