import type { Lease } from '../../core/plan.ts'
import { columns, fromRow, mapReadable, toQueuedTask } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import { longestDelayMs } from '../../core/timing.ts'
import { cappedScopes, type Queue, type QueuedTask, takeInTurn } from '../../core/turns.ts'
import type { Claim, Lane, QueueClaim, SharedLane, Store } from '../store.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import { queueLock } from './migrate.ts'
import type { Query } from './session.ts'

type Claims = Pick<
  Store,
  'claim' | 'dueOwners' | 'claimShares' | 'claimQueued' | 'claimOne' | 'renew' | 'repairDueTimes'
>

/** A claim of a long queue takes longer than a read, and may wait for other claims. It must end before its leases do. */
const withinMs = 3_000

/** Rare, after a clock was set back: all unfinished tasks are rewritten. */
const repairMs = 60_000

const anyQueued = `SELECT FROM tasks WHERE state = 'queued' AND card = ANY($1) LIMIT 1`

const all = columns.join(', ')
const ofTasks = columns.map((name) => `tasks.${name}`).join(', ')

/** The condition of each lane, and the column that has the time when its tasks are due. */
export const lanes: Record<Lane['state'], { where: string; due: 'due_at' | 'start_by' }> = {
  fetching: { where: "state = 'fetching'", due: 'due_at' },
  completed: { where: "state = 'completed'", due: 'due_at' },
  failed: { where: "state = 'failed'", due: 'due_at' },
  held: { where: "state = 'held' AND account = $1", due: 'due_at' },
  running: { where: "state = 'running' AND account = $1", due: 'due_at' },
  storing: { where: "state = 'storing' AND account = $1", due: 'due_at' },
  // Tasks that wait for a slot or a later try past `startBy`. A task that is being submitted is left alone.
  overdue: { where: "state = 'queued' AND NOT leased", due: 'start_by' },
}

export function openClaims(database: Database): Claims {
  return {
    async claim(wanted) {
      const rows = await database.write(async (query) => {
        if (wanted.state === 'overdue') await release(query, wanted.now)
        return query(claimStatement(wanted), [
          'account' in wanted ? wanted.account : '',
          wanted.now,
          wanted.limit,
          wanted.leaseUntil,
        ])
      }, withinMs)
      return mapReadable(rows, fromRow)
    },
    async dueOwners(lane, now) {
      const rows = await database.read(ownersStatement(lane), [accountOfLane(lane), now])
      return rows.map(({ owner }) => String(owner))
    },
    async claimShares(lane, shares, { now, leaseUntil }) {
      const [owners, limits] = [shares.map(({ owner }) => owner), shares.map(({ limit }) => limit)]
      const values = [accountOfLane(lane), now, leaseUntil, owners, limits]
      return mapReadable(await database.write((query) => query(sharesStatement(lane), values), withinMs), fromRow)
    },
    async claimQueued(wanted) {
      // Without a free account or a queued task the lock that all processes share is skipped.
      const cards = wanted.cards.filter(({ accounts }) => accounts.length > 0).map(({ card }) => card)
      const [any] = cards.length > 0 ? await database.read(anyQueued, [cards]) : []
      if (!any) return { tasks: [], nextDue: null }
      return database.write((query) => takeQueued(query, wanted), withinMs)
    },
    async claimOne(id, state, leaseUntil) {
      const rows = await database.run(
        `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3
         WHERE id = $1 AND state = $2 AND NOT leased AND deleted_at IS NULL RETURNING ${all}`,
        [id, state, leaseUntil],
      )
      return mapReadable(rows, fromRow)[0]
    },
    async renew(leases, leaseUntil) {
      const rows = await renew(database.run, leases, leaseUntil)
      const kept = new Map(rows.map(({ id, fence }) => [id, fence]))
      return leases.filter(({ id, fence }) => kept.get(id) !== fence)
    },
    async repairDueTimes(now) {
      await database.write(async (query) => {
        // One statement for each index.
        for (const states of ["state = 'fetching'", "state = 'queued'", "state IN ('held', 'running', 'storing')"])
          await query(`UPDATE tasks SET due_at = $1 WHERE ${states} AND NOT leased AND due_at > $2`, [
            now,
            now + longestDelayMs,
          ])
      }, repairMs)
    },
  }
}

