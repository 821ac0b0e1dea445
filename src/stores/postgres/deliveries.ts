import type { NoticeKind } from '../../core/notice.ts'
import { type Row, readable } from '../../core/row.ts'
import { type DeliveryOutcome, deliveryStates, eventTypeOf, longestWaitMs, newDelivery } from '../../core/webhook.ts'
import { deliveryColumns, fromDelivery, fromOutcome, toDelivery, wants } from '../../core/webhook-row.ts'
import type { Store } from '../store.ts'
import { openBatches } from './batch.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import type { Query } from './session.ts'

type Deliveries = Pick<Store, 'claimDeliveries' | 'recordDelivery' | 'failDeliveries' | 'deliveries' | 'delivery'> &
  Pick<Store, 'replay' | 'replayFailed' | 'trimDeliveries' | 'trimStrayDeliveries'>

/** All that wait may be many. */
const longMs = 60_000
const claimMs = 3_000

const all = deliveryColumns.join(', ')
/** After the last of all ids: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** What is on its way to endpoints. `announce` tells everybody that something may be due. */
export function openDeliveries(database: Database, announce: () => void): Deliveries {
  return {
    ...openTries(database),
    async deliveries(endpoint, { after = end, limit, state }) {
      const states = state ? [state] : deliveryStates
      return readable(await database.read(listStatement, [endpoint, after, limit, states]), toDelivery)
    },
    delivery: (endpoint, id) => find(database, endpoint, id),
    async replay(endpoint, id, now) {
      await database.run(replayStatement, [id, endpoint, now])
      announce()
      return find(database, endpoint, id)
    },
    async replayFailed(endpoint, { state, after, now, limit }) {
      const rows = await database.run(replayFailedStatement, [endpoint, after, now, limit, state])
      announce()
      return rows.map(({ id }) => String(id)).sort()
    },
    async trimDeliveries(before, limit) {
      return (await database.run(trimStatement, [before, limit])).length
    },
    async trimStrayDeliveries(limit) {
      return (await database.run(trimStrayStatement, [limit])).length
    },
  }
}

function openTries(database: Database): Pick<Store, 'claimDeliveries' | 'recordDelivery' | 'failDeliveries'> {
  return {
    async claimDeliveries(wanted, now, leaseUntil) {
      const values = [wanted.map(({ endpoint }) => endpoint), wanted.map(({ limit }) => limit), now, leaseUntil]
      return readable(await database.write((query) => query(claimStatement, values), claimMs), toDelivery)
    },
    recordDelivery: openBatches((outcomes: readonly DeliveryOutcome[]) => recordAll(database, outcomes)),
    async failDeliveries(endpoint, { now, error, limit }) {
      const tried = JSON.stringify([{ at: now, status: null, error, tookMs: 0 }])
      return (await database.run(failStatement, [endpoint, now, tried, limit])).length
    },
  }
}

/** An array, not a subquery: PostgreSQL would expect a tenth of all deliveries to come from that, and read the whole table. */
const claimStatement = `UPDATE deliveries SET fence = fence + 1, leased = true, due_at = $4 WHERE id = ANY(ARRAY(
    SELECT head.id FROM unnest($1::text[], $2::bigint[]) AS asked (endpoint, most), LATERAL (
      SELECT id FROM deliveries
      WHERE state = 'pending' AND deliveries.endpoint = asked.endpoint COLLATE "C" AND due_at <= ${due('$3')}
      ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
    ) AS head
  )) RETURNING ${all}`

const recordStatement = `UPDATE deliveries SET state = made.state, due_at = made.due_at, tries = made.tries,
    ended_at = made.ended_at, log = made.log, leased = false
  FROM json_populate_recordset(NULL::deliveries, $1) AS made
  WHERE deliveries.id = made.id AND deliveries.fence = made.fence AND deliveries.leased RETURNING deliveries.id`

async function recordAll(database: Database, outcomes: readonly DeliveryOutcome[]) {
  const rows = await database.run(recordStatement, [JSON.stringify(outcomes.map(fromOutcome))])
  const written = new Set(rows.map(({ id }) => id))
  return outcomes.map(({ id }) => ({ value: written.has(id) }))
}

