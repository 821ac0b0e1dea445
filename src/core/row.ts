import type { AccountHealth } from './account.ts'
import { type Attempt, type AttemptFact, type AttemptState, operationKey, type Rival } from './attempt.ts'
import type { LedgerEntry } from './ledger.ts'
import type { Notice, NoticeKind } from './notice.ts'
import type { TaskBefore } from './plan.ts'
import { type State, type Status, storedBytes, type Task, type TaskEvent, type TaskView } from './task.ts'
import type { QueuedTask } from './turns.ts'
import type { DeliveryOutcome, DeliveryState, Endpoint, EventType, WebhookDelivery } from './webhook.ts'

/* How tasks, attempts, events and the others are stored in columns. It is the same in SQLite and PostgreSQL. */

const namesIn = (...lines: readonly string[]) => lines.flatMap((line) => line.split(' '))

/** What a decision may write. The other columns stay as they were inserted. */
export const mutableColumns = namesIn(
  'image state progress start_by started_at missing_at completed_at expires_at account attempt attempts tried',
  'operation output video video_facts warnings error usage due_at tries stored_bytes',
)

/** The columns of `tasks` in the order of every statement. */
export const columns = [
  ...namesIn(
    'id owner model card prompt seconds width height parameters created_at digest finish_by',
    'idempotency_key remixed_from source metadata price token trace',
  ),
  ...mutableColumns,
  'fence',
  'deleted_at',
]

/** All others are text. */
export const numberColumns: ReadonlySet<string> = new Set(
  namesIn(
    'seconds width height created_at digest finish_by progress start_by started_at missing_at completed_at',
    'expires_at attempts due_at tries stored_bytes fence deleted_at',
  ),
)

/** How many rows are changed or dropped in one step, so that others do not wait long for the store. */
export const stepRows = 1_000

export type ColumnValue = string | number | null
export type Row = Record<string, unknown>

/** In the order of `columns`: without names a submit costs half, here and on its way to the writer. */
export function toRow(task: Task): ColumnValue[] {
  return [
    task.id,
    task.owner,
    task.model,
    task.card,
    task.prompt,
    task.seconds,
    task.size.width,
    task.size.height,
    JSON.stringify(task.parameters),
    task.createdAt,
    task.digest,
    task.finishBy,
    task.idempotencyKey,
    task.remixedFrom,
    json(task.source),
    json(task.metadata),
    json(task.price),
    task.token,
    task.trace,
    ...toMutable(task),
    task.fence,
    task.deletedAt,
  ]
}

/** In the order of `mutableColumns`. */
export function toMutable(task: Task): ColumnValue[] {
  return [
    json(task.image),
    task.state,
    task.progress,
    task.startBy,
    task.startedAt,
    task.missingAt,
    task.completedAt,
    task.expiresAt,
    task.account,
    task.attempt,
    task.attempts,
    listJson(task.tried),
    json(task.operation),
    json(task.output),
    json(task.video),
    json(task.videoFacts),
    listJson(task.warnings),
    json(task.error),
    json(task.usage),
    task.dueAt,
    task.tries,
    storedBytes(task),
  ]
}

/** The columns of a `TaskView`. They are read as an array, which costs a third less than an object. */
export const viewColumns = namesIn(
  'id model prompt seconds width height created_at state progress started_at completed_at expires_at error',
  'remixed_from video_facts warnings metadata usage',
)

/** `wireStatus` as conditions of SQL. */
export const statusConditions: Readonly<Record<Status, string>> = {
  queued: "state NOT IN ('completed', 'failed') AND started_at IS NULL",
  in_progress: "state NOT IN ('completed', 'failed') AND started_at IS NOT NULL",
  completed: "state = 'completed'",
  failed: "state = 'failed'",
}

export function toView(row: readonly unknown[]): TaskView {
  return {
    id: row[0] as string,
    model: row[1] as string,
    prompt: row[2] as string,
    seconds: row[3] as number,
    size: { width: row[4] as number, height: row[5] as number },
    createdAt: row[6] as number,
    state: row[7] as State,
    progress: row[8] as number,
    startedAt: row[9] as number | null,
    completedAt: row[10] as number | null,
    expiresAt: row[11] as number | null,
    error: parseOr(row[12], damaged),
    remixedFrom: row[13] as string | null,
    videoFacts: parseOr(row[14], null),
    warnings: parseOr(row[15], null) ?? [],
    metadata: parseOr(row[16], null),
    usage: parseOr(row[17], null),
  }
}

const damaged: TaskView['error'] = { code: 'internal', message: 'Something went wrong on our side.' }

/** Polls and lists read many rows: a damaged one must not fail the others. */
function parseOr<T>(text: unknown, otherwise: T): T {
  try {
    return parse(text)
  } catch {
    return otherwise
  }
}

