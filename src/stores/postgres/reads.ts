import {
  attemptColumns,
  columns,
  entryColumns,
  fromRow,
  healthColumns,
  mapReadable,
  noticeColumns,
  statusConditions,
  toAttempt,
  toDurations,
  toEntry,
  toEvent,
  toExpiryStep,
  toHealth,
  toNotice,
  toRival,
  toStoredStep,
  toView,
  viewColumns,
} from '../../core/row.ts'
import { firstIdAt } from '../../core/task.ts'
import { accountScope } from '../../core/turns.ts'
import { type SearchDialect, searchTasks } from '../search.ts'
import type { Lane, Store } from '../store.ts'
import { type Filter, searchWindows, type Window } from '../window.ts'
import { queuedStatement } from './admissions.ts'
import { type ItemResult, openBatches } from './batch.ts'
import { byTime, lanes } from './claims.ts'
import type { Database } from './database.ts'
import { operationHash } from './mutations.ts'
import { anyOf, type Query } from './session.ts'

type Reads = Pick<Store, 'notices' | 'noticesOf' | 'noticeRange' | 'findByKey' | 'usedSlots' | 'unfinishedOf'> &
  Pick<Store, 'list' | 'search' | 'repeats' | 'find' | 'nextDue' | 'attempt' | 'attempts' | 'attemptsIn'> &
  Pick<Store, 'bound' | 'rivals' | 'events' | 'entries' | 'accountsInUse' | 'durations' | 'healths' | 'read'> &
  Pick<Store, 'sumStored' | 'storedExpiries' | 'countQueued' | 'spent' | 'currencies'>

const view = viewColumns.join(', ')
const attempt = attemptColumns.join(', ')
const notice = `SELECT number, ${noticeColumns.join(', ')} FROM notices`

/** Ids are joined with commas. Text with a comma in it is not an id, and is not found. */
const viewStatement = `SELECT ${view}, owner FROM tasks
  WHERE id = ANY(string_to_array($1, ',')) AND deleted_at IS NULL`

/** A row that can't be read, after a change by hand, fails only its own item. */
function readable<Result>(read: () => Result): ItemResult<Result> {
  try {
    return { value: read() }
  } catch (error) {
    return { error }
  }
}