/**
 * Deletes slots without a task that needs them. A change of rows by hand leaves them behind, and they would stay in use
 * for good. The lock protects slots that are just being booked.
 */
export async function tidySlots(query: Query): Promise<void> {
  await query('SELECT pg_advisory_xact_lock($1)', [queueLock])
  await query(`DELETE FROM slots WHERE NOT EXISTS (
    SELECT FROM tasks WHERE tasks.id = slots.task AND state IN ('queued', 'held', 'running'))`)
}

function claimStatement({ state }: Claim): string {
  const { where, due: column } = lanes[state]
  // `$1` must appear even if the lane has no account, so that it has a type.
  return `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $4
    WHERE id IN (
      SELECT id FROM tasks WHERE $1::text IS NOT NULL AND ${where} AND ${column} <= ${due('$2')}
      ORDER BY ${column} LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    RETURNING ${all}`
}

/** Releases tasks whose claimer ended before it opened an attempt, with their slots. */
async function release(query: Query, now: number): Promise<void> {
  await query(
    `WITH left_behind AS (
       UPDATE tasks SET leased = false WHERE state = 'queued' AND leased AND due_at <= ${due('$1')} RETURNING id
     )
     DELETE FROM slots WHERE task IN (SELECT id FROM left_behind)`,
    [now],
  )
}

function renew(query: Query, leases: readonly Lease[], leaseUntil: number) {
  return query(
    `UPDATE tasks SET due_at = $3 WHERE id IN (
       SELECT tasks.id FROM tasks JOIN unnest($1::text[], $2::bigint[]) AS held (id, fence)
         ON tasks.id = held.id AND tasks.fence = held.fence AND tasks.leased
       ORDER BY tasks.id FOR UPDATE OF tasks
     )
     RETURNING id, fence`,
    [leases.map(({ id }) => id), leases.map(({ fence }) => fence), leaseUntil],
  )
}

/** One process at a time, because free slots are counted and then booked. Independent statements are sent together. */
async function takeQueued(query: Query, wanted: QueueClaim): Promise<{ tasks: Task[]; nextDue: number | null }> {
  const cards = wanted.cards.map(({ card }) => card)
  const [, , queues] = await Promise.all([
    query('SELECT pg_advisory_xact_lock($1)', [queueLock]),
    release(query, wanted.now),
    findQueues(query, cards),
  ])
  const [heads, used] = await Promise.all([readHeads(query, queues, wanted), countSlots(query, wanted, queues)])
  const { taken, nextDue } = takeInTurn(
    queues,
    ({ card, owner }) => heads.get(`${card} ${owner}`) ?? [],
    (scope) => used.get(scope) ?? 0,
    wanted,
  )
  if (taken.length === 0) return { tasks: [], nextDue }
  const rows = await query(takeStatement, [
    taken.map(({ id }) => id),
    taken.map(({ account }) => account),
    wanted.leaseUntil,
  ])
  const got = new Map(mapReadable(rows, fromRow).map((task) => [task.id, task]))
  const slots = taken.flatMap(({ id, scopes }) => (got.has(id) ? scopes.map((scope) => ({ scope, task: id })) : []))
  const turn = Math.max(...queues.map(({ served }) => served))
  const served = new Map(taken.map(({ queue }, at) => [queue, turn + at + 1]))
  const turns = [...served].map(([{ card, owner }, served]) => ({ card, owner, served }))
  await Promise.all([query(slotStatement, [JSON.stringify(slots)]), query(turnStatement, [JSON.stringify(turns)])])
  return { tasks: taken.flatMap(({ id }) => got.get(id) ?? []), nextDue }
}

const takeStatement = `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3, account = taken.account
  FROM unnest($1::text[], $2::text[]) AS taken (id, account)
  WHERE tasks.id = taken.id AND state = 'queued' AND NOT leased RETURNING ${ofTasks}`

const slotStatement = `INSERT INTO slots (scope, task) SELECT scope, task FROM json_populate_recordset(NULL::slots, $1)
  ON CONFLICT DO NOTHING`

const turnStatement = `INSERT INTO turns (card, owner, served)
  SELECT card, owner, served FROM json_populate_recordset(NULL::turns, $1)
  ON CONFLICT (card, owner) DO UPDATE SET served = excluded.served`

