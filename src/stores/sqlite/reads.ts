import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import {
  columns,
  entryColumns,
  fromRow,
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
import { largestTotal } from '../../core/spend.ts'
import { firstIdAt, promptBytes, type TaskView } from '../../core/task.ts'
import { accountScope, interleaveQueues, type QueuePlace, type Stretch } from '../../core/turns.ts'
import { type SearchDialect, searchTasks } from '../search.ts'
import type { Store } from '../store.ts'
import { type Filter, type PageLimits, searchWindows, type Window } from '../window.ts'
import { prepareQueued } from './admissions.ts'
import { accountOfLane, lanes, prepareForLanes, prepareQueues } from './claims.ts'

type Reads = Pick<Store, 'notices' | 'noticesOf' | 'noticeRange' | 'findByKey' | 'usedSlots' | 'dueOwners'> &
  Pick<Store, 'unfinishedOf'> &
  Pick<Store, 'list' | 'search' | 'repeats' | 'find' | 'nextDue' | 'attempt' | 'attempts' | 'attemptsIn'> &
  Pick<Store, 'bound' | 'rivals' | 'events' | 'entries' | 'accountsInUse' | 'durations' | 'healths'> &
  Pick<Store, 'sumStored' | 'storedExpiries' | 'countQueued' | 'spent' | 'currencies'> & {
    read(owner: string, id: string): ReturnType<typeof toView> | undefined
    queueOf(card: string, limit: number, round: readonly Stretch[]): Promise<QueuePlace[]>
  }

/** Read once, at the start. */
const currenciesStatement = 'SELECT DISTINCT currency FROM spends ORDER BY currency'

/** All reads; runs on the main thread. */
export function prepareReads(reader: DatabaseSync): Reads {
  const view = viewColumns.join(', ')
  const read = reader.prepare(`SELECT ${view} FROM tasks WHERE id = ? AND owner = ? AND deleted_at IS NULL`)
  const find = reader.prepare(`SELECT ${columns.join(', ')} FROM tasks WHERE id = ?`)
  const findByKey = reader.prepare(
    `SELECT ${columns.join(', ')} FROM tasks INDEXED BY tasks_key
     WHERE owner = ? AND idempotency_key = ? AND idempotency_key IS NOT NULL`,
  )
  const notice = `SELECT number, ${noticeColumns.join(', ')} FROM notices`
  const notices = reader.prepare(`${notice} WHERE number > ? ORDER BY number LIMIT ?`)
  const noticesOf = reader.prepare(`${notice} WHERE owner = ? AND number > ? ORDER BY number LIMIT ?`)
  // Two subqueries, because for both in one SELECT SQLite would read every row.
  const noticeRange = reader.prepare(
    'SELECT (SELECT min(number) FROM notices) AS first, (SELECT max(number) FROM notices) AS last',
  )
  const listed = { asc: reader.prepare(listStatement('>', 'ASC')), desc: reader.prepare(listStatement('<', 'DESC')) }
  for (const statement of [read, listed.asc, listed.desc]) statement.setReturnArrays(true)
  const repeats = reader.prepare(
    `SELECT id FROM tasks INDEXED BY tasks_owner
     WHERE owner = ? AND id >= ? AND digest = ? AND deleted_at IS NULL ORDER BY id DESC LIMIT 100`,
  )
  const dues = Object.fromEntries(
    Object.entries(lanes).map(([state, { index, where, due }]) => [
      state,
      reader.prepare(
        `SELECT ${due} AS due FROM tasks INDEXED BY ${index} WHERE ${where} AND ${due} IS NOT NULL ORDER BY ${due} LIMIT 1`,
      ),
    ]),
  )
  const attempt = reader.prepare('SELECT * FROM attempts WHERE id = ?')
  const attempts = reader.prepare('SELECT * FROM attempts WHERE task = ? ORDER BY number, opened_at, id')
  const settled = reader.prepare(
    `SELECT * FROM attempts WHERE state = ? AND (opened_at, id) < (?, ?) ORDER BY opened_at DESC, id DESC LIMIT ?`,
  )
  // SQLite uses a partial index only if the query has the same condition, word for word.
  const costly = (beyond: '<' | '>', order: 'ASC' | 'DESC') =>
    reader.prepare(
      `SELECT * FROM attempts INDEXED BY attempts_state
       WHERE state IN ('open', 'abandoned', 'orphan') AND state = ? AND (opened_at, id) ${beyond} (?, ?)
       ORDER BY opened_at ${order}, id ${order} LIMIT ?`,
    )
  const byState = { open: costly('>', 'ASC'), abandoned: costly('<', 'DESC'), orphan: costly('<', 'DESC') }
  const bound = reader.prepare(
    `SELECT operation FROM attempts INDEXED BY attempts_operation
     WHERE account = ? AND operation IS NOT NULL AND operation IN (SELECT value FROM json_each(?))`,
  )
  const rivalsIn = (state: 'open' | 'abandoned') =>
    `SELECT attempts.id, tasks.prompt FROM attempts INDEXED BY attempts_state LEFT JOIN tasks ON tasks.id = attempts.task
     WHERE attempts.state IN ('open', 'abandoned', 'orphan') AND attempts.state = '${state}'
       AND attempts.account = :account AND attempts.task <> :task`
  const rivals = reader.prepare(
    `${rivalsIn('open')} UNION ALL ${rivalsIn('abandoned')} AND attempts.opened_at >= :since LIMIT :limit`,
  )
  const events = reader.prepare('SELECT at, name, detail FROM events WHERE task = ? ORDER BY number')
  const entries = reader.prepare(
    `SELECT ${entryColumns.join(', ')} FROM entries WHERE task = ? ORDER BY at, step, account`,
  )
  // By steps from one account to the next in the index: a DISTINCT would read all unfinished tasks.
  const nextAccount = reader.prepare(
    `SELECT account FROM tasks INDEXED BY tasks_work
     WHERE state IN ('held', 'running', 'storing') AND account > ? ORDER BY account LIMIT 1`,
  )
  const unfinished = reader.prepare(
    `SELECT count(*) AS count FROM tasks INDEXED BY tasks_work
     WHERE state IN ('held', 'running', 'storing') AND account = ?`,
  )
  const durations = reader.prepare(
    `SELECT card, completed_at - started_at AS took FROM (SELECT * FROM tasks ORDER BY id DESC LIMIT 1000)
     WHERE state = 'completed' AND started_at IS NOT NULL ORDER BY id`,
  )
  const healths = reader.prepare('SELECT * FROM healths ORDER BY account')
  const countQueued = prepareQueued(reader)
  const spent = reader.prepare(
    `SELECT min(${largestTotal}, coalesce(
       (SELECT amount FROM spends WHERE scope = ?1 AND currency = ?2 AND period = ?3),
       (SELECT -sum(amount) FROM entries
        WHERE account = 'funds ' || ?1 AND currency = ?2 AND submitted_at >= ?4 AND submitted_at < ?5),
       0)) AS amount`,
  )

  return {
    read(owner, id) {
      const row = read.get(id, owner)
      return row && toView(row as unknown as SQLOutputValue[])
    },
    async find(id) {
      const row = find.get(id)
      return row && fromRow(row)
    },
    async findByKey(owner, key) {
      const row = findByKey.get(owner, key)
      return row && fromRow(row)
    },
    // With one writer thread no number becomes visible after a greater one.
    notices: async (after, _missing, limit) => notices.all(after, limit).map(toNotice),
    noticesOf: async (owner, after, limit) => noticesOf.all(owner, after, limit).map(toNotice),
    async noticeRange() {
      const { first, last } = noticeRange.get() ?? {}
      return { first: Number(first ?? 0), last: Number(last ?? 0) }
    },
    async list(owner, { after, limit, enoughBytes = Number.POSITIVE_INFINITY, order, status, model, ...pace }) {
      // Without a cursor a list begins before the first id, or after the last.
      const start = after ?? (order === 'asc' ? '' : '\u{10ffff}')
      if (status !== undefined || model !== undefined)
        return searchWindows(prepareWindow(reader, { owner, order, status, model }), start, {
          limit,
          enoughBytes,
          ...pace,
        })
      return readViews(listed[order], [owner, start], { limit, enoughBytes })
    },
    search: (wanted, step) => searchTasks(wanted, step, searchDialect(reader)),
    async repeats(owner, digest, since) {
      return repeats.all(owner, firstIdAt(since), digest).map(({ id }) => String(id))
    },
    async nextDue(lanes) {
      return lanes.map((lane) => {
        const row = dues[lane.state]?.get(...('account' in lane ? [lane.account] : []))
        return (row?.due as number | undefined) ?? undefined
      })
    },
    dueOwners: prepareDueOwners(reader),
    queueOf: prepareQueueOf(reader),
    usedSlots: prepareUsedSlots(reader),
    sumStored: prepareSumStored(reader),
    storedExpiries: prepareStoredExpiries(reader),
    countQueued: async (owner, most) => countQueued(owner, most),
    async spent({ scope, currency, period, starts, ends }) {
      return Number(spent.get(scope, currency, period, starts, ends)?.amount)
    },
    async currencies() {
      const rows = reader.prepare(currenciesStatement).all()
      return rows.map(({ currency }) => String(currency))
    },
    async attempt(id) {
      const row = attempt.get(id)
      return row && toAttempt(row)
    },
    attempts: async (task) => attempts.all(task).map(toAttempt),
    async attemptsIn(state, limit, after = state === 'open' ? beforeAll : afterAll) {
      const statement = state === 'open' || state === 'abandoned' || state === 'orphan' ? byState[state] : settled
      return statement.all(state, after.openedAt, after.id, limit).map(toAttempt)
    },
    async bound(account, operations) {
      const rows = bound.all(account, JSON.stringify(operations))
      return new Set(rows.map(({ operation }) => String(operation)))
    },
    rivals: async ({ task, account }, since, limit) => rivals.all({ task, account, since, limit }).map(toRival),
    events: async (task) => events.all(task).map(toEvent),
    entries: async (task) => entries.all(task).map(toEntry),
    async accountsInUse() {
      const names: string[] = []
      for (let row = nextAccount.get(''); row; row = nextAccount.get(String(row.account)))
        names.push(String(row.account))
      return names
    },
    unfinishedOf: async (account) => Number(unfinished.get(account)?.count),
    durations: async () => toDurations(durations.all()),
    healths: async () => mapReadable(healths.all(), toHealth),
  }
}

/** Where lists of attempts begin. */
const beforeAll = { openedAt: -1, id: '' }
const afterAll = { openedAt: Number.MAX_SAFE_INTEGER, id: '' }

function listStatement(beyond: '<' | '>', order: 'ASC' | 'DESC'): string {
  return `SELECT ${viewColumns.join(', ')} FROM tasks INDEXED BY tasks_owner
    WHERE owner = ? AND id ${beyond} ? AND deleted_at IS NULL ORDER BY id ${order} LIMIT ?`
}

/** By steps from one owner to the next in the index. */
function prepareDueOwners(reader: DatabaseSync): Store['dueOwners'] {
  const next = prepareForLanes(
    reader,
    (from) => `SELECT owner, due_at FROM tasks ${from} AND owner > :after AND due_at IS NOT NULL
      ORDER BY owner, due_at LIMIT 1`,
  )
  return async (lane, now) => {
    const account = accountOfLane(lane)
    const due: { owner: string; dueAt: number }[] = []
    const after = (owner: string) => next[lane.state].get({ account, after: owner })
    for (let row = after(''); row; row = after(String(row.owner)))
      if (Number(row.due_at) <= now) due.push({ owner: String(row.owner), dueAt: Number(row.due_at) })
    return due.sort((one, other) => one.dueAt - other.dueAt).map(({ owner }) => owner)
  }
}

/** Counts in an index. */
function prepareUsedSlots(reader: DatabaseSync): Store['usedSlots'] {
  const used = reader.prepare('SELECT count(*) AS used FROM slots WHERE scope = ?')
  return async (accounts) => accounts.reduce((sum, name) => sum + Number(used.get(accountScope(name))?.used), 0)
}

/** In an index that has only the tasks with bytes. */
function prepareSumStored(reader: DatabaseSync): Store['sumStored'] {
  const prepare = (after: string) =>
    reader.prepare(
      `WITH page AS MATERIALIZED (
         SELECT owner, id, stored_bytes FROM tasks INDEXED BY tasks_stored
         WHERE stored_bytes IS NOT NULL AND ${after} ORDER BY owner, id LIMIT ?3
       )
       SELECT owner, id, (SELECT sum(stored_bytes) FROM page) AS bytes, (SELECT count(*) FROM page) AS found
       FROM page ORDER BY owner DESC, id DESC LIMIT 1`,
    )
  const sums = { owner: prepare('owner = ?1 AND id > ?2'), all: prepare('(owner, id) > (?1, ?2)') }
  return async (of, { owner, id }, limit) => toStoredStep(sums[of].get(owner, id, limit), limit)
}

/** In the same index. `expires_at` is read from the rows. */
function prepareStoredExpiries(reader: DatabaseSync): Store['storedExpiries'] {
  const step = reader.prepare(
    `WITH page AS MATERIALIZED (
       SELECT owner, id, stored_bytes, expires_at FROM tasks INDEXED BY tasks_stored
       WHERE stored_bytes IS NOT NULL AND (owner, id) > (?1, ?2) ORDER BY owner, id LIMIT ?3
     ), final AS (SELECT owner, id FROM page ORDER BY owner DESC, id DESC LIMIT 1)
     SELECT expires_at / 3600000 AS hour, count(*) AS tasks, sum(stored_bytes) AS bytes, (SELECT count(*) FROM page) AS found,
       (SELECT owner FROM final) AS owner, (SELECT id FROM final) AS id
     FROM page GROUP BY 1`,
  )
  return async ({ owner, id }, limit) => toExpiryStep(step.all(owner, id, limit), limit)
}

/** The queued tasks of a card in the order of their turns. One statement reads all queues, as it runs on the main thread. */
function prepareQueueOf(reader: DatabaseSync): Reads['queueOf'] {
  const queuesIn = prepareQueues(reader)
  // A task under lease is about to be sent, and no longer waits.
  const lines = reader.prepare(
    `SELECT (SELECT json_group_array(id) FROM (
       SELECT id FROM tasks INDEXED BY tasks_queue
       WHERE state = 'queued' AND card = ?1 AND owner = asked.value AND due_at IS NOT NULL AND leased = 0
         AND deleted_at IS NULL
       ORDER BY due_at LIMIT ?3
     )) AS ids FROM json_each(?2) AS asked ORDER BY asked.key`,
  )
  return async (card, limit, round) => {
    // Each of these has a task, so the owners behind them are beyond the limit.
    const owners = [...queuesIn(round, limit)].map(({ owner }) => owner)
    return interleaveQueues(owners, limit, async (each) =>
      lines.all(card, JSON.stringify(owners), each).map(({ ids }) => JSON.parse(String(ids)) as string[]),
    )
  }
}

/**
 * The rows of a statement that returns arrays and has its limit as the last parameter. It reads row by row and stops in
 * time: a hundred prompts of 32 000 CJK characters would take 60 ms of this thread.
 */
function readViews(
  statement: StatementSync,
  values: readonly SQLInputValue[],
  { limit, enoughBytes }: PageLimits,
): TaskView[] {
  const views: TaskView[] = []
  let [length, bytes, counted] = [0, 0, 0]
  for (const row of statement.iterate(...values, limit)) {
    const view = toView(row as unknown as unknown[])
    views.push(view)
    length += view.prompt.length
    // The bytes of short prompts are not counted, and those of long ones once.
    if (length * 3 < enoughBytes) continue
    bytes += promptBytes(views.slice(counted))
    counted = views.length
    if (bytes >= enoughBytes) break
  }
  return views
}

/** This many rows are read in a few milliseconds. */
const windowRows = 2_000

function searchDialect(reader: DatabaseSync): SearchDialect {
  return {
    query: async (text, values) => reader.prepare(text).all(...values),
    placeholder: () => '?',
    byOwner: 'INDEXED BY tasks_owner',
    contains: (column, part) => `instr(${column}, ${part}) > 0`,
    folded: (column) => `lower(${column})`,
  }
}

function prepareWindow(reader: DatabaseSync, { owner, order, status, model }: Filter): Window {
  const [beyond, upTo] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const from = 'FROM tasks INDEXED BY tasks_owner WHERE owner = ? AND deleted_at IS NULL AND'
  const end = reader.prepare(`SELECT id ${from} id ${beyond} ? ORDER BY id ${order} LIMIT 1 OFFSET ${windowRows - 1}`)
  const fits = [...(status ? [statusConditions[status]] : []), ...(model === undefined ? [] : ['model = ?'])]
  const fitting = reader.prepare(
    `SELECT ${viewColumns.join(', ')} ${from} ${[`id ${beyond} ? AND id ${upTo} ?`, ...fits].join(' AND ')}
     ORDER BY id ${order} LIMIT ?`,
  )
  fitting.setReturnArrays(true)
  return {
    end: async (after) => end.get(owner, after)?.id as string | undefined,
    async fitting(after, last, most) {
      const bound = last ?? (order === 'asc' ? '\u{10ffff}' : '')
      return readViews(fitting, [owner, after, bound, ...(model === undefined ? [] : [model])], most)
    },
  }
}
