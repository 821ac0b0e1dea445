import type { Lease } from '../../core/plan.ts'
import { columns, fromRow, mapReadable } from '../../core/row.ts'
import { longestDelayMs } from '../../core/timing.ts'
import type { Claim, Lane, SharedLane, Store } from '../store.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import type { Query } from './session.ts'

type Claims = Pick<Store, 'claim' | 'dueOwners' | 'claimShares' | 'claimOne' | 'renew' | 'repairDueTimes'>

/** A claim takes longer than a read. It must end before its leases do. */
const withinMs = 3_000

/** Rare, after a clock was set back: all unfinished tasks are rewritten. */
const repairMs = 60_000

const all = columns.join(', ')

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

/** True of every task. A statement that reads tasks of all owners by time needs it, to use the index of that time. */
export const byTime = 'created_at >= 0'

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
          await query(`UPDATE tasks SET due_at = $1 WHERE ${states} AND ${byTime} AND NOT leased AND due_at > $2`, [
            now,
            now + longestDelayMs,
          ])
      }, repairMs)
    },
  }
}

/**
 * Deletes slots without a task that needs them. A change of rows by hand leaves them behind, and they would stay in use
 * for good. A slot that is just being booked is not visible yet.
 */
export async function tidySlots(query: Query): Promise<void> {
  await query(`DELETE FROM slots WHERE NOT EXISTS (
    SELECT FROM tasks WHERE tasks.id = slots.task AND state IN ('queued', 'held', 'running'))`)
}

/** An array, because PostgreSQL expects a tenth of all tasks from a subquery, and would read the whole table. */
function claimStatement({ state }: Claim): string {
  const { where, due: column } = lanes[state]
  // `$1` must appear even if the lane has no account, so that it has a type.
  return `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $4
    WHERE id = ANY(ARRAY(
      SELECT id FROM tasks WHERE $1::text IS NOT NULL AND ${where} AND ${byTime} AND ${column} <= ${due('$2')}
      ORDER BY ${column} LIMIT $3 FOR UPDATE SKIP LOCKED
    ))
    RETURNING ${all}`
}

/** Tasks whose claimer ended before it opened an attempt. */
export const leftBehind = (now: string) => `state = 'queued' AND leased AND due_at <= ${due(now)}`

/** Releases them, with their slots. Waits for no other process. */
export async function release(query: Query, now: number): Promise<void> {
  await query(
    `WITH left_behind AS (
       UPDATE tasks SET leased = false WHERE id = ANY(ARRAY(
         SELECT id FROM tasks WHERE ${leftBehind('$1')} FOR UPDATE SKIP LOCKED
       )) RETURNING id
     )
     DELETE FROM slots WHERE task IN (SELECT id FROM left_behind)`,
    [now],
  )
}

function renew(query: Query, leases: readonly Lease[], leaseUntil: number) {
  return query(
    `UPDATE tasks SET due_at = $3 WHERE id = ANY(ARRAY(
       SELECT tasks.id FROM tasks JOIN unnest($1::text[], $2::bigint[]) AS held (id, fence)
         ON tasks.id = held.id AND tasks.fence = held.fence AND tasks.leased
       ORDER BY tasks.id FOR UPDATE OF tasks
     ))
     RETURNING id, fence`,
    [leases.map(({ id }) => id), leases.map(({ fence }) => fence), leaseUntil],
  )
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

/** An array, as above. */
function sharesStatement(lane: SharedLane): string {
  return `UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3 WHERE id = ANY(ARRAY(
      SELECT head.id FROM unnest($4::text[], $5::bigint[]) AS asked (owner, most), LATERAL (
        SELECT id FROM tasks
        WHERE ${whereOf(lane)} AND tasks.owner = asked.owner COLLATE "C" AND due_at <= ${due('$2')}
        ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
      ) AS head
    )) RETURNING ${columns.join(', ')}`
}
