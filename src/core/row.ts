import type { AccountHealth } from './account.ts'
import { type Attempt, type AttemptFact, type AttemptState, operationKey, type Rival } from './attempt.ts'
import type { Notice, NoticeKind } from './notice.ts'
import type { AttemptBefore, TaskBefore } from './plan.ts'
import type { State, Status, Task, TaskEvent, TaskView } from './task.ts'
import type { Token } from './token.ts'
import type { Head } from './turns.ts'
import type { DeliveryOutcome, DeliveryState, Endpoint, EventType, WebhookDelivery } from './webhook.ts'

/* How tasks, attempts, events and all others lie in the columns of a database, the same in every store that has columns. */

/** What a decision may write; everything else stays as it was submitted. */
export const mutableColumns = [
  ...['image', 'state', 'progress', 'start_by', 'started_at', 'missing_at', 'completed_at', 'expires_at'],
  ...['account', 'attempt', 'attempts', 'tried', 'operation', 'output', 'video', 'video_facts', 'warnings', 'error'],
  ...['due_at', 'tries'],
] as const

/** The columns of `tasks` in the order in which every statement names them. */
export const columns = [
  ...['id', 'owner', 'model', 'card', 'prompt', 'seconds', 'width', 'height'],
  ...['parameters', 'created_at', 'digest', 'finish_by', 'idempotency_key', 'remixed_from', 'source', 'metadata'],
  ...[...mutableColumns, 'fence', 'deleted_at'],
] as const

/** Those that hold no text. */
export const numberColumns: ReadonlySet<string> = new Set([
  ...['seconds', 'width', 'height', 'created_at', 'digest', 'finish_by', 'progress', 'start_by', 'started_at'],
  ...['missing_at', 'completed_at', 'expires_at', 'attempts', 'due_at', 'tries', 'fence', 'deleted_at'],
])

/** So many are changed or dropped in one step, so that nobody waits long for the store. */
export const stepRows = 1_000

export type Value = string | number | null
export type Row = Record<string, unknown>

/** In the order of `columns`: by place a submit costs half of what it does by name, here and on its way to the writer. */
export function toRow(task: Task): Value[] {
  const { id, owner, model, card, prompt, seconds, size, parameters, createdAt, digest, finishBy } = task
  const { idempotencyKey, remixedFrom, source, metadata } = task
  return [
    ...[id, owner, model, card, prompt, seconds, size.width, size.height],
    ...[JSON.stringify(parameters), createdAt, digest, finishBy, idempotencyKey, remixedFrom, json(source)],
    json(metadata),
    ...[...toMutable(task), task.fence, task.deletedAt],
  ]
}

/** In the order of `mutableColumns`. */
export function toMutable(task: Task): Value[] {
  const { image, state, progress, startBy, startedAt, missingAt, completedAt, expiresAt } = task
  const { account, attempt, attempts, tried, operation, output, video, videoFacts, warnings, error } = task
  return [
    ...[json(image), state, progress, startBy, startedAt, missingAt, completedAt, expiresAt],
    ...[account, attempt, attempts, listJson(tried)],
    ...[json(operation), json(output), json(video), json(videoFacts), listJson(warnings), json(error)],
    ...[task.dueAt, task.tries],
  ]
}

/** The columns of a `TaskView`, which is read as an array: objects of so many columns cost half as much again. */
export const viewColumns = [
  ...['id', 'model', 'prompt', 'seconds', 'width', 'height', 'created_at', 'state', 'progress'],
  ...['started_at', 'completed_at', 'expires_at', 'error', 'remixed_from', 'video_facts', 'warnings', 'metadata'],
]

/** Where a client sees each status: `wireStatus` in the words of a database. */
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
  }
}

const damaged: TaskView['error'] = { code: 'internal', message: 'Something went wrong on our side.' }

/** Polls and lists answer for many rows: one that somebody damaged must not fail the others. */
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
    card: row.card as string,
    parameters: parse(row.parameters),
    digest: row.digest as number,
    finishBy: row.finish_by as number,
    idempotencyKey: row.idempotency_key as string | null,
    source: parse(row.source),
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

/** One that can't be read must not hold up the others. A task keeps its lease then, and comes again. */
export function readable<Result>(rows: readonly Row[], read: (row: Row) => Result): Result[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)]
    } catch {
      return []
    }
  })
}

export const attemptColumns = [
  ...['id', 'task', 'number', 'account', 'key_version', 'upstream_model', 'opened_at', 'state', 'operation'],
  ...['settled_at', 'problem', 'adopted'],
]

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
    problem: parse(row.problem),
    ...(row.adopted === 1 && { adopted: true as const }),
  }
}

