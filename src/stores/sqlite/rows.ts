import type { SQLOutputValue } from 'node:sqlite'
import type { State, Task } from '../../core/task.ts'

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
] as const

/** What a decision may write; everything before it in the row stays as it was submitted. */
export const mutableColumns = columns.slice(columns.indexOf('image'), columns.indexOf('fence'))

export type Value = string | number | null

export function toRow(task: Task): Value[] {
  const { id, owner, model, provider, upstreamModel, prompt, seconds, size, createdAt } = task
  return [
    ...[id, owner, model, provider, upstreamModel, prompt, seconds, size.width, size.height, createdAt],
    ...toMutable(task),
    task.fence,
  ]
}

export function toMutable(task: Task): Value[] {
  const { state, progress, startedAt, completedAt, expiresAt, dueAt, tries } = task
  return [
    ...[json(task.image), state, progress, startedAt, completedAt, expiresAt],
    ...[json(task.operation), json(task.output), json(task.video), json(task.error)],
    ...[dueAt, tries],
  ]
}

export function fromRow(row: Record<string, SQLOutputValue>): Task {
  return {
    id: row.id as string,
    owner: row.owner as string,
    model: row.model as string,
    provider: row.provider as string,
    upstreamModel: row.upstream_model as string,
    prompt: row.prompt as string,
    seconds: row.seconds as number,
    size: { width: row.width as number, height: row.height as number },
    createdAt: row.created_at as number,
    image: parse(row.image),
    state: row.state as State,
    progress: row.progress as number,
    startedAt: row.started_at as number | null,
    completedAt: row.completed_at as number | null,
    expiresAt: row.expires_at as number | null,
    operation: parse(row.operation),
    output: parse(row.output),
    video: parse(row.video),
    error: parse(row.error),
    dueAt: row.due_at as number | null,
    tries: row.tries as number,
    fence: row.fence as number,
  }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** Typed by its reader: what stands in these columns was written by `json` above from the same type. */
function parse<T>(text: SQLOutputValue | undefined): T {
  return (typeof text === 'string' ? JSON.parse(text) : null) as T
}
