import type { SQLOutputValue } from 'node:sqlite'
import type { State, Task, TaskView } from '../../core/task.ts'

/** The columns of `tasks` in the order in which every statement names them. */
export const columns = [
  'id',
  'owner',
  'model',
  'provider',
  'upstream_model',
  'prompt',
  'seconds',
  'width',
  'height',
  'parameters',
  'created_at',
  'image',
  'state',
  'progress',
  'started_at',
  'completed_at',
  'expires_at',
  'operation',
  'output',
  'video',
  'error',
  'due_at',
  'tries',
  'fence',
  'deleted_at',
] as const

/** What a decision may write; everything else stays as it was submitted. */
export const mutableColumns = columns.slice(columns.indexOf('image'), columns.indexOf('fence'))

export type Value = string | number | null

/** In the order of `columns`: by place a submit costs half of what it does by name, here and on its way to the writer. */
export function toRow(task: Task): Value[] {
  const { id, owner, model, provider, upstreamModel, prompt, seconds, size, parameters, createdAt } = task
  return [
    ...[id, owner, model, provider, upstreamModel, prompt, seconds, size.width, size.height],
    ...[JSON.stringify(parameters), createdAt, ...toMutable(task), task.fence, task.deletedAt],
  ]
}

/** In the order of `mutableColumns`. */
export function toMutable(task: Task): Value[] {
  const { image, state, progress, startedAt, completedAt, expiresAt, operation, output, video, error } = task
  return [
    ...[json(image), state, progress, startedAt, completedAt, expiresAt],
    ...[json(operation), json(output), json(video), json(error), task.dueAt, task.tries],
  ]
}

/** The columns of a `TaskView`, which is read as an array: objects of so many columns cost half as much again. */
export const viewColumns = [
  ...['id', 'model', 'prompt', 'seconds', 'width', 'height', 'created_at', 'state', 'progress'],
  ...['started_at', 'completed_at', 'expires_at', 'error'],
]

export function toView(row: SQLOutputValue[]): TaskView {
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
    error: parse(row[12]),
  }
}

export function fromRow(row: Record<string, SQLOutputValue>): Task {
  return {
    ...toView(viewColumns.map((name) => row[name] ?? null)),
    owner: row.owner as string,
    provider: row.provider as string,
    upstreamModel: row.upstream_model as string,
    parameters: parse(row.parameters),
    image: parse(row.image),
    operation: parse(row.operation),
    output: parse(row.output),
    video: parse(row.video),
    dueAt: row.due_at as number | null,
    tries: row.tries as number,
    fence: row.fence as number,
    deletedAt: row.deleted_at as number | null,
  }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** Typed by its reader: what stands in these columns was written by `json` above from the same type. */
function parse<T>(text: SQLOutputValue | undefined): T {
  return (typeof text === 'string' ? JSON.parse(text) : null) as T
}
