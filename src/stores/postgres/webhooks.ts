import type { NoticeKind } from '../../core/notice.ts'
import { type Row, readable } from '../../core/row.ts'
import {
  type DeliveryOutcome,
  deliveryIdsFrom,
  type Endpoint,
  eventTypeOf,
  longestWaitMs,
  newDelivery,
} from '../../core/webhook.ts'
import {
  deliveryColumns,
  endpointColumns,
  fromDelivery,
  fromEndpoint,
  fromOutcome,
  toDelivery,
  toEndpoint,
  wants,
} from '../../core/webhook-row.ts'
import type { Store } from '../store.ts'
import { openBatches } from './batch.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { endpointLock } from './migrate.ts'
import type { Query } from './session.ts'

type Webhooks = Pick<Store, 'endpoints' | 'endpoint' | 'insertEndpoint' | 'updateEndpoint' | 'deleteEndpoint'> &
  Pick<Store, 'disableEndpoint' | 'dueEndpoints' | 'claimDeliveries' | 'recordDelivery' | 'failDeliveries'> &
  Pick<Store, 'deliveries' | 'delivery' | 'replay' | 'replayFailed' | 'trimDeliveries'>

/** All the deliveries of an endpoint may be many. */
const longMs = 60_000
const claimMs = 3_000

const endpoint = endpointColumns.join(', ')
const all = deliveryColumns.join(', ')
/** After the last of all ids: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** Endpoints and their deliveries. `wake` tells everybody that something may be due. */
export function openWebhooks(database: Database, wake: () => void): Webhooks {
  const recordOne = openBatches((outcomes: readonly DeliveryOutcome[]) => recordAll(database, outcomes))
  return {
    async endpoints(owner, { after = end, limit }) {
      const text = `SELECT ${endpoint} FROM endpoints WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3`
      return readable(await database.read(text, [owner, after, limit]), toEndpoint)
    },
    async endpoint(owner, id) {
      return readable(await database.read(oneStatement, [id, owner]), toEndpoint)[0]
    },
    insertEndpoint: (made, most) => insert(database, made, most),
    updateEndpoint: (owner, id, change) =>
      database.write(async (query) => {
        const [was] = await query(`${oneStatement} FOR NO KEY UPDATE`, [id, owner])
        if (!was) return undefined
        const endpoint = { ...toEndpoint(was), ...change }
        await query(updateStatement, [JSON.stringify([fromEndpoint(endpoint)])])
        return endpoint
      }),
    deleteEndpoint: (owner, id) =>
      database.write(async (query) => {
        const rows = await query('DELETE FROM endpoints WHERE id = $1 AND owner = $2 RETURNING id', [id, owner])
        if (rows.length === 1) await query('DELETE FROM deliveries WHERE endpoint = $1', [id])
        return rows.length === 1
      }, longMs),
    async disableEndpoint(id, at, why) {
      const text = 'UPDATE endpoints SET disabled_at = $2, disabled_why = $3 WHERE id = $1 AND disabled_at IS NULL'
      await database.run(text, [id, at, why])
    },
    async dueEndpoints(now) {
      const rows = await database.read(waitingStatement, [now])
      const [isDue, isLater] = [rows.filter(({ id }) => id !== null), rows.find(({ id }) => id === null)]
      return { endpoints: readable(isDue, toEndpoint), next: (isLater?.first_due as number | undefined) ?? null }
    },
    async claimDeliveries(wanted, now, leaseUntil) {
      const values = [wanted.map(({ endpoint }) => endpoint), wanted.map(({ limit }) => limit), now, leaseUntil]
      return readable(await database.write((query) => query(claimStatement, values), claimMs), toDelivery)
    },
    recordDelivery: recordOne,
    async failDeliveries(endpoint, now, error, limit) {
      const tried = JSON.stringify([{ at: now, status: null, error, tookMs: 0 }])
      return (await database.run(failStatement, [endpoint, now, tried, limit])).length
    },
    async deliveries(
      endpoint,
      { after = end, limit, state = null }: { after?: string; limit: number; state?: unknown },
    ) {
      const rows = await database.read(listStatement, [endpoint, after, limit, state])
      return readable(rows, toDelivery)
    },
    delivery: (endpoint, id) => find(database, endpoint, id),
    async replay(endpoint, id, now) {
      await database.run(`UPDATE deliveries SET ${again('$3')} WHERE id = $1 AND endpoint = $2 AND NOT leased`, [
        id,
        endpoint,
        now,
      ])
      wake()
      return find(database, endpoint, id)
    },
    async replayFailed(endpoint, since, now, limit) {
      const rows = await database.run(replayStatement, [endpoint, deliveryIdsFrom(since), now, limit])
      wake()
      return rows.length
    },
    async trimDeliveries(before, limit) {
      return (await database.run(trimStatement, [before, limit])).length
    },
  }
}

/** One at a time, so that the count holds. A COMMIT of which nobody heard is repeated: the id tells that it is there. */
async function insert(database: Database, made: Endpoint, most: number, isAgain = false): Promise<boolean> {
  try {
    return await database.write(async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [endpointLock])
      const values = [JSON.stringify([fromEndpoint(made)]), made.owner, made.id, most]
      return (await query(insertStatement, values)).length === 1
    })
  } catch (error) {
    if (!(error instanceof CommitUnknown) || isAgain) throw error
    return insert(database, made, most, true)
  }
}

const insertStatement = `INSERT INTO endpoints (${endpoint})
  SELECT ${endpoint} FROM json_populate_recordset(NULL::endpoints, $1)
  WHERE (SELECT count(*) FROM endpoints WHERE owner = $2 AND id <> $3) < $4
  ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id`

