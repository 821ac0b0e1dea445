import { planAdmissions } from '../../core/plan.ts'
import { problemOf, type QueueCounts } from '../../core/quotas.ts'
import { type Admission, type Counter, counterKey, countersOf } from '../../core/spend.ts'
import type { Task } from '../../core/task.ts'
import { type ItemResult, openBatches, runEach } from './batch.ts'
import type { Database } from './database.ts'
import { CommitUnknown, isConflict, isUnavailable } from './failures.ts'
import { insertStatement } from './inserts.ts'
import { submitLock } from './migrate.ts'
import { execute, lockScopes } from './mutations.ts'
import { aloneMs, anyOf, type Query } from './session.ts'

/** A new task that a limit of its owner may not allow. */
type Submit = Admission & { task: Task }

interface Tools {
  database: Database
  counts: QueueCounts
}

/**
 * Inserts tasks that have a price, or whose owner may have too many waiting tasks, many in one transaction. Rejects with
 * `insufficient_quota` if a cap does not allow one, and with `queue_full`.
 */
export function openAdmissions(database: Database, counts: QueueCounts): (submit: Submit) => Promise<void> {
  return openBatches(
    (submits) => {
      database.meter?.batch('insert', submits.length)
      return admitAll({ database, counts }, submits)
    },
    ({ task }) => 2 * task.prompt.length,
  )
}

interface Try {
  /** After a COMMIT without a response. */
  again?: boolean
  withinMs?: number | undefined
}

/** If a task is refused, or waits too long for a lock, each is inserted by itself, so that the others succeed. */
async function admitAll(tools: Tools, submits: readonly Submit[], attempt: Try = {}): Promise<ItemResult<void>[]> {
  const { again = false, withinMs } = attempt
  try {
    return await tools.database.write((query) => admit(query, tools.counts, submits, again), withinMs)
  } catch (error) {
    if (error instanceof CommitUnknown && !again) return admitAll(tools, submits, { again: true, withinMs })
    if (submits.length === 1 || (isUnavailable(error) && !isConflict(error))) return submits.map(() => ({ error }))
    const alone = async (submit: Submit) =>
      (await admitAll(tools, [submit], { again, withinMs: aloneMs }))[0] ?? { error: new Error('it was not inserted') }
    // One after the other: the first of them take what the limits allow.
    return runEach(submits, ({ task }) => task.owner, alone)
  }
}

/**
 * The owners and scopes are locked before the tasks are inserted. No other transaction locks the new rows, and a task with
 * the same key has the same owner, so it waits for the same lock: there is no deadlock.
 */
async function admit(
  query: Query,
  counts: QueueCounts,
  submits: readonly Submit[],
  again: boolean,
): Promise<ItemResult<void>[]> {
  const [queued, spent] = await Promise.all([
    countQueued(query, counts, submits),
    readCounters(query, submits.flatMap(countersOf)),
  ])
  // After a COMMIT without a response the rows may exist. The lock waited for its end.
  const done = again ? await findInserted(query, submits) : new Set()
  const open = submits.filter(({ task }) => !done.has(task.id))
  const plans = planAdmissions(open, spent, queued)
  const refusals = new Map(
    open.flatMap((submit, at) => {
      const plan = plans[at]
      return plan && 'refusal' in plan ? [[submit, plan.refusal] as const] : []
    }),
  )
  for (const [{ task }, refusal] of refusals) if ('mostQueued' in refusal) counts.refuse(task.owner, refusal.mostQueued)
  const admitted = open.filter((submit) => !refusals.has(submit))
  for (const { task, mostQueued } of admitted) if (mostQueued !== undefined) counts.add(task.owner)
  if (admitted.length > 0) {
    const { text, json } = insertStatement(admitted.map(({ task }) => task))
    const writes = plans.flatMap((plan) => ('writes' in plan ? plan.writes : []))
    // Without a time limit: a transaction whose process has given up is not committed.
    await Promise.all([query(text, [json, Number.MAX_SAFE_INTEGER]), execute(query, writes)])
  }
  return submits.map((submit) => {
    const refusal = refusals.get(submit)
    return refusal ? { error: problemOf(refusal) } : { value: undefined }
  })
}

/**
 * Counts the waiting tasks of owners, up to their limits. They are locked first, so that of all that is submitted at once no
 * more is admitted than the limit allows. Free tasks of an owner that has much room are inserted without this lock.
 */