export function fromRow(row: Row): Task {
  return {
    ...toView(viewColumns.map((name) => row[name] ?? null)),
    owner: row.owner as string,
    token: row.token as string | null,
    trace: row.trace as string | null,
    card: row.card as string,
    parameters: parse(row.parameters),
    digest: row.digest as number,
    finishBy: row.finish_by as number,
    idempotencyKey: row.idempotency_key as string | null,
    source: parse(row.source),
    price: parse(row.price),
    image: parse(row.image),
    startBy: row.start_by as number,
    missingAt: row.missing_at as number | null,
    account: row.account as string | null,
    attempt: row.attempt as string | null,
    attempts: row.attempts as number,
    tried: parse(row.tried) ?? [],
    operation: parse(row.operation),
    output: parse(row.output),
    video: parse(row.video),
    dueAt: row.due_at as number | null,
    tries: row.tries as number,
    fence: row.fence as number,
    deletedAt: row.deleted_at as number | null,
  }
}

/** Skips rows that can't be read, so that they do not block the others. Such a task keeps its lease, and is claimed again. */
export function mapReadable<Result>(rows: readonly Row[], read: (row: Row) => Result): Result[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)]
    } catch {
      return []
    }
  })
}

export const attemptColumns = namesIn(
  'id task number account key_version upstream_model opened_at state operation settled_at problem adopted',
)

export function toAttempt(row: Row): Attempt {
  return {
    id: row.id as string,
    task: row.task as string,
    number: row.number as number,
    account: row.account as string,
    keyVersion: row.key_version as string,
    upstreamModel: row.upstream_model as string,
    openedAt: row.opened_at as number,
    state: row.state as AttemptState,
    operation: parse(row.operation),
    settledAt: row.settled_at as number | null,
    problem: parseOr(row.problem, null),
    ...(row.adopted === 1 && { adopted: true as const }),
  }
}

/** In the order of `attemptColumns`. */
export function fromAttempt(attempt: Attempt): ColumnValue[] {
  const { id, task, number, account, keyVersion, upstreamModel, openedAt, state } = attempt
  return [id, task, number, account, keyVersion, upstreamModel, openedAt, state, ...fromFact(attempt)]
}

/** The columns after `state`, which also depends on the earlier state. */
export function fromFact({ operation, settledAt, problem, adopted }: Omit<AttemptFact, 'id' | 'state'>): ColumnValue[] {
  const key = operation === null ? null : operationKey(operation)
  return [key, settledAt, json(problem), adopted ? 1 : null]
}

/** The columns that a change of a task depends on. */
export const beforeColumns = namesIn(
  'id owner state start_by started_at attempt attempts due_at fence deleted_at leased created_at price',
  'card seconds token account',
)

/** From arrays, which are faster: this is read before each change. */
export function toTasksBefore(rows: readonly (readonly unknown[])[]): Map<string, TaskBefore> {
  return new Map(
    rows.map((row) => [
      row[0] as string,
      {
        owner: row[1] as string,
        state: row[2] as State,
        startBy: row[3] as number,
        startedAt: row[4] as number | null,
        attempt: row[5] as string | null,
        attempts: row[6] as number,
        dueAt: row[7] as number | null,
        fence: row[8] as number,
        deletedAt: row[9] as number | null,
        leased: Boolean(row[10]),
        createdAt: row[11] as number,
        // A damaged price must not block the task.
        price: parseOr(row[12], null),
        card: row[13] as string,
        seconds: row[14] as number,
        token: row[15] as string | null,
        account: row[16] as string | null,
      },
    ]),
  )
}

export function toAttemptsBefore(rows: readonly Row[]): Map<string, Attempt> {
  return new Map(rows.map((row) => [row.id as string, toAttempt(row)]))
}

export function toRival({ id, prompt }: Row): Rival {
  return { id: String(id), prompt: prompt as string | null }
}

/** Without its number, which the store gives it. */
export const eventColumns = namesIn('task at name detail')

export function toEvent(row: Row): TaskEvent {
  return { at: row.at as number, name: row.name as string, detail: parse(row.detail) }
}

/** Without its number, which the store gives it. */
export const noticeColumns = namesIn('owner task at kind')

export function toNotice(row: Row): Notice {
  const { number, owner, task, at, kind } = row
  return {
    number: number as number,
    owner: String(owner),
    task: String(task),
    at: at as number,
    kind: kind as NoticeKind,
  }
}

export const healthColumns = namesIn('account key_version health changed_at')

/** In the order of `healthColumns`. */
export function fromHealth({ account, keyVersion, health, changedAt }: AccountHealth): ColumnValue[] {
  return [account, keyVersion, JSON.stringify(health), changedAt]
}

export function toHealth(row: Row): AccountHealth {
  return {
    account: row.account as string,
    keyVersion: row.key_version as string,
    health: parse(row.health),
    changedAt: row.changed_at as number,
  }
}

/** In the order of every statement. Entries are never changed. */
export const entryColumns = namesIn('task step account amount currency at submitted_at')

export function toEntry(row: Row): LedgerEntry {
  const { task, step, account, amount, currency, at } = row
  return {
    task: String(task),
    step: String(step),
    account: String(account),
    amount: Number(amount),
    currency: String(currency),
    at: Number(at),
  }
}

