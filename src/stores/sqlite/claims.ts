import type { DatabaseSync } from 'node:sqlite'
import type { Lease } from '../../core/plan.ts'
import { columns, fromRow, mapReadable, toQueuedTask } from '../../core/row.ts'
import type { State, Task } from '../../core/task.ts'
import { longestDelayMs } from '../../core/timing.ts'
import { mostQueues, type Queue, type Stretch, type Turns, takeInTurn, withFreeSlots } from '../../core/turns.ts'
import type { Claim, Lane, OwnerClaim, QueueClaim, SharedLane } from '../store.ts'

/** Claims of tasks; runs in the writer thread, inside its transaction. */
export function prepareClaims(database: DatabaseSync) {
  const queue = prepareQueue(database)
  const renew = database.prepare('UPDATE tasks SET due_at = ? WHERE id = ? AND fence = ? AND leased = 1')
  const claims = Object.fromEntries(
    Object.entries(lanes).map(([state, where]) => [state, database.prepare(claimStatement(where))]),
  )
  const claimOne = database.prepare(
    `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?
     WHERE id = ? AND state = ? AND leased = 0 AND deleted_at IS NULL RETURNING ${columns.join(', ')}`,
  )
  const repair = database.prepare(repairStatement)
  return {
    ...prepareShares(database),
    claim(wanted: Claim): Task[] {
      const { state, now, leaseUntil, limit } = wanted
      const account = 'account' in wanted ? [wanted.account] : []
      if (state === 'overdue') queue.release(now)
      return mapReadable(claims[state]?.all(leaseUntil, ...account, now, limit) ?? [], fromRow)
    },
    claimQueued: (wanted: QueueClaim, round: readonly Stretch[]) => queue.claim(wanted, round),
    claimOne(id: string, state: State, leaseUntil: number): Task | null {
      return mapReadable(claimOne.all(leaseUntil, id, state), fromRow)[0] ?? null
    },
    renew(leases: readonly Lease[], leaseUntil: number): Lease[] {
      return leases.filter(({ id, fence }) => renew.run(leaseUntil, id, fence).changes === 0)
    },
    repairTaskTimes: (now: number) => void repair.run({ now, late: now + longestDelayMs }),
  }
}

/** Queued tasks, and the slots that they need. */
function prepareQueue(database: DatabaseSync) {
  const queuesIn = prepareQueues(database)
  const heads = database.prepare(
    `SELECT id, due_at, tried FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT ?`,
  )
  const take = database.prepare(
    `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?, account = ? WHERE id = ? RETURNING ${columns.join(', ')}`,
  )
  const used = prepareUsed(database)
  const book = database.prepare('INSERT INTO slots (scope, task) VALUES (?, ?)')
  const abandoned = "leased = 1 AND state = 'queued' AND due_at <= ?"
  const freeSlots = database.prepare(
    `DELETE FROM slots WHERE task IN (SELECT id FROM tasks INDEXED BY tasks_leased WHERE ${abandoned})`,
  )
  const endLeases = database.prepare(`UPDATE tasks INDEXED BY tasks_leased SET leased = 0 WHERE ${abandoned}`)

  /** Releases tasks whose claimer ended before it opened an attempt, with their slots. */
  function release(now: number): void {
    freeSlots.run(now)
    endLeases.run(now)
  }

  return {
    release,
    claim(wanted: QueueClaim, round: readonly Stretch[]): { tasks: Task[] } & Pick<Turns, 'nextDue' | 'served'> {
      release(wanted.now)
      const cards = new Set(withFreeSlots(wanted.cards, used).map(({ card }) => card))
      const turns = takeInTurn(
        queuesIn(
          round.filter(({ card }) => cards.has(card)),
          mostQueues(wanted),
        ),
        ({ card, owner }, count) => heads.all(card, owner, count).map(toQueuedTask),
        used,
        wanted,
      )
      const tasks = turns.taken.flatMap(({ id, account, scopes }) => {
        for (const scope of scopes) book.run(scope, id)
        return mapReadable(take.all(wanted.leaseUntil, account, id), fromRow)
      })
      return { tasks, nextDue: turns.nextDue, served: turns.served }
    },
  }
}

/**
 * How many slots of a scope are in use. Counted as they change, in memory: with 100 000 tasks in flight each claim would
 * count for milliseconds. Only for the connection that writes, as it sees no changes of others.
 */
