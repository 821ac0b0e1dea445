import { createHash } from 'node:crypto'
import { operationKey } from '../../core/attempt.ts'
import { type Before, type Mutation, needsOf, planOf } from '../../core/plan.ts'
import { attemptColumns, beforeColumns, type Row, toAttemptsBefore, toTasksBefore } from '../../core/row.ts'
import type { StatementShape, Write } from '../../core/statements.ts'
import type { Json } from '../../core/task.ts'
import { type ItemResult, openBatches, runEach } from './batch.ts'
import type { Database } from './database.ts'
import { CommitUnknown, isConflict, isUnavailable } from './failures.ts'
import { aloneMs, anyOf, type Query } from './session.ts'

/**
 * Changes of tasks, many in one transaction. Returns whether each of them was applied. A deletion is a transaction of
 * its own: claims lock tasks without a lease in another order, and a client's request must not make other changes fail.
 */
export function openMutations(database: Database): (mutation: Mutation) => Promise<boolean> {
  const inBatches = openBatches((mutations: readonly Mutation[]) => {
    database.meter?.batch('change', mutations.length)
    return mutateAll(database, mutations)
  })
  return async (mutation) =>
    mutation.verb === 'delete' ? (await mutateOnce(database, [mutation])).has(mutation) : inBatches(mutation)
}

/** If a change is refused, or waits too long for a lock, each is written by itself, so that the others succeed. */
async function mutateAll(database: Database, mutations: readonly Mutation[]): Promise<ItemResult<boolean>[]> {
  const outcomes = new Map<Mutation, ItemResult<boolean>>()
  for (const batch of oneForEachTask(mutations)) {
    const results = await mutateBatch(database, batch)
    batch.forEach((mutation, at) => {
      outcomes.set(mutation, results[at] ?? { error: new Error('the change was not written') })
    })
  }
  return mutations.map((mutation) => outcomes.get(mutation) ?? { error: new Error('the change was not written') })
}

async function mutateBatch(
  database: Database,
  batch: readonly Mutation[],
  withinMs?: number,
): Promise<ItemResult<boolean>[]> {
  try {
    const held = await mutateOnce(database, batch, { withinMs })
    return batch.map((mutation) => ({ value: held.has(mutation) }))
  } catch (error) {
    // An unavailable database fails each of them, and their facts have to be kept elsewhere soon.
    if (batch.length === 1 || (isUnavailable(error) && !isConflict(error))) return batch.map(() => ({ error }))
    const alone = async (mutation: Mutation) =>
      (await mutateBatch(database, [mutation], aloneMs))[0] ?? { error: new Error('the change was not written') }
    return runEach(batch, ({ task }) => task, alone)
  }
}

/** The second change of a task must see the first: it comes in the next batch. */
function oneForEachTask(mutations: readonly Mutation[]): Mutation[][] {
  const batches: Mutation[][] = []
  const seen = new Map<string, number>()
  for (const mutation of mutations) {
    const at = seen.get(mutation.task) ?? 0
    seen.set(mutation.task, at + 1)
    batches[at] = [...(batches[at] ?? []), mutation]
  }
  return batches
}

async function mutateOnce(
  database: Database,
  mutations: readonly Mutation[],
  { again = false, withinMs }: { again?: boolean; withinMs?: number | undefined } = {},
): Promise<ReadonlySet<Mutation>> {
  try {
    return await database.write((query) => (again ? writeRest(query, mutations) : write(query, mutations)), withinMs)
  } catch (error) {
    if (!(error instanceof CommitUnknown) || again) throw error
    return mutateOnce(database, mutations, { again: true, withinMs })
  }
}

/** After a COMMIT without a response. It may still run, so this waits for its locks before it reads. */
async function writeRest(query: Query, mutations: readonly Mutation[]): Promise<ReadonlySet<Mutation>> {
  await lockTasks(query, mutations)
  const done = await findDone(query, mutations)
  const rest = mutations.filter((mutation) => !done.has(mutation))
  return rest.length === 0 ? done : new Set([...done, ...(await write(query, rest))])
}

