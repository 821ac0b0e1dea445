import {
  attemptColumns,
  columns,
  fromRow,
  readable,
  toAttempt,
  toDurations,
  toEvent,
  toHealth,
  toNotice,
  toRival,
  toToken,
  toView,
  viewColumns,
} from '../../core/row.ts'
import type { Lane, Store } from '../store.ts'
import { lookThrough } from '../window/window.ts'
import { openBatches } from './batch.ts'
import type { Database } from './database.ts'
import { hashOf } from './entries.ts'
import { openInWork, openLines } from './lines.ts'
import { openWindow, upTo } from './window.ts'

type Reads = Pick<Store, 'notices' | 'noticesOf' | 'noticeRange' | 'findByKey' | 'queueOf' | 'inWork'> &
  Pick<Store, 'list' | 'repeats' | 'find' | 'nextDue' | 'attempt' | 'attempts' | 'attemptsIn'> &
  Pick<Store, 'bound' | 'rivals' | 'events' | 'accountsInUse' | 'durations' | 'healths' | 'tokens' | 'read'>

const view = viewColumns.join(', ')
const attempt = attemptColumns.join(', ')
const notice = 'SELECT number, owner, task, at, kind FROM notices'

/** What is no id, because it has a comma in it, is nobody's. */
const viewStatement = `SELECT ${view}, owner FROM tasks
  WHERE id = ANY(string_to_array($1, ',')) AND deleted_at IS NULL`

/** Everything that is only read. */
export function openReads(database: Database): Reads {
  const query = database.read
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
      // Before the first of all ids, or after the last: where a list without a cursor begins.
      const start = after ?? (order === 'asc' ? '' : '\u{10ffff}')
      if (status !== undefined || model !== undefined)
        return lookThrough(openWindow(database, { owner, order, status, model }), start, {
          ...{ limit, enoughBytes },
          ...pace,
        })
      const page = `SELECT ${view} FROM tasks WHERE owner = $1 AND id ${beyond} $2 AND deleted_at IS NULL
        ORDER BY id ${direction} LIMIT $3`
      return (await database.readByPlace(upTo('$4', page, order), [owner, start, limit, enoughBytes])).map(toView)
    },
    async repeats(owner, digest, since) {
      const rows = await query(
        // No more than an index tells at once: a client repeats what it sent just now.
        `SELECT id FROM (
           SELECT id, digest FROM tasks WHERE owner = $1 AND id >= $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 20000
         ) AS newest WHERE digest = $3 ORDER BY id DESC LIMIT 100`,
        [owner, `video_${since.toString(16).padStart(12, '0')}`, digest],
      )
      return rows.map(({ id }) => String(id))
    },
    nextDue: (lanes) => nextDue(database, lanes),
    queueOf: openLines(query),
    inWork: openInWork(query),
    async attempt(id) {
      const [row] = await query(`SELECT ${attempt} FROM attempts WHERE id = $1`, [id])
      return row && toAttempt(row)
    },
    attempts: async (task) =>
      (await query(`SELECT ${attempt} FROM attempts WHERE task = $1 ORDER BY number`, [task])).map(toAttempt),
    async attemptsIn(state, limit) {
      const order = state === 'open' ? 'ASC' : 'DESC'
      const text = `SELECT ${attempt} FROM attempts WHERE state = $1 ORDER BY opened_at ${order} LIMIT $2`
      return (await query(text, [state, limit])).map(toAttempt)
    },
    async bound(account, operations) {
      const text = 'SELECT operation FROM attempts WHERE account = $1 AND operation_hash = ANY($2)'
      const rows = await query(text, [account, operations.map(hashOf)])
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
    async accountsInUse() {
      const rows = await query(accountsStatement)
      return rows.map(({ account }) => String(account))
    },
    durations: () => durations(database),
    healths: async () =>
      readable(await query('SELECT account, key_version, health, changed_at FROM healths ORDER BY account'), toHealth),
    tokens: async () =>
      readable(await query('SELECT name, kind, digest, models FROM tokens ORDER BY created_at, name'), toToken),
  }
}

/** Where each lane's tasks are: its condition, and the column that says when they are due. */
export const lanes: Record<Lane['state'], { where: string; due: 'due_at' | 'start_by' }> = {
  fetching: { where: "state = 'fetching'", due: 'due_at' },
  completed: { where: "state = 'completed'", due: 'due_at' },
  failed: { where: "state = 'failed'", due: 'due_at' },
  held: { where: "state = 'held' AND account = $1", due: 'due_at' },
  running: { where: "state = 'running' AND account = $1", due: 'due_at' },
  storing: { where: "state = 'storing' AND account = $1", due: 'due_at' },
  // Due for a slot and perhaps for a later try, but past its time: one that is being submitted is left alone.
  overdue: { where: "state = 'queued' AND NOT leased", due: 'start_by' },
}

/** From one to the next in the index: a DISTINCT would read all that is in flight. */
const accountsStatement = `WITH RECURSIVE accounts AS (
    (SELECT account FROM tasks WHERE state IN ('held', 'running', 'storing') AND account IS NOT NULL
     ORDER BY account LIMIT 1)
    UNION ALL
    SELECT next.account FROM accounts, LATERAL (
      SELECT account FROM tasks WHERE state IN ('held', 'running', 'storing') AND account > accounts.account
      ORDER BY account LIMIT 1
    ) AS next
  ) SELECT account FROM accounts`

/** All lanes of one state are one part of the question, so that a hundred accounts are no hundred questions. */
async function nextDue(database: Database, wanted: readonly Lane[]): Promise<(number | undefined)[]> {
  const states = [...new Set(wanted.map(({ state }) => state))]
  const parts = states.map((state) => {
    const { where, due } = lanes[state]
    return `SELECT '${state}' AS state, account, (
      SELECT ${due} FROM tasks WHERE ${where.replace('$1', 'asked.account')} AND ${due} IS NOT NULL ORDER BY ${due} LIMIT 1
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
