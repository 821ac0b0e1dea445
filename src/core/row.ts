import type { AccountHealth } from './account.ts'
import type { Attempt, AttemptState, Rival } from './attempt.ts'
import type { Notice, NoticeKind } from './notice.ts'
import type { State, Status, Task, TaskEvent, TaskView } from './task.ts'
import type { Token } from './token.ts'
import type { Head } from './turns.ts'

/* How a task, an attempt and an event lie in the columns of a database, the same in every store that has columns. */

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

/** What tells whether a decision changes what a client sees. */
export function toSeen(row: Row): Pick<Task, 'state' | 'startedAt' | 'deletedAt'> {
  return {
    state: row.state as State,
    startedAt: row.started_at as number | null,
    deletedAt: row.deleted_at as number | null,
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