export const spendColumns = namesIn('scope currency period starts ends amount')

/** A place among the tasks of all owners. It need not exist. */
export type StoredPlace = Pick<Task, 'owner' | 'id'>

export interface StoredStep {
  bytes: number
  next: StoredPlace | null
}

/** The last row of one step of a sum, with the sum; undefined if there was no row. */
export function toStoredStep(row: Row | undefined, limit: number): StoredStep {
  if (!row) return { bytes: 0, next: null }
  const next = Number(row.found) < limit ? null : { owner: String(row.owner), id: String(row.id) }
  return { bytes: Number(row.bytes), next }
}

export interface ExpiryStep {
  /** The hour is null for bytes that don't expire yet: inputs of unfinished tasks. */
  sums: { hour: number | null; tasks: number; bytes: number }[]
  next: StoredPlace | null
}

/** One step of sums by the hour of expiry. Each row also has the last task of the step, and how many there were. */
export function toExpiryStep(rows: readonly Row[], limit: number): ExpiryStep {
  const [first] = rows
  const sums = rows.map(({ hour, tasks, bytes }) => ({
    hour: hour === null || hour === undefined ? null : Number(hour),
    tasks: Number(tasks),
    bytes: Number(bytes),
  }))
  const isFull = first !== undefined && Number(first.found) >= limit
  return { sums, next: isFull ? { owner: String(first.owner), id: String(first.id) } : null }
}

/** If `tried` can't be read, it counts as empty. */
export function toQueuedTask({ id, due_at: dueAt, tried }: Row): QueuedTask {
  const head = { id: String(id), dueAt: Number(dueAt), tried: [] }
  try {
    const names = parse<unknown>(tried)
    return Array.isArray(names) ? { ...head, tried: names.map(String) } : head
  } catch {
    return head
  }
}

export const endpointColumns = namesIn(
  'id owner name url event_types secret old_secret old_secret_until created_at updated_at disabled_at disabled_why',
)

export function fromEndpoint(endpoint: Endpoint): Record<string, ColumnValue> {
  const { id, owner, name, url, secret } = endpoint
  return {
    id,
    owner,
    name,
    url,
    secret,
    event_types: JSON.stringify(endpoint.eventTypes),
    old_secret: endpoint.oldSecret,
    old_secret_until: endpoint.oldSecretUntil,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
    disabled_at: endpoint.disabledAt,
    disabled_why: endpoint.disabledWhy,
  }
}

export function toEndpoint(row: Row): Endpoint {
  return {
    id: row.id as string,
    owner: row.owner as string,
    name: row.name as string,
    url: row.url as string,
    eventTypes: JSON.parse(String(row.event_types)),
    secret: row.secret as string,
    oldSecret: row.old_secret as string | null,
    oldSecretUntil: row.old_secret_until as number | null,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    disabledAt: row.disabled_at as number | null,
    disabledWhy: row.disabled_why as string | null,
  }
}

export const deliveryColumns = namesIn(
  'id endpoint owner event type task created_at state due_at tries fence ended_at log',
)

export function fromDelivery(delivery: WebhookDelivery): Record<string, ColumnValue> {
  const { endpoint, owner, event, type, task, createdAt } = delivery
  return { endpoint, owner, event, type, task, created_at: createdAt, ...fromOutcome(delivery) }
}

export function fromOutcome(outcome: DeliveryOutcome): Record<string, ColumnValue> {
  const { id, fence, state, dueAt, tries, endedAt, log } = outcome
  return { id, fence, state, due_at: dueAt, tries, ended_at: endedAt, log: JSON.stringify(log) }
}

export function toDelivery(row: Row): WebhookDelivery {
  return {
    id: row.id as string,
    endpoint: row.endpoint as string,
    owner: row.owner as string,
    event: row.event as string,
    type: row.type as EventType,
    task: row.task as string,
    createdAt: row.created_at as number,
    state: row.state as DeliveryState,
    dueAt: row.due_at as number | null,
    tries: row.tries as number,
    fence: row.fence as number,
    endedAt: row.ended_at as number | null,
    log: JSON.parse(String(row.log)),
  }
}

/** Whether the endpoint of this row receives such events. A damaged row must not block the task. */
export function subscribesTo({ event_types: types }: Row, type: EventType): boolean {
  try {
    return (JSON.parse(String(types)) as string[]).includes(type)
  } catch {
    return false
  }
}

/** The durations of tasks by card. */
export function toDurations(rows: readonly Row[]): Map<string, number[]> {
  const byCard = Map.groupBy(rows, ({ card }) => String(card))
  return new Map([...byCard].map(([card, tasks]) => [card, tasks.map(({ took }) => Number(took))]))
}

export function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** An empty list takes no space in a row. */
function listJson(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values)
}

/** Typed by its caller: `json` above has written the column from the same type. */
export function parse<T>(text: unknown): T {
  return (typeof text === 'string' ? JSON.parse(text) : null) as T
}
