import { createHash } from 'node:crypto'
import { Problem } from '../../core/problem.ts'
import { columns, numberColumns, toRow } from '../../core/row.ts'
import { storageFaultOf } from '../../core/storage-fault.ts'
import { queueTask, type Task } from '../../core/task.ts'
import { type ItemResult, openBatches } from './batch.ts'
import type { DatabaseClock } from './clock.ts'
import type { Database } from './database.ts'
import { CommitUnknown, isDuplicate, isUnavailable } from './failures.ts'
import { aloneMs, patienceMs, type Query } from './session.ts'

/** Inserts new tasks, many in one statement. */
export function openInserts(database: Database, clock: DatabaseClock): (task: Task) => Promise<void> {
  return openBatches(
    (tasks) => {
      database.meter?.batch('insert', tasks.length)
      return insertAll({ database, clock }, tasks)
    },
    ({ prompt }) => 2 * prompt.length,
  )
}

interface Tools {
  database: Database
  clock: DatabaseClock
}

/** Names only the columns that one of the tasks fills: a new task leaves half of them empty. */
export function insertStatement(tasks: readonly Task[]): { text: string; json: string } {
  const rows = tasks.map(toRow)
  const filled = [...columns.keys()].filter((at) => rows.some((row) => row[at] !== null))
  const key = filled.join()
  const text = texts.get(key) ?? insertText(filled)
  texts.set(key, text)
  return { text, json: JSON.stringify(rows.map((row) => filled.map((at) => row[at]))) }
}

/** There are few texts, as few columns are optional. */
const texts = new Map<string, string>()

/**
 * Values in a jsonb array cost the database, and us, less than values with names. A statement that arrives too late,
 * after a hang or from the queue of a pooler, must insert nothing: its client got an error, and may have tried again.
 */
function insertText(filled: readonly number[]): string {
  const names = filled.map((at) => columns[at] ?? '')
  const made = names.map((name, at) => (numberColumns.has(name) ? `(made->>${at})::bigint` : `made->>${at}`))
  return `INSERT INTO tasks (${names.join(', ')}) SELECT ${made.join(', ')} FROM jsonb_array_elements($1) AS made
    WHERE statement_timestamp() < to_timestamp($2::float8 / 1000) RETURNING 1`
}

/** If a task is refused, each is inserted by itself, so that the others succeed. */
async function insertAll(tools: Tools, tasks: readonly Task[], again = false): Promise<ItemResult<void>[]> {
  const { database, clock } = tools
  const [startedAt, withinMs] = [clock.now(), again ? aloneMs : patienceMs]
  try {
    const { text, json } = insertStatement(tasks)
    const inserted = await database.run(text, [json, startedAt + withinMs], withinMs)
    if (inserted.length > 0) return tasks.map(() => ({ value: undefined }))
    if (again || clock.now() - startedAt > aloneMs)
      throw Problem.ofStorage(new Error('the database received the statement too late'))
    // The response was quick, so the clock of the database has changed.
    await clock.measure()
    return insertAll(tools, tasks, true)
  } catch (error) {
    if (error instanceof CommitUnknown && !again) return insertAll(tools, tasks, true)
    // After a COMMIT of unknown outcome an existing row is our own: ids have 144 random bits.
    if (tasks.length === 1 && again && isDuplicate(error)) return [{ value: undefined }]
    // An unavailable database fails each of them.
    if (tasks.length === 1 || isUnavailable(error)) return tasks.map(() => ({ error }))
    return (await Promise.all(tasks.map((task) => insertAll(tools, [task], again)))).flat()
  }
}

/** Checks whether the database can be written, by a write and by the outcomes of the last inserts. */
interface Probe {
  check(): Promise<void>
  /** Passes on the outcome of an insert. */
  watch(insertion: Promise<void>): Promise<void>
}

/** `name` is unique to this process, so that no process waits for the row of another. */
export function openProbe(database: Database, name: string): Probe {
  /** An insert failed because the disk is full. A small write may still fit into existing pages, so it proves nothing. */
  let isFull = false
  return {
    async check() {
      await database.write((query) => (isFull ? writeTask(query, name) : writeLittle(query, name)))
      isFull = false
    },
    watch: (insertion) =>
      insertion.catch((error) => {
        isFull ||= storageFaultOf(error) === 'full'
        throw error
      }),
  }
}

/** Into a small table that is written often. */
async function writeLittle(query: Query, name: string): Promise<void> {
  const account = `probe@${name}`
  await query("INSERT INTO healths (account, key_version, health, changed_at) VALUES ($1, '', '{}', 0)", [account])
  await query('DELETE FROM healths WHERE account = $1', [account])
}

async function writeTask(query: Query, name: string): Promise<void> {
  const task = largeTask(`probe_${name}`)
  const { text, json } = insertStatement([task])
  await query(text, [json, Number.MAX_SAFE_INTEGER])
  await query('DELETE FROM tasks WHERE id = $1', [task.id])
}

/** Longer than any prompt, and of digests, because the database compresses other text. */
function largeTask(id: string): Task {
  const lines = Array.from({ length: 2_000 }, (_, at) => createHash('sha256').update(`${id} ${at}`).digest('hex'))
  const content = { prompt: lines.join(''), seconds: 0, size: { width: 0, height: 0 }, parameters: {}, image: null }
  return queueTask({ id, ...content, owner: '', model: '', card: '', digest: 0, startBy: 0, finishBy: 0 }, 0)
}
