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

/** By its place in a jsonb array a value costs the database, and us, less than by its name. */
const values = columns.map((name, at) => (numberColumns.has(name) ? `(made->>${at})::bigint` : `made->>${at}`))
const statement = `INSERT INTO tasks (${columns.join(', ')}) SELECT ${values.join(', ')}
  FROM jsonb_array_elements($1) AS made`

/** Where one of them is refused, each is inserted by itself, so that it fails alone. */
async function insertAll(database: Database, tasks: readonly Task[], again = false): Promise<Outcome<void>[]> {
  try {
    await database.run(statement, [JSON.stringify(tasks.map(toRow))])
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
