import { planAdmissions } from '../../core/plan.ts'
import { Problem } from '../../core/problem.ts'
import { type Admission, type Counter, counterKey, countersOf, overCap } from '../../core/spend.ts'
import type { Task } from '../../core/task.ts'
import { type ItemResult, openBatches } from './batch.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { insertStatement } from './inserts.ts'
import { execute, lockScopes } from './mutations.ts'
import type { Query } from './session.ts'

/** A new task with a price. */
type Submit = Admission & { task: Task }

/** Inserts tasks with a price, many in one transaction. Rejects with `insufficient_quota` if a cap does not allow one. */
export function openAdmissions(database: Database): (submit: Submit) => Promise<void> {
  return openBatches(
    (submits) => admitAll(database, submits),
    ({ task }) => 2 * task.prompt.length,
  )
}

/** If the database refuses a task, each is inserted by itself, so that the others succeed. */
async function admitAll(database: Database, submits: readonly Submit[], again = false): Promise<ItemResult<void>[]> {
  try {
    return await database.write((query) => admit(query, submits, again))
  } catch (error) {
    if (error instanceof CommitUnknown && !again) return admitAll(database, submits, true)
    if (submits.length === 1 || Problem.from(error).code === 'storage_unavailable')
      return submits.map(() => ({ error }))
    const results: ItemResult<void>[] = []
    // One after the other: the first of them take what the caps allow.
    for (const submit of submits) results.push(...(await admitAll(database, [submit], again)))
    return results
  }
}

/**
 * The scopes are locked before the tasks are inserted. No other transaction locks the new rows, and a task with the same
 * key has the same owner, so it waits for the same scope: there is no deadlock.
 */
async function admit(query: Query, submits: readonly Submit[], again: boolean): Promise<ItemResult<void>[]> {
  const spent = await readCounters(query, submits.flatMap(countersOf))
  // After a COMMIT without a response the rows may exist. The lock waited for its end.
  const done = again ? await findInserted(query, submits) : new Set()
  const open = submits.filter(({ task }) => !done.has(task.id))
  const plans = planAdmissions(open, spent)
  const refusals = new Map(
    open.flatMap((submit, at) => {
      const plan = plans[at]
      return plan && 'refusal' in plan ? [[submit, plan.refusal] as const] : []
    }),
  )
  const admitted = open.filter((submit) => !refusals.has(submit)).map(({ task }) => task)
  if (admitted.length > 0) {
    const { text, json } = insertStatement(admitted)
    const writes = plans.flatMap((plan) => ('writes' in plan ? plan.writes : []))
    // Without a time limit: a transaction whose process has given up is not committed.
    await Promise.all([query(text, [json, Number.MAX_SAFE_INTEGER]), execute(query, writes)])
  }
  return submits.map((submit) => {
    const refusal = refusals.get(submit)
    return refusal ? { error: overCap(refusal) } : { value: undefined }
  })
}

/** Locks the totals of the scopes and reads the counters. A missing one is made from the ledger, under that lock. */
async function readCounters(query: Query, counters: readonly Counter[]): Promise<Map<string, number>> {
  const byKey = new Map(counters.map((counter) => [counterKey(counter), counter]))
  const wanted = [...byKey.keys()].sort().flatMap((key) => byKey.get(key) ?? [])
  const totals = wanted.filter(({ period }) => period === 'total')
  const read = async () => {
    const [, rows] = await Promise.all([
      lockScopes(query, totals.map(scopeOf)),
      query(readStatement, [JSON.stringify(wanted)]),
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
  JOIN spends ON spends.scope = wanted.scope AND spends.currency = wanted.currency AND spends.period = wanted.period`

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