/** All reads. */
export function openReads(database: Database): Reads {
  const query = database.read
  // Runs that a claim begins at once read their attempts at the same time.
  const readAttempts = openBatches(async (tasks: readonly string[]) => {
    const text = `SELECT ${attempt} FROM attempts WHERE task = ${anyOf('$1')} ORDER BY number, opened_at, id`
    const found = Map.groupBy(await query(text, [tasks]), ({ task }) => task)
    return tasks.map((task) => readable(() => (found.get(task) ?? []).map(toAttempt)))
  })
  const readOne = openBatches(async (wanted: readonly { owner: string; id: string }[]) => {
    const rows = await database.readByPlace(viewStatement, [wanted.map(({ id }) => id).join()])
    const found = new Map(rows.map((values) => [values[0], values]))
    return wanted.map(({ owner, id }) => {
      const values = found.get(id)
      return { value: values?.[viewColumns.length] === owner ? toView(values) : undefined }
    })
  })

  return {
    read: (owner, id) => readOne({ owner, id }),
    async find(id) {
      const [row] = await query(`SELECT ${columns.join(', ')} FROM tasks WHERE id = $1`, [id])
      return row && fromRow(row)
    },
    async findByKey(owner, key) {
      const text = `SELECT ${columns.join(', ')} FROM tasks WHERE owner = $1 AND idempotency_key = $2`
      const [row] = await query(text, [owner, key])
      return row && fromRow(row)
    },
    async notices(after, missing, limit) {
      const text = `${notice} WHERE number > $1 OR number = ANY($2) ORDER BY number LIMIT $3`
      return (await query(text, [after, missing, limit])).map(toNotice)
    },
    async noticesOf(owner, after, limit) {
      const rows = await query(`${notice} WHERE owner = $1 AND number > $2 ORDER BY number LIMIT $3`, [
        owner,
        after,
        limit,
      ])
      return rows.map(toNotice)
    },
    async noticeRange() {
      const [row] = await query('SELECT min(number) AS first, max(number) AS last FROM notices')
      return { first: Number(row?.first ?? 0), last: Number(row?.last ?? 0) }
    },
    async list(owner, { after, limit, enoughBytes = Number.MAX_SAFE_INTEGER, order, status, model, ...pace }) {
      const [beyond, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC']
      // Without a cursor a list begins before the first id, or after the last.
      const start = after ?? (order === 'asc' ? '' : '\u{10ffff}')
      if (status !== undefined || model !== undefined)
        return searchWindows(openWindow(database, { owner, order, status, model }), start, {
          limit,
          enoughBytes,
          ...pace,
        })
      const page = `SELECT ${view} FROM tasks WHERE owner = $1 AND id ${beyond} $2 AND deleted_at IS NULL
        ORDER BY id ${direction} LIMIT $3`
      return (await database.readByPlace(upTo('$4', page, order), [owner, start, limit, enoughBytes])).map(toView)
    },
    search: (wanted, step) => searchTasks(wanted, step, searchDialect(query)),
    async repeats(owner, digest, since) {
      const rows = await query(
        // Only the newest: a client repeats what it has just sent.
        `SELECT id FROM (
           SELECT id, digest FROM tasks WHERE owner = $1 AND id >= $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 20000
         ) AS newest WHERE digest = $3 ORDER BY id DESC LIMIT 100`,
        [owner, firstIdAt(since), digest],
      )
      return rows.map(({ id }) => String(id))
    },
    nextDue: (lanes) => nextDue(database, lanes),
    usedSlots: openUsedSlots(query),
    async countQueued(owner, most) {
      const [row] = await query(queuedStatement, [[owner], [most]])
      return Number(row?.queued)
    },
    async spent({ scope, currency, period, starts, ends }) {
      const [row] = await query(spentStatement, [scope, currency, period, starts, ends])
      return Number(row?.amount)
    },
    async currencies() {
      const rows = await query('SELECT DISTINCT currency FROM spends ORDER BY currency')
      return rows.map(({ currency }) => String(currency))
    },
    async sumStored(of, { owner, id }, limit) {
      const [row] = await query(sumStatements[of], [owner, id, limit])
      return toStoredStep(row, limit)
    },
    storedExpiries: async ({ owner, id }, limit) =>
      toExpiryStep(await query(expiryStatement, [owner, id, limit]), limit),
    async attempt(id) {
      const [row] = await query(`SELECT ${attempt} FROM attempts WHERE id = $1`, [id])
      return row && toAttempt(row)
    },
    attempts: (task) => readAttempts(task),
    async attemptsIn(state, limit, after) {
      const [order, beyond] = state === 'open' ? ['ASC', '>'] : ['DESC', '<']
      const text = `SELECT ${attempt} FROM attempts WHERE state = $1 ${after ? `AND (opened_at, id) ${beyond} ($3, $4)` : ''}
        ORDER BY opened_at ${order}, id ${order} LIMIT $2`
      const place = after ? [after.openedAt, after.id] : []
      return (await query(text, [state, limit, ...place])).map(toAttempt)
    },
    async bound(account, operations) {
      const text = 'SELECT operation FROM attempts WHERE account = $1 AND operation_hash = ANY($2)'
      const rows = await query(text, [account, operations.map(operationHash)])
      return new Set(rows.map(({ operation }) => String(operation)))
    },
    async rivals({ task, account }, since, limit) {
      const rows = await query(
        `SELECT attempts.id, tasks.prompt FROM attempts LEFT JOIN tasks ON tasks.id = attempts.task
         WHERE attempts.account = $1 AND attempts.task <> $2
           AND (attempts.state = 'open' OR attempts.state = 'abandoned' AND attempts.opened_at >= $3) LIMIT $4`,
        [account, task, since, limit],
      )
      return rows.map(toRival)
    },
    events: async (task) =>
      (await query('SELECT at, name, detail FROM events WHERE task = $1 ORDER BY number', [task])).map(toEvent),
    async entries(task) {
      const text = `SELECT ${entryColumns.join(', ')} FROM entries WHERE task = $1 ORDER BY at, step, account`
      return (await query(text, [task])).map(toEntry)
    },
    async accountsInUse() {
      const rows = await query(accountsStatement)
      return rows.map(({ account }) => String(account))
    },
    async unfinishedOf(account) {
      const [row] = await query(unfinishedStatement, [account])
      return Number(row?.count ?? 0)
    },
    durations: () => durations(database),
    healths: async () =>
      mapReadable(await query(`SELECT ${healthColumns.join(', ')} FROM healths ORDER BY account`), toHealth),
  }
}

const spentStatement = `SELECT coalesce(
    (SELECT amount FROM spends WHERE scope = $1::text AND currency = $2::text AND period = $3::text),
    (SELECT -sum(amount) FROM entries WHERE account = 'funds ' || $1::text AND currency = $2::text
      AND submitted_at >= $4::bigint AND submitted_at < $5::bigint),
    0) AS amount`

/** In an index that has only the tasks with bytes. */
const sumStatement = (after: string) => `WITH page AS MATERIALIZED (
    SELECT owner, id, stored_bytes FROM tasks WHERE stored_bytes IS NOT NULL AND ${after} ORDER BY owner, id LIMIT $3
  )
  SELECT owner, id, (SELECT sum(stored_bytes) FROM page) AS bytes, (SELECT count(*) FROM page) AS found
  FROM page ORDER BY owner DESC, id DESC LIMIT 1`
const sumStatements = { owner: sumStatement('owner = $1 AND id > $2'), all: sumStatement('(owner, id) > ($1, $2)') }

/** In the same index. `expires_at` is read from the rows. */
const expiryStatement = `WITH page AS MATERIALIZED (
    SELECT owner, id, stored_bytes, expires_at FROM tasks
    WHERE stored_bytes IS NOT NULL AND (owner, id) > ($1, $2) ORDER BY owner, id LIMIT $3
  ), final AS (SELECT owner, id FROM page ORDER BY owner DESC, id DESC LIMIT 1)
  SELECT expires_at / 3600000 AS hour, count(*) AS tasks, sum(stored_bytes) AS bytes, (SELECT count(*) FROM page) AS found,
    (SELECT owner FROM final) AS owner, (SELECT id FROM final) AS id
  FROM page GROUP BY 1`

/** By steps from one account to the next in the index: a DISTINCT would read all unfinished tasks. */
const accountsStatement = `WITH RECURSIVE accounts AS (
    (SELECT account FROM tasks WHERE state IN ('held', 'running', 'storing') AND ${byTime} AND account IS NOT NULL
     ORDER BY account LIMIT 1)
    UNION ALL
    SELECT next.account FROM accounts, LATERAL (
      SELECT account FROM tasks WHERE state IN ('held', 'running', 'storing') AND ${byTime} AND account > accounts.account
      ORDER BY account LIMIT 1
    ) AS next
  ) SELECT account FROM accounts`

const unfinishedStatement = `SELECT count(*) AS count FROM tasks
  WHERE state IN ('held', 'running', 'storing') AND ${byTime} AND account = $1`

/** All lanes of one state are one part of the statement, however many accounts there are. */
async function nextDue(database: Database, wanted: readonly Lane[]): Promise<(number | undefined)[]> {
  const states = [...new Set(wanted.map(({ state }) => state))]
  const parts = states.map((state) => {
    const { where, due } = lanes[state]
    return `SELECT '${state}' AS state, account, (
      SELECT ${due} FROM tasks WHERE ${where.replace('$1', 'asked.account')} AND ${byTime} AND ${due} IS NOT NULL
      ORDER BY ${due} LIMIT 1
    ) AS due FROM jsonb_to_recordset($1) AS asked (state text, account text) WHERE asked.state = '${state}'`
  })
  if (parts.length === 0) return []
  const asked = wanted.map((lane) => ({ state: lane.state, account: 'account' in lane ? lane.account : '' }))
  const rows = await database.read(parts.join(' UNION ALL '), [JSON.stringify(asked)])
  const dues = new Map(rows.map(({ state, account, due }) => [`${state} ${account}`, due as number | null]))
  return asked.map(({ state, account }) => dues.get(`${state} ${account}`) ?? undefined)
}

async function durations(database: Database): Promise<Map<string, number[]>> {
  const rows = await database.read(
    `SELECT card, completed_at - started_at AS took
     FROM (SELECT id, card, state, started_at, completed_at FROM tasks ORDER BY id DESC LIMIT 1000) AS newest
     WHERE state = 'completed' AND started_at IS NOT NULL ORDER BY id`,
  )
  return toDurations(rows)
}

/** Counts in an index. */
function openUsedSlots(query: Query): Store['usedSlots'] {
  return async (accounts) => {
    const [row] = await query('SELECT count(*) AS used FROM slots WHERE scope = ANY($1)', [accounts.map(accountScope)])
    return Number(row?.used)
  }
}

/** This many rows are read well within the time limit of a statement. */
const windowRows = 20_000

/**
 * The rows of a page up to the one that brings its prompts to that many bytes. The database knows the length of a long
 * text without reading it.
 */
function upTo(bytes: string, page: string, order: Filter['order']): string {
  const [view, length] = [viewColumns.join(', '), 'octet_length(prompt)']
  return `SELECT ${view} FROM (
      SELECT *, sum(${length}) OVER (ORDER BY id ${order} ROWS UNBOUNDED PRECEDING) - ${length} AS before FROM (${page}) AS page
    ) AS summed WHERE before < ${bytes}::bigint ORDER BY id ${order}`
}

function searchDialect(query: Query): SearchDialect {
  return {
    query,
    placeholder: (number) => `$${number}`,
    byOwner: '',
    contains: (column, part) => `strpos(${column}, ${part}) > 0`,
    folded: (column) => `lower(${column} COLLATE "C")`,
  }
}

function openWindow(database: Database, { owner, order, status, model }: Filter): Window {
  const [beyond, until] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const from = 'FROM tasks WHERE owner = $1 AND deleted_at IS NULL AND'
  const fits = [...(status ? [statusConditions[status]] : []), ...(model === undefined ? [] : ['model = $6'])]
  return {
    async end(after) {
      const text = `SELECT id ${from} id ${beyond} $2 ORDER BY id ${order} LIMIT 1 OFFSET ${windowRows - 1}`
      const [row] = await database.read(text, [owner, after])
      return row?.id as string | undefined
    },
    async fitting(after, last, { limit, enoughBytes }) {
      const bound = `($3::text IS NULL OR id ${until} $3)`
      const text = `SELECT ${viewColumns.join(', ')} ${from} id ${beyond} $2 AND ${[bound, ...fits].join(' AND ')}
        ORDER BY id ${order} LIMIT $4`
      const values = [owner, after, last ?? null, limit, enoughBytes, ...(model === undefined ? [] : [model])]
      return (await database.readByPlace(upTo('$5', text, order), values)).map(toView)
    },
  }
}