/** The changes that are known to be written. All others are written again. */
async function findDone(query: Query, mutations: readonly Mutation[]): Promise<Set<Mutation>> {
  const rows = await query(
    `SELECT id, owner, state, fence, leased, deleted_at, ARRAY(SELECT id FROM attempts WHERE task = tasks.id) AS opened
     FROM tasks WHERE id = ANY($1)`,
    [mutations.map(({ task }) => task)],
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Set(mutations.filter((mutation) => isDone(mutation, found.get(mutation.task))))
}

/**
 * An attempt that was opened exists, a lease that was given back is not held, a task that keeps its lease has its new state,
 * a task that was removed is gone.
 */
function isDone(mutation: Mutation, row: Row | undefined): boolean {
  switch (mutation.verb) {
    case 'record': {
      const { task, keepsLease = false, opened } = mutation.entry
      // If another process has the task by now, the attempt must not be sent.
      const isOurs = row?.fence === task.fence && row.leased === true
      if (opened) return isOurs && ((row?.opened as string[] | undefined)?.includes(opened.id) ?? false)
      return row?.fence === task.fence && row.leased === keepsLease && row.state === task.state
    }
    case 'remove':
      return row === undefined
    case 'delete':
      return row?.owner === mutation.owner && row.deleted_at === mutation.at
    case 'settle':
    case 'disown':
      return false
  }
}

/** Returns the changes that were applied. Independent statements are sent together: three round trips for all changes. */
async function write(query: Query, mutations: readonly Mutation[]): Promise<ReadonlySet<Mutation>> {
  const tasks = await lockTasks(query, mutations)
  const before = await readBefore(query, mutations, tasks)
  const plans = mutations.map((mutation) => ({ mutation, ...planOf(mutation, before) }))
  await execute(
    query,
    plans.flatMap(({ writes }) => writes),
  )
  return new Set(plans.filter(({ isApplied }) => isApplied).map(({ mutation }) => mutation))
}

/** In the order of ids, so that two transactions that lock the same tasks do not deadlock. */
async function lockTasks(query: Query, mutations: readonly Mutation[]): Promise<Before['tasks']> {
  const text = `SELECT ${beforeColumns.join(', ')} FROM tasks WHERE id = ${anyOf('$1')} ORDER BY id FOR UPDATE`
  const rows = await query(text, [mutations.map(({ task }) => task)])
  return toTasksBefore(rows.map((row) => beforeColumns.map((name) => row[name])))
}

/**
 * Called after the tasks are locked: every change of an attempt locks its task first. Only if a task is gone, its attempts
 * are locked instead. Endpoints are not: deliveries to an endpoint that is deleted meanwhile are dropped with its others.
 */
async function readBefore(query: Query, mutations: readonly Mutation[], tasks: Before['tasks']): Promise<Before> {
  const { attempts, attemptsOf, owners } = needsOf(mutations, tasks)
  const lock = mutations.every(({ task }) => tasks.has(task)) ? '' : 'FOR UPDATE'
  const [attemptRows, endpoints] = await Promise.all([
    attempts.length + attemptsOf.length === 0 ? [] : query(`${attemptsStatement} ${lock}`, [attempts, attemptsOf]),
    owners.length === 0 ? [] : query(endpointsStatement, [owners]),
  ])
  return { tasks, attempts: toAttemptsBefore(attemptRows), endpoints }
}

/**
 * Locks the totals of these scopes, in their order, so that two transactions do not deadlock. Returns those that exist. A
 * transaction that also locks tasks locks those first.
 */
export function lockScopes(query: Query, scopes: readonly Row[]): Promise<Row[]> {
  return query(lockStatement, [JSON.stringify(scopes), scopes.map(({ scope }) => scope)])
}

const lockStatement = `SELECT scope, currency FROM spends
  WHERE period = 'total' AND scope = ${anyOf('$2')} AND (scope, currency) IN (
    SELECT scope, currency FROM json_to_recordset($1) AS given (scope text, currency text)
  ) ORDER BY scope, currency FOR UPDATE`

const attemptsStatement = `SELECT ${attemptColumns.join(', ')} FROM attempts
  WHERE id = ${anyOf('$1')} OR task = ${anyOf('$2')} ORDER BY id`

const endpointsStatement = `SELECT id, owner, event_types FROM endpoints WHERE owner = ${anyOf('$1')} AND disabled_at IS NULL`

/** One statement for all rows of a shape. Counters come last: other transactions wait for them until the COMMIT. */
export async function execute(query: Query, writes: readonly Write[]): Promise<void> {
  const shapes = [...Map.groupBy(writes, ({ shape }) => shape)]
  const run = ([shape, rows]: (typeof shapes)[number]) => query(statementText(shape), valuesOf(shape, rows))
  const [counters, others] = [shapes.filter(isCounter), shapes.filter((one) => !isCounter(one))]
  const scopes = counters.flatMap(([, rows]) => rows.map(({ values: [scope, currency] }) => ({ scope, currency })))
  await Promise.all([
    ...others.map(run),
    ...(scopes.length > 0 ? [lockScopes(query, scopes)] : []),
    ...counters.map(run),
  ])
}

function isCounter([{ verb }]: [StatementShape, Write[]]): boolean {
  return verb === 'add'
}

function valuesOf({ verb, columns, table }: StatementShape, writes: readonly Write[]): unknown[] {
  const keys = writes.map(({ values: [key] }) => key)
  if (verb === 'delete') return [keys]
  const rows = writes.map(({ values }) => Object.fromEntries(columns.map((name, at) => [name, values[at]])))
  const given = JSON.stringify(table === 'attempts' ? rows.map(withOperationHash) : rows)
  return verb === 'insert' ? [given] : [given, keys]
}

function statementText({ verb, table, columns, skipsExisting }: StatementShape): string {
  const [key, ...others] = columns
  if (verb === 'add') return addStatement
  if (verb === 'delete') return `DELETE FROM ${table} WHERE ${key} = ${anyOf('$1')}`
  const hash = table === 'attempts' && columns.includes('operation') ? ['operation_hash'] : []
  const given = `json_populate_recordset(NULL::${table}, $1)`
  if (verb === 'update')
    return `UPDATE ${table} SET ${[...others, ...hash].map((name) => `${name} = given.${name}`).join(', ')}
      FROM ${given} AS given WHERE ${table}.${key} = given.${key} AND ${table}.${key} = ${anyOf('$2')}`
  const names = [...columns, ...hash].join(', ')
  const once = skipsExisting ? `ON CONFLICT (${skipsExisting.join(', ')}) DO NOTHING` : ''
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${given} ${once}`
}

/** Sums first: an UPDATE changes a row only once, however many of the given rows fit it. */
const addStatement = `UPDATE spends SET amount = spends.amount + added.amount FROM (
    SELECT spends.scope, spends.currency, spends.period, sum(given.amount) AS amount
    FROM json_to_recordset($1) AS given (scope text, currency text, at bigint, amount bigint)
    JOIN spends ON spends.scope = given.scope AND spends.currency = given.currency
      AND spends.starts <= given.at AND given.at < spends.ends
    WHERE spends.scope = ${anyOf('$2')}
    GROUP BY spends.scope, spends.currency, spends.period
  ) AS added
  WHERE spends.scope = added.scope AND spends.currency = added.currency AND spends.period = added.period`

/** An operation may be too long for an index. */
export function withOperationHash(row: Row): Row {
  return { ...row, operation_hash: typeof row.operation === 'string' ? operationHash(row.operation) : null }
}

export function operationHash(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** The task is locked before the attempt, as everywhere, so that two transactions do not deadlock. */
export async function disown(query: Query, account: string, operation: Json, at: number): Promise<string | undefined> {
  const adopter = 'SELECT id, task FROM attempts WHERE account = $1 AND operation_hash = $2 AND adopted = 1'
  const values = [account, operationHash(operationKey(operation))]
  const [found] = await query(adopter, values)
  if (!found) return undefined
  const [attempt, task] = [String(found.id), String(found.task)]
  const mutation: Mutation = { verb: 'disown', task, attempt, at }
  const tasks = await lockTasks(query, [mutation])
  const [locked] = await query(`${adopter} FOR UPDATE`, values)
  // The attempt has lost the operation meanwhile.
  if (locked?.id !== attempt) return undefined
  await execute(query, planOf(mutation, await readBefore(query, [mutation], tasks)).writes)
  return attempt
}
