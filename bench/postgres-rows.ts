import { columns } from '../src/core/row.ts'

/** The value of each column of a task except its id, as SQL. */
const filler: Record<string, string> = {
  owner: "'bench'",
  model: "'studio'",
  card: "'studio'",
  prompt: `'${'a red fox in the snow '.repeat(5)}'`,
  seconds: '4',
  width: '1280',
  height: '720',
  parameters: "'{}'",
  created_at: '1',
  digest: '0',
  finish_by: '4000000000000',
  state: "'running'",
  progress: '40',
  start_by: '4000000000000',
  attempts: '0',
  due_at: '4000000000000',
  tries: '0',
  fence: '0',
  started_at: '1',
}

export const intoTasks = `INSERT INTO tasks (${columns.join(', ')})`

/** The values of one task, in the order of `intoTasks`. By default they are those of a running task. */
export function valuesOf(given: Record<string, string>): string {
  return columns.map((name) => given[name] ?? filler[name] ?? 'NULL').join(', ')
}

/** The values of a task that has not started. */
export const asQueued = { state: "'queued'", progress: '0', started_at: 'NULL' }

/** Inserts many tasks; `n` counts them from 1. */
export function manyTasks(count: number, given: Record<string, string>): string {
  return `${intoTasks} SELECT ${valuesOf(given)} FROM generate_series(1, ${count}) AS n`
}