async function countQueued(
  query: Query,
  counts: QueueCounts,
  submits: readonly Submit[],
): Promise<ReadonlyMap<string, number>> {
  const limits = new Map<string, { most: number; mark: number }>()
  for (const { task, mostQueued = 0 } of submits) {
    const most = Math.max(mostQueued, limits.get(task.owner)?.most ?? 0)
    if (most > 0) limits.set(task.owner, { most, mark: counts.mark(task.owner) })
  }
  if (limits.size === 0) return new Map()
  const owners = [...limits.keys()]
  const [, rows] = await Promise.all([
    query(lockStatement, [owners, submitLock]),
    query(queuedStatement, [owners, [...limits.values()].map(({ most }) => most)]),
  ])
  const queued = new Map(rows.map((row) => [String(row.owner), Number(row.queued)]))
  for (const [owner, { most, mark }] of limits) {
    const counted = queued.get(owner) ?? 0
    // At the limit there may be more than were counted.
    if (counted < most) counts.learn(owner, counted, mark)
  }
  return queued
}

/** In the order of the keys, so that two transactions do not deadlock. Two owners with the same key share a lock. */
const lockStatement = `SELECT pg_advisory_xact_lock($2::int, key) FROM (
    SELECT DISTINCT hashtext(owner) AS key FROM unnest($1::text[]) AS asked (owner) ORDER BY key OFFSET 0
  ) AS keys`

/**
 * For lists of owners and limits. By steps from one card to the next in the index of the queue: an index by owner would cost
 * every change of a task.
 */
export const queuedStatement = `WITH RECURSIVE cards AS (
    (SELECT card FROM tasks WHERE state = 'queued' ORDER BY card LIMIT 1)
    UNION ALL
    SELECT next.card FROM cards, LATERAL (
      SELECT card FROM tasks WHERE state = 'queued' AND tasks.card > cards.card ORDER BY card LIMIT 1
    ) AS next
  )
  SELECT asked.owner, (SELECT count(*) FROM (
    SELECT 1 FROM cards, LATERAL (
      SELECT 1 FROM tasks WHERE state = 'queued' AND tasks.card = cards.card AND tasks.owner = asked.owner COLLATE "C"
      ORDER BY due_at LIMIT asked.most
    ) AS line
    UNION ALL
    SELECT 1 FROM (
      SELECT 1 FROM tasks WHERE state = 'fetching' AND tasks.owner = asked.owner COLLATE "C"
      ORDER BY due_at LIMIT asked.most
    ) AS line
    LIMIT asked.most
  ) AS waiting) AS queued FROM unnest($1::text[], $2::bigint[]) AS asked (owner, most)`

/** Locks the totals of the scopes and reads the counters. A missing one is made from the ledger, under that lock. */
async function readCounters(query: Query, counters: readonly Counter[]): Promise<Map<string, number>> {
  if (counters.length === 0) return new Map()
  const byKey = new Map(counters.map((counter) => [counterKey(counter), counter]))
  const wanted = [...byKey.keys()].sort().flatMap((key) => byKey.get(key) ?? [])
  const totals = wanted.filter(({ period }) => period === 'total')
  const read = async () => {
    const [, rows] = await Promise.all([
      lockScopes(query, totals.map(scopeOf)),
      query(readStatement, [JSON.stringify(wanted), wanted.map(({ scope }) => scope)]),
    ])
    return new Map(rows.map((row) => [counterKey(row as unknown as Counter), Number(row.amount)]))
  }
  let found = await read()
  const isMissing = (counter: Counter) => !found.has(counterKey(counter))
  // The totals first: without them nothing is locked.
  for (const some of [totals, wanted]) {
    const missing = some.filter(isMissing)
    if (missing.length === 0) continue
    await query(makeStatement, [JSON.stringify(missing)])
    found = await read()
  }
  return found
}

function scopeOf({ scope, currency }: Counter) {
  return { scope, currency }
}

const readStatement = `SELECT spends.scope, spends.currency, spends.period, spends.amount
  FROM json_to_recordset($1) AS wanted (scope text, currency text, period text)
  JOIN spends ON spends.scope = wanted.scope AND spends.currency = wanted.currency AND spends.period = wanted.period
  WHERE spends.scope = ${anyOf('$2')}`

const makeStatement = `INSERT INTO spends (scope, currency, period, starts, ends, amount)
  SELECT scope, currency, period, starts, ends, (
    SELECT coalesce(-sum(entries.amount), 0) FROM entries
    WHERE entries.account = 'funds ' || missing.scope AND entries.currency = missing.currency
      AND entries.submitted_at >= missing.starts AND entries.submitted_at < missing.ends
  ) FROM json_to_recordset($1) AS missing (scope text, currency text, period text, starts bigint, ends bigint)
  ON CONFLICT (scope, currency, period) DO NOTHING`

async function findInserted(query: Query, submits: readonly Submit[]): Promise<Set<unknown>> {
  const rows = await query('SELECT id FROM tasks WHERE id = ANY($1)', [submits.map(({ task }) => task.id)])
  return new Set(rows.map(({ id }) => id))
}
