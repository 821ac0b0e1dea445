import { createHash } from 'node:crypto'
import { leftBehind, operationKey, overruled } from '../../core/attempt.ts'
import { decidedAt, noticeOf } from '../../core/notice.ts'
import { Problem } from '../../core/problem.ts'
import { attemptColumns, json, mutableColumns, type Row, toMutable, toSeen } from '../../core/row.ts'
import type { Json } from '../../core/task.ts'
import { removedMs } from '../../core/timing.ts'
import { occupiesSlots } from '../../core/turns.ts'
import { deliveryColumns } from '../../core/webhook-row.ts'
import type { Entry, Lease } from '../store.ts'
import type { Outcome } from './batch.ts'
import type { Database } from './database.ts'
import { deliveriesOf } from './deliveries.ts'
import { CommitUnknown } from './failures.ts'
import type { Query } from './session.ts'

/**
 * Decisions and facts, many tasks in one transaction. Where one of them is refused, each is written by itself, so that
 * it fails alone.
 */
export async function recordAll(database: Database, entries: readonly Entry[]): Promise<Outcome<boolean>[]> {
  const outcomes = new Map<Entry, Outcome<boolean>>()
  for (const batch of oneForEachTask(entries)) {
    try {
      const held = await recordOnce(database, batch)
      for (const entry of batch) outcomes.set(entry, { value: held.has(entry) })
    } catch (error) {
      // A database that is away is so for each of them, and what they learnt has to be kept elsewhere soon.
      if (batch.length === 1 || Problem.from(error).code === 'storage_unavailable')
        for (const entry of batch) outcomes.set(entry, { error })
      else
        for (const entry of batch)
          for (const outcome of await recordAll(database, [entry])) outcomes.set(entry, outcome)
    }
  }
  return entries.map((entry) => outcomes.get(entry) ?? { error: new Error('it was not written') })
}

/** The second decision about a task must see the first: it comes in the next batch. */
function oneForEachTask(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = []
  const seen = new Map<string, number>()
  for (const entry of entries) {
    const at = seen.get(entry.task.id) ?? 0
    seen.set(entry.task.id, at + 1)
    batches[at] = [...(batches[at] ?? []), entry]
  }
  return batches
}

async function recordOnce(database: Database, entries: readonly Entry[], again = false): Promise<Set<Entry>> {
  try {
    return await database.write((query) => (again ? writeRest(query, entries) : write(query, entries)))
  } catch (error) {
    if (!(error instanceof CommitUnknown) || again) throw error
    return recordOnce(database, entries, true)
  }
}

/** After a COMMIT that nobody heard of. It may still be under way: its locks are waited for before anything is read. */
async function writeRest(query: Query, entries: readonly Entry[]): Promise<Set<Entry>> {
  await query(lockStatement, [entries.map(({ task }) => task.id)])
  const done = await findDone(query, entries)
  const rest = entries.filter((entry) => !done.has(entry))
  return rest.length === 0 ? done : new Set([...done, ...(await write(query, rest))])
}

const lockStatement = `SELECT id, state, started_at, attempt, attempts, fence, leased, deleted_at FROM tasks WHERE id = ANY($1)
  ORDER BY id FOR UPDATE`

/**
 * Which of them were written: an attempt that was opened is there, and a lease that was given back is nobody's. What
 * can't be told so is simply written again.
 */
