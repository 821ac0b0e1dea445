import { Problem } from '../../core/problem.ts'
import { columns, numberColumns, toRow } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { type Outcome, openBatches } from './batch.ts'
import type { DatabaseClock } from './clock.ts'
import type { Database } from './database.ts'
import { CommitUnknown, isDuplicate } from './failures.ts'
import { patienceMs } from './session.ts'

/** Tasks as they are submitted, many in one statement. */
export function openInserts(database: Database, clock: DatabaseClock): (task: Task) => Promise<void> {
  return openBatches(
    (tasks) => insertAll({ database, clock }, tasks),
    ({ prompt }) => 2 * prompt.length,
  )
}

interface Tools {
  database: Database
  clock: DatabaseClock
}

/** Of the columns only those that one of them fills: a new task leaves half of them empty. */
export function statementOf(tasks: readonly Task[]): { text: string; json: string } {
  const rows = tasks.map(toRow)
  const places = [...columns.keys()].filter((at) => rows.some((row) => row[at] !== null))
  const key = places.join()
  const text = texts.get(key) ?? textOf(places)
  texts.set(key, text)
  return { text, json: JSON.stringify(rows.map((row) => places.map((at) => row[at]))) }
}

/** There are few, as few columns are sometimes filled and sometimes not. */
const texts = new Map<string, string>()

/**
 * By its place in a jsonb array a value costs the database, and us, less than by its name. What is heard too late, after
 * a hang or from the queue of a pooler, must not be done any more: its client was told that it failed, and may have tried
 * again.
 */
function textOf(places: readonly number[]): string {
  const names = places.map((at) => columns[at] ?? '')
  const made = names.map((name, at) => (numberColumns.has(name) ? `(made->>${at})::bigint` : `made->>${at}`))
  return `INSERT INTO tasks (${names.join(', ')}) SELECT ${made.join(', ')} FROM jsonb_array_elements($1) AS made
    WHERE statement_timestamp() < to_timestamp($2::float8 / 1000) RETURNING 1`
}

/** What has no answer is tried once more, and both together leave time to say within 2 s that it failed. */
const repeatMs = 350

/** Where one of them is refused, each is inserted by itself, so that it fails alone. */
async function insertAll(tools: Tools, tasks: readonly Task[], again = false): Promise<Outcome<void>[]> {
  const { database, clock } = tools
  const [asked, withinMs] = [clock.now(), again ? repeatMs : patienceMs]
  try {
    const { text, json } = statementOf(tasks)
    const made = await database.run(text, [json, asked + withinMs], withinMs)
    if (made.length > 0) return tasks.map(() => ({ value: undefined }))
    if (again || clock.now() - asked > repeatMs) throw Problem.ofStorage(new Error('the database heard it too late'))
    // It was quick, so it is the database's time that has changed.
    await clock.look()
    return insertAll(tools, tasks, true)
  } catch (error) {
    if (error instanceof CommitUnknown && !again) return insertAll(tools, tasks, true)
    // After a COMMIT whose outcome nobody knew, the row that is there is our own: ids are drawn from 144 bits.
    if (tasks.length === 1 && again && isDuplicate(error)) return [{ value: undefined }]
    // A database that is away is so for each of them.
    if (tasks.length === 1 || Problem.from(error).code === 'storage_unavailable') return tasks.map(() => ({ error }))
    return (await Promise.all(tasks.map((task) => insertAll(tools, [task], again)))).flat()
  }
}