/** A lease that has ended is nobody's: its holder died. */
const free = (now: string) => `(NOT leased OR due_at <= ${due(now)})`

const failStatement = `UPDATE deliveries SET state = 'failed', due_at = NULL, ended_at = $2, leased = false,
    log = (log::jsonb || $3::jsonb)::text
  WHERE id IN (
    SELECT id FROM deliveries WHERE state = 'pending' AND endpoint = $1 AND ${free('$2')} LIMIT $4
    FOR UPDATE SKIP LOCKED
  ) RETURNING id`

const again = "state = 'pending', due_at = $3, tries = 0, ended_at = NULL, leased = false"

const replayStatement = `UPDATE deliveries SET ${again} WHERE id = $1 AND endpoint = $2 AND ${free('$3')}`

/*
 * Where it thinks that most are of the state that is asked for, PostgreSQL walks along the ids, past all others. No index
 * but that of states has the order that both of these ask for.
 */
const replayFailedStatement = `UPDATE deliveries SET ${again} WHERE id IN (
    SELECT id FROM deliveries
    WHERE endpoint = $1 AND (state, id) > ($5, $2) AND state <= $5
      AND (state = 'failed' OR tries > 0) AND ${free('$3')}
    ORDER BY state, id LIMIT $4 FOR UPDATE
  ) RETURNING id`

/** One state after the other; what they come to is merged. */
const listStatement = `SELECT ${deliveryColumns.map((name) => `head.${name}`).join(', ')}
  FROM unnest($4::text[]) AS asked (state), LATERAL (
    SELECT ${all} FROM deliveries
    WHERE endpoint = $1 AND (deliveries.state, id) < (asked.state, $2) AND deliveries.state >= asked.state
    ORDER BY deliveries.state DESC, id DESC LIMIT $3
  ) AS head ORDER BY id DESC LIMIT $3`

const trimStatement = `DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE ended_at IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2
  ) RETURNING id`

/** From one endpoint to the next in the index, however many deliveries each has. */
const trimStrayStatement = `WITH RECURSIVE known (endpoint) AS (
    (SELECT endpoint FROM deliveries ORDER BY endpoint LIMIT 1)
    UNION ALL
    SELECT next.endpoint FROM known, LATERAL (
      SELECT endpoint FROM deliveries WHERE deliveries.endpoint > known.endpoint ORDER BY endpoint LIMIT 1
    ) AS next
  ), gone AS MATERIALIZED (
    SELECT endpoint FROM known WHERE NOT EXISTS (SELECT FROM endpoints WHERE endpoints.id = known.endpoint)
  )
  DELETE FROM deliveries WHERE id IN (
    SELECT stray.id FROM gone, LATERAL (
      SELECT id FROM deliveries WHERE deliveries.endpoint = gone.endpoint ORDER BY state, id LIMIT $1
      FOR UPDATE SKIP LOCKED
    ) AS stray LIMIT $1
  ) RETURNING id`

async function find(database: Database, endpoint: string, id: string) {
  const rows = await database.read(`SELECT ${all} FROM deliveries WHERE id = $1 AND endpoint = $2`, [id, endpoint])
  return readable(rows, toDelivery)[0]
}

/**
 * The deliveries that notices bring about: who has no endpoint pays for one look into an index. One that is deleted
 * meanwhile leaves deliveries behind, which are dropped like all others of it.
 */
export async function deliveriesOf(query: Query, notices: readonly Row[]): Promise<Row[]> {
  const ends = notices.flatMap(({ owner, task, at, kind }) => {
    const type = eventTypeOf(kind as NoticeKind)
    return type ? [{ owner: String(owner), task: String(task), at: at as number, type }] : []
  })
  if (ends.length === 0) return []
  const owners = [...new Set(ends.map(({ owner }) => owner))]
  const text = 'SELECT id, owner, event_types FROM endpoints WHERE owner = ANY($1) AND disabled_at IS NULL'
  const byOwner = Map.groupBy(await query(text, [owners]), ({ owner }) => String(owner))
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
