import type { SQLOutputValue } from 'node:sqlite'
import type { Asset, State, Task, TaskView } from '../../core/task.ts'

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

export type Row = Record<string, string | number | null>

export function toRow(task: Task): Row {
  const { id, owner, model, provider, prompt, seconds, fence } = task
  return {
    ...{ id, owner, model, provider, upstream_model: task.upstreamModel, prompt, seconds },
    ...{ width: task.size.width, height: task.size.height, parameters: json(task.parameters) },
    ...{ created_at: task.createdAt, fence, deleted_at: task.deletedAt },
    ...toMutable(task),
  }
}

export function toMutable(task: Task): Row {
  const { state, progress, tries } = task
  return {
    ...{ state, progress, tries, due_at: task.dueAt },
    ...{ started_at: task.startedAt, completed_at: task.completedAt, expires_at: task.expiresAt },
    ...{ image: json(task.image), operation: json(task.operation), output: json(task.output) },
    ...{ video: json(task.video), error: json(task.error) },
  }
}

/** The columns of a `TaskView`, which is read as an array: objects of so many columns cost half as much again. */
export const viewColumns = [
  ...['id', 'model', 'prompt', 'seconds', 'width', 'height', 'created_at', 'state', 'progress'],
  ...['started_at', 'completed_at', 'expires_at', 'error', 'video'],
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
    // Parsed when it is asked for, which a poll never does.
    get video() {
      return parse<Asset | null>(row[13])
    },
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