/** In the order of `attemptColumns`. */
export function fromAttempt(attempt: Attempt): Value[] {
  const { id, task, number, account, keyVersion, upstreamModel, openedAt, state } = attempt
  return [id, task, number, account, keyVersion, upstreamModel, openedAt, state, ...fromFact(attempt)]
}

/** The columns after the state, which also depends on what was known before. */
export function fromFact({ operation, settledAt, problem, adopted }: Omit<AttemptFact, 'id' | 'state'>): Value[] {
  const key = operation === null ? null : operationKey(operation)
  return [key, settledAt, json(problem), adopted ? 1 : null]
}

/** What a change of a task depends on. */
export const beforeColumns = [
  ...['id', 'owner', 'state', 'start_by', 'started_at', 'attempt', 'attempts'],
  ...['due_at', 'fence', 'deleted_at', 'leased'],
]

/** By place: this is read before each change. */
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
      },
    ]),
  )
}

export function toAttemptsBefore(rows: readonly Row[]): Map<string, AttemptBefore> {
  return new Map(
    rows.map(({ id, task, state }) => [String(id), { task: task as string, state: state as AttemptState }]),
  )
}

export function toRival({ id, prompt }: Row): Rival {
  return { id: String(id), prompt: prompt as string | null }
}

export function toEvent(row: Row): TaskEvent {
  return { at: row.at as number, name: row.name as string, detail: parse(row.detail) }
}

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

export function toHealth(row: Row): AccountHealth {
  return {
    account: row.account as string,
    keyVersion: row.key_version as string,
    health: parse(row.health),
    changedAt: row.changed_at as number,
  }
}

export function toToken(row: Row): Token {
  return {
    name: row.name as string,
    kind: row.kind as Token['kind'],
    digest: row.digest as string,
    models: parse(row.models),
  }
}

/** One that can't be read was tried nowhere: whoever takes it finds out. */
export function toHead({ id, due_at: dueAt, tried }: Row): Head {
  const head = { id: String(id), dueAt: Number(dueAt), tried: [] }
  try {
    const names = parse<unknown>(tried)
    return Array.isArray(names) ? { ...head, tried: names.map(String) } : head
  } catch {
    return head
  }
}

export const endpointColumns = [
  ...['id', 'owner', 'name', 'url', 'event_types', 'secret', 'old_secret', 'old_secret_until'],
  ...['created_at', 'updated_at', 'disabled_at', 'disabled_why'],
]

export function fromEndpoint(endpoint: Endpoint): Record<string, Value> {
  const { id, owner, name, url, secret } = endpoint
  return {
    ...{ id, owner, name, url, secret, event_types: JSON.stringify(endpoint.eventTypes) },
    ...{ old_secret: endpoint.oldSecret, old_secret_until: endpoint.oldSecretUntil },
    ...{ created_at: endpoint.createdAt, updated_at: endpoint.updatedAt },
    ...{ disabled_at: endpoint.disabledAt, disabled_why: endpoint.disabledWhy },
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

export const deliveryColumns = [
  ...['id', 'endpoint', 'owner', 'event', 'type', 'task', 'created_at'],
  ...['state', 'due_at', 'tries', 'fence', 'ended_at', 'log'],
]

export function fromDelivery(delivery: WebhookDelivery): Record<string, Value> {
  const { endpoint, owner, event, type, task, createdAt } = delivery
  return { endpoint, owner, event, type, task, created_at: createdAt, ...fromOutcome(delivery) }
}

export function fromOutcome(outcome: DeliveryOutcome): Record<string, Value> {
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

/** Whether an endpoint, as its row is, wants to be told of this. One that somebody damaged must not hold up the task. */
export function wants({ event_types: types }: Row, type: EventType): boolean {
  try {
    return (JSON.parse(String(types)) as string[]).includes(type)
  } catch {
    return false
  }
}

/** How long each took, by card. */
export function toDurations(rows: readonly Row[]): Map<string, number[]> {
  const byCard = Map.groupBy(rows, ({ card }) => String(card))
  return new Map([...byCard].map(([card, tasks]) => [card, tasks.map(({ took }) => Number(took))]))
}

export function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** An empty list takes no room in a row. */
function listJson(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values)
}

/** Typed by its reader: what stands in these columns was written by `json` above from the same type. */
function parse<T>(text: unknown): T {
  return (typeof text === 'string' ? JSON.parse(text) : null) as T
}