function prepareUsed(database: DatabaseSync): (scope: string) => number {
  database.exec(`PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE slots_used (scope TEXT PRIMARY KEY, used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO slots_used SELECT scope, count(*) FROM slots GROUP BY scope;
    CREATE TEMP TRIGGER slot_taken AFTER INSERT ON slots BEGIN
      INSERT INTO slots_used VALUES (NEW.scope, 1) ON CONFLICT (scope) DO UPDATE SET used = used + 1;
    END;
    CREATE TEMP TRIGGER slot_freed AFTER DELETE ON slots BEGIN
      UPDATE slots_used SET used = used - 1 WHERE scope = OLD.scope;
    END`)
  const used = database.prepare('SELECT used FROM slots_used WHERE scope = ?')
  return (scope) => Number(used.get(scope)?.used ?? 0)
}

/** The next queues of the round, by steps from one owner to the next in the index. */
export function prepareQueues(database: DatabaseSync) {
  const next = database.prepare(
    `SELECT owner, ?3 IS NULL OR owner <= ?3 AS inside FROM (
       SELECT owner FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card = ?1 AND owner > ?2
       ORDER BY owner LIMIT 1
     )`,
  )
  return function* (round: readonly Stretch[], most: number): Generator<Queue> {
    let count = 0
    for (const { card, after, until } of round)
      for (let row = next.get(card, after, until); row?.inside; row = next.get(card, String(row.owner), until)) {
        yield { card, owner: String(row.owner) }
        count += 1
        if (count === most) return
      }
  }
}

/** The index and condition of each shared lane; `account` is empty if the lane has no account. */
const sharedLanes: Record<SharedLane['state'], string> = {
  fetching: "INDEXED BY tasks_fetching WHERE state = 'fetching' AND :account = ''",
  storing: "INDEXED BY tasks_storing WHERE state = 'storing' AND account = :account",
}

export const accountOfLane = (lane: SharedLane) => ('account' in lane ? lane.account : '')

export function prepareForLanes(database: DatabaseSync, statement: (from: string) => string) {
  const { fetching, storing } = sharedLanes
  return { fetching: database.prepare(statement(fetching)), storing: database.prepare(statement(storing)) }
}

function prepareShares(database: DatabaseSync) {
  const claims = prepareForLanes(
    database,
    (from) => `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = :leaseUntil WHERE id IN (
      SELECT id FROM tasks ${from} AND owner = :owner AND due_at <= :now ORDER BY due_at LIMIT :limit
    ) RETURNING ${columns.join(', ')}`,
  )
  return {
    claimShares(lane: SharedLane, shares: readonly OwnerClaim[], times: { now: number; leaseUntil: number }): Task[] {
      const account = accountOfLane(lane)
      return shares.flatMap((share) => mapReadable(claims[lane.state].all({ account, ...share, ...times }), fromRow))
    },
  }
}

/** SQLite uses a partial index only if the query has the same condition, word for word. */
const partial = {
  tasks_due: "state IN ('fetching', 'completed', 'failed')",
  tasks_work: "state IN ('held', 'running', 'storing')",
}

/** The index and condition of each lane, and the column that has the time when its tasks are due. */
export const lanes: Record<Lane['state'], { index: string; where: string; due: string }> = {
  fetching: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'fetching'`, due: 'due_at' },
  completed: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'completed'`, due: 'due_at' },
  failed: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'failed'`, due: 'due_at' },
  held: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'held' AND account = ?`, due: 'due_at' },
  running: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'running' AND account = ?`, due: 'due_at' },
  storing: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'storing' AND account = ?`, due: 'due_at' },
  // Tasks that wait for a slot or a later try past `startBy`. A task that is being submitted is left alone.
  overdue: { index: 'tasks_start', where: "state = 'queued' AND leased = 0", due: 'start_by' },
}

/** Decided in the indexes: they have `due_at`, and hundreds of thousands of tasks may be queued. */
const repairStatement = `
  UPDATE tasks SET due_at = :now WHERE leased = 0 AND rowid IN (
    SELECT rowid FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' AND due_at > :late
    UNION ALL SELECT rowid FROM tasks INDEXED BY tasks_due WHERE ${lanes.fetching.where} AND due_at > :late
    UNION ALL SELECT rowid FROM tasks INDEXED BY tasks_work WHERE ${partial.tasks_work} AND due_at > :late)`

function claimStatement({ index, where, due }: { index: string; where: string; due: string }): string {
  return `
    UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?
    WHERE id IN (
      SELECT id FROM tasks INDEXED BY ${index} WHERE ${where} AND ${due} <= ? ORDER BY ${due} LIMIT ?
    )
    RETURNING ${columns.join(', ')}`
}
