import type { ColumnValue, Row } from './row.ts'

/*
 * The cost and revenue of ended tasks. The end of a task adds one record in its transaction (`core/plan.ts`), and so does each
 * attempt that costs money apart from that end. Records are never changed, and outlive their tasks.
 */

/**
 * `cancelled`: its owner deleted the task before it ended. `unused`: not a task, but an attempt that cost money and whose
 * result no task has: an orphan, or the work of a deleted task.
 */
type UsageOutcome = 'completed' | 'failed' | 'cancelled' | 'unused'

export interface UsageRecord {
  /** In about the order in which records were added. */
  readonly number: number
  /** The id of the task; of the attempt, if the outcome is `unused`. A second record with the same id is not added. */
  readonly id: string
  /** When the task ended, or the cost was known. */
  readonly at: number
  readonly task: string
  readonly owner: string
  /** The token that created the task; null if an earlier release did not store it. */
  readonly token: string | null
  /** The model's own name. */
  readonly model: string
  readonly account: string | null
  readonly outcome: UsageOutcome
  /** The code of the error, if the task failed. */
  readonly code: string | null
  /** The length that was requested. */
  readonly seconds: number
  /** From the submit to `at`. */
  readonly tookMs: number
  /** What the owner pays, in micros. */
  readonly revenue: number
  /** What the provider charges the operator, in micros. */
  readonly cost: number
  /** Null if the task was free. */
  readonly currency: string | null
}

/** Without its number, which the store gives it. */
export const usageColumns =
  'id at task owner token model account outcome code seconds took_ms revenue cost currency'.split(' ')

/** In the order of `usageColumns`. The id of a task is stored once. */
export function fromUsage(record: Omit<UsageRecord, 'number'>): ColumnValue[] {
  const { id, at, task, owner, token, model, account, outcome, code, seconds, tookMs, revenue, cost, currency } = record
  const named = [id, at, task === id ? null : task, owner, token, model, account, outcome, code]
  return [...named, seconds, tookMs, revenue, cost, currency]
}

export function toUsage(row: Row): UsageRecord {
  return {
    number: Number(row.number),
    id: String(row.id),
    at: Number(row.at),
    task: String(row.task ?? row.id),
    owner: String(row.owner),
    token: row.token as string | null,
    model: String(row.model),
    account: row.account as string | null,
    outcome: row.outcome as UsageOutcome,
    code: row.code as string | null,
    seconds: Number(row.seconds),
    tookMs: Number(row.took_ms),
    revenue: Number(row.revenue),
    cost: Number(row.cost),
    currency: row.currency as string | null,
  }
}
