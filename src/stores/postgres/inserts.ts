import { Problem } from '../../core/problem.ts'
import { columns, numberColumns, toRow } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { type Outcome, openBatches } from './batch.ts'
import type { Database } from './database.ts'
import { CommitUnknown, isDuplicate } from './failures.ts'

/** Tasks as they are submitted, many in one statement. */
export function openInserts(database: Database): (task: Task) => Promise<void> {
  return openBatches(
    (tasks) => insertAll(database, tasks),
    ({ prompt }) => 2 * prompt.length,
  )
}

/** Of the columns only those that one of them fills: a new task leaves half of them empty. */
function statementOf(tasks: readonly Task[]): { text: string; values: [json: string] } {
  const rows = tasks.map(toRow)
  const places = [...columns.keys()].filter((at) => rows.some((row) => row[at] !== null))
  const key = places.join()
  const text = texts.get(key) ?? textOf(places)
  texts.set(key, text)
  return { text, values: [JSON.stringify(rows.map((row) => places.map((at) => row[at])))] }
}

/** There are few, as few columns are sometimes filled and sometimes not. */
const texts = new Map<string, string>()

/** By its place in a jsonb array a value costs the database, and us, less than by its name. */
function textOf(places: readonly number[]): string {
  const names = places.map((at) => columns[at] ?? '')
  const made = names.map((name, at) => (numberColumns.has(name) ? `(made->>${at})::bigint` : `made->>${at}`))
  return `INSERT INTO tasks (${names.join(', ')}) SELECT ${made.join(', ')} FROM jsonb_array_elements($1) AS made`
}

/** Where one of them is refused, each is inserted by itself, so that it fails alone. */
async function insertAll(database: Database, tasks: readonly Task[], again = false): Promise<Outcome<void>[]> {
  try {
    const { text, values } = statementOf(tasks)
    await database.run(text, values)
    return tasks.map(() => ({ value: undefined }))
  } catch (error) {
    if (error instanceof CommitUnknown && !again) return insertAll(database, tasks, true)
    // After a COMMIT whose outcome nobody knew, the row that is there is our own: ids are drawn from 144 bits.
    if (tasks.length === 1 && again && isDuplicate(error)) return [{ value: undefined }]
    // A database that is away is so for each of them.
    if (tasks.length === 1 || Problem.from(error).code === 'storage_unavailable') return tasks.map(() => ({ error }))
    return (await Promise.all(tasks.map((task) => insertAll(database, [task], again)))).flat()
  }
}