/** More than one task of each queue: an owner that is alone may get all slots. */
async function readHeads(
  query: Query,
  queues: readonly Queue[],
  { limit }: QueueClaim,
): Promise<Map<string, QueuedTask[]>> {
  const each = Math.min(100, Math.max(8, Math.ceil((4 * limit) / Math.max(1, queues.length))))
  const rows = await query(
    `SELECT asked.card, asked.owner, head.* FROM unnest($1::text[], $2::text[]) AS asked (card, owner), LATERAL (
       SELECT id, due_at, tried FROM tasks
       WHERE state = 'queued' AND NOT leased AND card = asked.card COLLATE "C" AND owner = asked.owner COLLATE "C"
         AND due_at IS NOT NULL
       ORDER BY due_at LIMIT $3
     ) AS head ORDER BY head.due_at`,
    [queues.map(({ card }) => card), queues.map(({ owner }) => owner), each],
  )
  const byQueue = Map.groupBy(rows, ({ card, owner }) => `${card} ${owner}`)
  return new Map([...byQueue].map(([queue, heads]) => [queue, heads.map(toQueuedTask)]))
}

/** Counts no further than the cap. */
async function countSlots(query: Query, wanted: QueueClaim, queues: readonly Queue[]): Promise<Map<string, number>> {
  const caps = cappedScopes(wanted, queues)
  const rows = await query(
    `SELECT scope, (SELECT count(*) FROM (
       SELECT FROM slots WHERE slots.scope = asked.scope COLLATE "C" LIMIT asked.cap
     ) AS taken) AS used FROM unnest($1::text[], $2::bigint[]) AS asked (scope, cap)`,
    [[...caps.keys()], [...caps.values()]],
  )
  return new Map(rows.map(({ scope, used }) => [String(scope), Number(used)]))
}

/** All queues, by steps from one (card, owner) to the next in the index, however many tasks each has. */
export async function findQueues(query: Query, cards: readonly string[]): Promise<Queue[]> {
  const rows = await query(
    `WITH RECURSIVE queues AS (
       SELECT first.* FROM unnest($1::text[]) AS asked (card), LATERAL (
         SELECT card, owner FROM tasks WHERE state = 'queued' AND tasks.card = asked.card COLLATE "C"
         ORDER BY card, owner LIMIT 1
       ) AS first
       UNION ALL
       SELECT next.* FROM queues, LATERAL (
         SELECT card, owner FROM tasks
         WHERE state = 'queued' AND tasks.card = queues.card AND tasks.owner > queues.owner
         ORDER BY card, owner LIMIT 1
       ) AS next
     )
     SELECT card, owner, coalesce(served, 0) AS served FROM queues LEFT JOIN turns USING (card, owner)`,
    [cards],
  )
  return rows.map(({ card, owner, served }) => ({ card: String(card), owner: String(owner), served: Number(served) }))
}

const accountOfLane = (lane: SharedLane) => ('account' in lane ? lane.account : '')

/** `$1` must appear even if the lane has no account, so that it has a type. */
const whereOf = ({ state }: SharedLane) => `$1::text IS NOT NULL AND ${lanes[state].where}`

/** By steps from one owner to the next in the index. */
function ownersStatement(lane: SharedLane): string {
  const first = (more: string) =>
    `SELECT owner, due_at FROM tasks WHERE ${whereOf(lane)} AND due_at IS NOT NULL ${more} ORDER BY owner, due_at LIMIT 1`
  return `WITH RECURSIVE waiting AS (
      (${first('')})
      UNION ALL
      SELECT next.* FROM waiting, LATERAL (${first('AND tasks.owner > waiting.owner')}) AS next
    )
    SELECT owner FROM waiting WHERE due_at <= ${due('$2')} ORDER BY due_at`
}

/** An array, because PostgreSQL expects a tenth of all tasks from a subquery, and would read the whole table. */
function sharesStatement(lane: SharedLane): string {
  return `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3 WHERE id = ANY(ARRAY(
      SELECT head.id FROM unnest($4::text[], $5::bigint[]) AS asked (owner, most), LATERAL (
        SELECT id FROM tasks
        WHERE ${whereOf(lane)} AND tasks.owner = asked.owner COLLATE "C" AND due_at <= ${due('$2')}
        ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
      ) AS head
    )) RETURNING ${columns.join(', ')}`
}