async function findDone(query: Query, entries: readonly Entry[]): Promise<Set<Entry>> {
  const rows = await query(
    `SELECT id, fence, leased, ARRAY(SELECT id FROM attempts WHERE task = tasks.id) AS attempts
     FROM tasks WHERE id = ANY($1)`,
    [entries.map(({ task }) => task.id)],
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  const isDone = ({ task, keep, opened }: Entry) => {
    const row = found.get(task.id)
    if (opened) return (row?.attempts as string[] | undefined)?.includes(opened.id) ?? false
    return !keep && row?.fence === task.fence && row.leased === false
  }
  return new Set(entries.filter(isDone))
}

/** Returns those whose lease was still held. */
async function write(query: Query, entries: readonly Entry[]): Promise<Set<Entry>> {
  const rows = await query(lockStatement, [entries.map(({ task }) => task.id)])
  const before = new Map(rows.map((row) => [row.id, row]))
  const held = entries.filter(({ task, opened }) => {
    const row = before.get(task.id)
    // Nothing is sent for a deleted task any more.
    const isGone = opened !== undefined && row?.deleted_at !== null
    return row?.leased === true && row.fence === task.fence && !isGone
  })
  await updateTasks(query, held)
  await insertAll(
    query,
    'attempts',
    attemptColumns,
    held.flatMap(({ opened }) => (opened ? [toAttemptRow(opened)] : [])),
  )
  const unawaited = await settle(query, entries, new Set(held))
  const left = held.flatMap(({ task }) => leftBehind(before.get(task.id), task) ?? [])
  await orphan(query, [...unawaited, ...left])
  await settleUnsent(
    query,
    held.flatMap((entry) => unheardOf(entry, before.get(entry.task.id))),
  )
  await freeSlots(
    query,
    held.filter((entry) => !occupies(entry)).map(({ task }) => task.id),
  )
  const events = held.flatMap(({ task, events = [] }) =>
    events.map(({ at, name, detail }) => ({ task: task.id, at, name, detail: json(detail) })),
  )
  await insertAll(query, 'events', ['task', 'at', 'name', 'detail'], events)
  const notices = held.flatMap((entry) => noticed(entry, before.get(entry.task.id)))
  await insertAll(query, 'notices', ['owner', 'task', 'at', 'kind'], notices)
  await insertAll(query, 'deliveries', deliveryColumns, await deliveriesOf(query, notices))
  return new Set(held)
}

/** The notice that a decision is, if it is one. */
function noticed(entry: Entry, before: Row | undefined): Row[] {
  const kind = before && noticeOf(toSeen(before), entry.task)
  return kind ? [{ owner: entry.task.owner, task: entry.task.id, at: decidedAt(entry), kind }] : []
}

/** A task that was deleted meanwhile is due at once, whatever was decided; one that is kept, when its lease ends. */
const updateStatement = `UPDATE tasks SET leased = made.leased, ${mutableColumns
  .map((name) => {
    if (name === 'start_by') return 'start_by = CASE WHEN tasks.deleted_at IS NULL THEN made.start_by ELSE 0 END'
    if (name !== 'due_at') return `${name} = made.${name}`
    return `due_at = CASE WHEN made.leased THEN tasks.due_at
      WHEN tasks.deleted_at IS NOT DISTINCT FROM made.deleted_at THEN made.due_at ELSE 0 END`
  })
  .join(', ')}
  FROM json_populate_recordset(NULL::tasks, $1) AS made WHERE tasks.id = made.id`

async function updateTasks(query: Query, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return
  const rows = entries.map(({ task, keep = false }) => {
    const values = toMutable(task)
    const changes = Object.fromEntries(mutableColumns.map((name, at) => [name, values[at]]))
    return { id: task.id, ...changes, leased: keep, deleted_at: task.deletedAt }
  })
  await query(updateStatement, [JSON.stringify(rows)])
}

function toAttemptRow(attempt: NonNullable<Entry['opened']>): Row {
  const { id, task, number, account, keyVersion, upstreamModel, openedAt, state } = attempt
  return {
    id,
    task,
    number,
    account,
    key_version: keyVersion,
    upstream_model: upstreamModel,
    opened_at: openedAt,
    state,
  }
}

async function insertAll(query: Query, table: string, columns: readonly string[], rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const names = columns.join(', ')
  await query(`INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)`, [
    JSON.stringify(rows),
  ])
}

/** The first answer stays: a later one changes nothing but what nobody knew. */
const settleStatement = `UPDATE attempts SET operation = made.operation, operation_hash = made.operation_hash, settled_at = made.settled_at,
  problem = made.problem, adopted = made.adopted, state = CASE
    WHEN attempts.state = 'abandoned' AND made.state = 'accepted' THEN 'orphan'
    WHEN attempts.state = 'abandoned' AND made.state = 'open' THEN 'abandoned'
    ELSE made.state END
  FROM json_populate_recordset(NULL::attempts, $1) AS made
  WHERE attempts.id = made.id AND attempts.state IN ('open', 'abandoned') RETURNING attempts.id`

/** If it comes late, from somebody who holds the task no more, and the task still waits for it, that is due now. */
const wakeStatement = `UPDATE tasks SET due_at = CASE WHEN leased THEN due_at ELSE 0 END
  FROM attempts WHERE attempts.id = ANY($1) AND tasks.id = attempts.task AND tasks.attempt = attempts.id
    AND tasks.state = 'held' RETURNING tasks.attempt`

/** Records the facts. Returns the attempts that nobody waits for. */
async function settle(query: Query, entries: readonly Entry[], held: ReadonlySet<Entry>): Promise<string[]> {
  const told = entries.filter((entry) => held.has(entry) || !entry.isFactFenced)
  const facts = told.flatMap((entry) => (entry.fact ? [{ entry, fact: entry.fact }] : []))
  if (facts.length === 0) return []
  const rows = facts.map(({ fact: { id, state, operation, settledAt, problem, adopted } }) => {
    const key = operation === null ? null : operationKey(operation)
    const hash = key === null ? null : hashOf(key)
    const found = { operation: key, operation_hash: hash, adopted: adopted ? 1 : null }
    return { id, state, ...found, settled_at: settledAt, problem: json(problem) }
  })
  const settled = new Set((await query(settleStatement, [JSON.stringify(rows)])).map(({ id }) => id))
  const news = facts.filter(({ fact }) => settled.has(fact.id))
  const late = news.filter(({ entry }) => !held.has(entry)).map(({ fact }) => fact.id)
  const awaited = late.length === 0 ? [] : (await query(wakeStatement, [late])).map(({ attempt }) => attempt)
  const isAwaited = ({ entry, fact }: (typeof news)[number]) =>
    held.has(entry) ? entry.task.attempt === fact.id : awaited.includes(fact.id)
  return news.filter((one) => !isAwaited(one)).map(({ fact }) => fact.id)
}

export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** Who counts fewer attempts than there are opened the last one himself: its COMMIT went through, and he never heard of it. */
function unheardOf({ task }: Entry, before: Row | undefined): string[] {
  return before?.state === 'held' && Number(before.attempts) > task.attempts ? [String(before.attempt)] : []
}

/** Nothing is sent for an attempt before its opener has heard that it is there. */
async function settleUnsent(query: Query, attempts: readonly string[]): Promise<void> {
  if (attempts.length === 0) return
  await query(
    `UPDATE attempts SET state = 'refused', settled_at = (extract(epoch FROM now()) * 1000)::bigint, problem = $2
     WHERE id = ANY($1) AND state = 'open'`,
    [attempts, JSON.stringify({ code: 'storage_unavailable', message: 'It was never sent: the store was away.' })],
  )
}

export function occupies({ task, keep = false, releases = false }: Entry): boolean {
  return occupiesSlots(task.state, keep) && !releases
}

/** Only one that was accepted becomes an orphan. */
async function orphan(query: Query, attempts: readonly string[]): Promise<void> {
  if (attempts.length === 0) return
  await query("UPDATE attempts SET state = 'orphan' WHERE id = ANY($1) AND state = 'accepted'", [attempts])
}

async function freeSlots(query: Query, tasks: readonly string[]): Promise<void> {
  if (tasks.length > 0) await query('DELETE FROM slots WHERE task = ANY($1)', [tasks])
}

export async function disown(query: Query, account: string, operation: Json, now: number): Promise<string | undefined> {
  const hash = hashOf(operationKey(operation))
  const wanted = 'SELECT id, task FROM attempts WHERE account = $1 AND operation_hash = $2 AND adopted = 1'
  const [found] = await query(wanted, [account, hash])
  if (!found) return undefined
  const [attempt, task] = [String(found.id), String(found.task)]
  // The task first, as everywhere: two transactions that lock both in different orders wait for each other.
  const heldAgain = await query(holdAgainStatement, [task, attempt, now])
  const isHeldAgain = heldAgain.length === 1
  const taken = await query(
    `UPDATE attempts SET state = $3, operation = NULL, operation_hash = NULL, adopted = NULL, settled_at = $4, problem = $5
     WHERE id = $1 AND operation_hash = $2 AND adopted = 1 RETURNING id`,
    [attempt, hash, isHeldAgain ? 'open' : 'abandoned', isHeldAgain ? null : now, json(overruled)],
  )
  if (taken.length === 0) throw new Error('the attempt was changed meanwhile')
  if (isHeldAgain)
    await insertAll(
      query,
      'events',
      ['task', 'at', 'name', 'detail'],
      [{ task, at: now, name: 'adoption overruled', detail: json({ attempt }) }],
    )
  return attempt
}

const trimRemovedStatement = `DELETE FROM attempts WHERE id IN (
    SELECT id FROM attempts WHERE state = 'removed' AND opened_at < (
      SELECT max(opened_at) FROM attempts WHERE state = 'removed'
    ) - ${removedMs} LIMIT 10)`

const holdAgainStatement = `UPDATE tasks SET state = 'held', operation = NULL, output = NULL, missing_at = NULL, tries = 0,
    due_at = $3, leased = false, fence = fence + 1
  WHERE id = $1 AND attempt = $2 AND state IN ('running', 'storing') RETURNING id`

/** What may have cost money and is nobody's stays. */
export async function remove(query: Query, { id, fence }: Lease, orphans: boolean): Promise<boolean> {
  const [was] = await query('DELETE FROM tasks WHERE id = $1 AND fence = $2 AND leased RETURNING state, attempt', [
    id,
    fence,
  ])
  if (!was) return false
  if (was.state === 'held' || orphans) await orphan(query, [String(was.attempt)])
  await freeSlots(query, [id])
  await query('DELETE FROM events WHERE task = $1', [id])
  await query("UPDATE attempts SET state = 'abandoned' WHERE task = $1 AND state = 'open'", [id])
  await query("UPDATE attempts SET state = 'removed' WHERE task = $1 AND state = 'accepted'", [id])
  await query("DELETE FROM attempts WHERE task = $1 AND state NOT IN ('open', 'abandoned', 'orphan', 'removed')", [id])
  await query(trimRemovedStatement)
  return true
}