const oneStatement = `SELECT ${endpoint} FROM endpoints WHERE id = $1 AND owner = $2`

const fixed = ['id', 'owner', 'created_at']
const changeable = endpointColumns.filter((name) => !fixed.includes(name))
const updateStatement = `UPDATE endpoints SET ${changeable.map((name) => `${name} = made.${name}`).join(', ')}
  FROM json_populate_recordset(NULL::endpoints, $1) AS made WHERE endpoints.id = made.id`

/**
 * From one to the next in the index. Those that are due come with all that is needed to send; of the others, only when
 * the first of them is.
 */
const waitingStatement = `WITH RECURSIVE waiting AS (
    (SELECT endpoint, due_at FROM deliveries WHERE state = 'pending' ORDER BY endpoint, due_at LIMIT 1)
    UNION ALL
    SELECT next.* FROM waiting, LATERAL (
      SELECT endpoint, due_at FROM deliveries WHERE state = 'pending' AND deliveries.endpoint > waiting.endpoint
      ORDER BY endpoint, due_at LIMIT 1
    ) AS next
  )
  SELECT ${endpointColumns.map((name) => `endpoints.${name}`).join(', ')}, waiting.due_at AS first_due
  FROM waiting JOIN endpoints ON endpoints.id = waiting.endpoint WHERE waiting.due_at <= ${due('$1')}
  UNION ALL
  SELECT ${endpointColumns.map(() => 'NULL').join(', ')}, min(due_at) FROM waiting WHERE due_at > ${due('$1')}
  ORDER BY first_due`

const claimStatement = `UPDATE deliveries SET fence = fence + 1, leased = true, due_at = $4 WHERE id IN (
    SELECT head.id FROM unnest($1::text[], $2::bigint[]) AS asked (endpoint, most), LATERAL (
      SELECT id FROM deliveries
      WHERE state = 'pending' AND deliveries.endpoint = asked.endpoint COLLATE "C" AND due_at <= ${due('$3')}
      ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
    ) AS head
  ) RETURNING ${all}`

const recordStatement = `UPDATE deliveries SET state = made.state, due_at = made.due_at, tries = made.tries,
    ended_at = made.ended_at, log = made.log, leased = false
  FROM json_populate_recordset(NULL::deliveries, $1) AS made
  WHERE deliveries.id = made.id AND deliveries.fence = made.fence AND deliveries.leased RETURNING deliveries.id`

async function recordAll(database: Database, outcomes: readonly DeliveryOutcome[]) {
  const rows = await database.run(recordStatement, [JSON.stringify(outcomes.map(fromOutcome))])
  const written = new Set(rows.map(({ id }) => id))
  return outcomes.map(({ id }) => ({ value: written.has(id) }))
}

const failStatement = `UPDATE deliveries SET state = 'failed', due_at = NULL, ended_at = $2,
    log = (log::jsonb || $3::jsonb)::text
  WHERE id IN (
    SELECT id FROM deliveries WHERE state = 'pending' AND endpoint = $1 AND NOT leased LIMIT $4 FOR UPDATE SKIP LOCKED
  ) RETURNING id`

const again = (now: string) => `state = 'pending', due_at = ${now}, tries = 0, ended_at = NULL`

const replayStatement = `UPDATE deliveries SET ${again('$3')} WHERE id IN (
    SELECT id FROM deliveries WHERE endpoint = $1 AND id >= $2 AND state = 'failed' LIMIT $4 FOR UPDATE
  ) RETURNING id`

const listStatement = `SELECT ${all} FROM deliveries
  WHERE endpoint = $1 AND id < $2 AND ($4::text IS NULL OR state = $4) ORDER BY id DESC LIMIT $3`

const trimStatement = `DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE ended_at IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2
  ) RETURNING id`

async function find(database: Database, endpoint: string, id: string) {
  const rows = await database.read(`SELECT ${all} FROM deliveries WHERE id = $1 AND endpoint = $2`, [id, endpoint])
  return readable(rows, toDelivery)[0]
}

/**
 * The deliveries that notices bring about: who has no endpoint pays for one look into an index. The endpoints are
 * locked, so that none is deleted meanwhile and leaves deliveries behind.
 */
export async function deliveriesOf(query: Query, notices: readonly Row[]): Promise<Row[]> {
  const ends = notices.flatMap(({ owner, task, at, kind }) => {
    const type = eventTypeOf(kind as NoticeKind)
    return type ? [{ owner: String(owner), task: String(task), at: at as number, type }] : []
  })
  if (ends.length === 0) return []
  const owners = [...new Set(ends.map(({ owner }) => owner))]
  const rows = await query(
    'SELECT id, owner, event_types FROM endpoints WHERE owner = ANY($1) AND disabled_at IS NULL FOR KEY SHARE',
    [owners],
  )
  const byOwner = Map.groupBy(rows, ({ owner }) => String(owner))
  return ends.flatMap(({ owner, ...event }) =>
    (byOwner.get(owner) ?? [])
      .filter((row) => wants(row, event.type))
      .map(({ id }) => fromDelivery(newDelivery({ id: String(id), owner }, event))),
  )
}

/** After a clock was set back. */
export async function recoverDeliveries(database: Database, now: number): Promise<void> {
  const text = "UPDATE deliveries SET due_at = $1 WHERE state = 'pending' AND NOT leased AND due_at > $2"
  await database.write((query) => query(text, [now, now + longestWaitMs]), longMs)
}
