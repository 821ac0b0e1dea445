import { isAnything, isFlag, isNumber, isText, isTime, listOf, orNull, shape } from '../guards.ts'

/*
 * What Filmgate answers operators. Anything may listen at a base URL: an answer of another shape is none, and is told as
 * such instead of being shown as far as it goes.
 */

export interface OperatorTask {
  id: string
  owner: string
  model: string
  card: string
  prompt: string
  seconds: string
  size: string
  state: string
  status: string
  progress: number
  error: Reason | null
  created_at: string
  start_by: string
  finish_by: string
  started_at: string | null
  completed_at: string | null
  expires_at: string | null
  due_at: string | null
  deleted_at: string | null
  account: string | null
  /** Read as those of a video: older servers have neither. */
  output: unknown
  warnings: unknown
  attempts: OperatorAttempt[]
  timeline: OperatorEvent[]
}

export interface OperatorEvent {
  at: string
  name: string
  detail: unknown
}

export interface OperatorAttempt {
  id: string
  task: string
  number: number
  account: string
  key_version: string
  upstream_model: string
  state: string
  opened_at: string
  settled_at: string | null
  operation: unknown
  problem: Reason | null
}

export interface ListedAttempt extends OperatorAttempt {
  age_seconds: number
  task_state: string | null
}

export interface AttemptList {
  data: ListedAttempt[]
  has_more: boolean
}

export interface Reason {
  code: string
  message: string
}

export interface OperatorAccount {
  name: string
  provider: string
  recovery: string
  concurrency: number
  on_unknown: string
  health: { state: string; reason: string | null; paused_until: string | null; failures: number }
}

export interface AccountList {
  data: OperatorAccount[]
  /** Those that tasks wait for and nobody configured. */
  missing: string[]
  /** Other processes' own: what these make is nowhere else. */
  elsewhere: string[]
}

export type ResumedAccount = OperatorAccount & { was_paused: boolean }

const reason = shape<Reason>({ code: isText, message: isText })

const attempt = {
  ...{ id: isText, task: isText, number: isNumber, account: isText, key_version: isText, upstream_model: isText },
  ...{ state: isText, opened_at: isTime, settled_at: orNull(isTime), operation: isAnything, problem: orNull(reason) },
}

const account = {
  ...{ name: isText, provider: isText, recovery: isText, concurrency: isNumber, on_unknown: isText },
  health: shape<OperatorAccount['health']>({
    ...{ state: isText, reason: orNull(isText), paused_until: orNull(isTime), failures: isNumber },
  }),
}

export const isOperatorTask = shape<OperatorTask>({
  ...{ id: isText, owner: isText, model: isText, card: isText, prompt: isText, seconds: isText, size: isText },
  ...{ state: isText, status: isText, progress: isNumber, error: orNull(reason), account: orNull(isText) },
  ...{ created_at: isTime, start_by: isTime, finish_by: isTime, started_at: orNull(isTime) },
  ...{ completed_at: orNull(isTime), expires_at: orNull(isTime), due_at: orNull(isTime), deleted_at: orNull(isTime) },
  ...{ output: isAnything, warnings: isAnything },
  attempts: listOf(shape<OperatorAttempt>(attempt)),
  timeline: listOf(shape<OperatorEvent>({ at: isTime, name: isText, detail: isAnything })),
})

export const isAttemptList = shape<AttemptList>({
  data: listOf(shape<ListedAttempt>({ ...attempt, age_seconds: isNumber, task_state: orNull(isText) })),
  has_more: isFlag,
})

export const isAccountList = shape<AccountList>({
  data: listOf(shape<OperatorAccount>(account)),
  missing: listOf(isText),
  elsewhere: listOf(isText),
})

export const isResumedAccount = shape<ResumedAccount>({ ...account, was_paused: isFlag })
