import {
  deliveryColumns,
  endpointColumns,
  fromEndpoint,
  fromOutcome,
  mapReadable,
  toDelivery,
  toEndpoint,
} from '../../core/row.ts'
import { type DeliveryOutcome, deliveryStates, type Endpoint, longestWaitMs } from '../../core/webhook.ts'
import type { DeliveryStore, EndpointStore } from '../store.ts'
import { openBatches } from './batch.ts'
import { due } from './clock.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { endpointLock } from './migrate.ts'
import { anyOf } from './session.ts'

/** Many deliveries may wait. */
const longMs = 60_000
const claimMs = 3_000

const endpointNames = endpointColumns.join(', ')
const deliveryNames = deliveryColumns.join(', ')
/** After the last id: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** Endpoints of clients, and the deliveries to them. `announce` notifies all processes that something may be due. */
export function openWebhooks(database: Database, announce: () => void): EndpointStore & DeliveryStore {
  return { ...openEndpoints(database), ...openTries(database), ...openDeliveries(database, announce) }
}

function openEndpoints(database: Database): EndpointStore & Pick<DeliveryStore, 'dueEndpoints'> {
  return {
    async endpoints(owner, { after = end, limit }) {
      const text = `SELECT ${endpointNames} FROM endpoints WHERE owner = $1 AND id < $2 ORDER BY id DESC LIMIT $3`
      return mapReadable(await database.read(text, [owner, after, limit]), toEndpoint)
    },
    async endpoint(owner, id) {
      return mapReadable(await database.read(endpointStatement, [id, owner]), toEndpoint)[0]
    },
    insertEndpoint: (endpoint, most) => insertEndpoint(database, { endpoint, most }),
    updateEndpoint: (owner, id, change) =>
      database.write(async (query) => {
        const [was] = await query(`${endpointStatement} FOR NO KEY UPDATE`, [id, owner])
        if (!was) return undefined
        const endpoint = { ...toEndpoint(was), ...change }
        await query(updateEndpointStatement, [JSON.stringify([fromEndpoint(endpoint)])])
        return endpoint
      }),
    async deleteEndpoint(owner, id) {
      const text = 'DELETE FROM endpoints WHERE id = $1 AND owner = $2 RETURNING id'
      return (await database.run(text, [id, owner])).length === 1
    },
    async disableEndpoint(id, at, why) {
      const text = 'UPDATE endpoints SET disabled_at = $2, disabled_why = $3 WHERE id = $1 AND disabled_at IS NULL'
      await database.run(text, [id, at, why])
    },
    async dueEndpoints(now) {
      const rows = await database.read(waitingStatement, [now])
      const [isDue, isLater] = [rows.filter(({ id }) => id !== null), rows.find(({ id }) => id === null)]
      return { endpoints: mapReadable(isDue, toEndpoint), next: (isLater?.first_due as number | undefined) ?? null }
    },
  }
}

interface Insert {
  endpoint: Endpoint
  most: number
  isAgain?: boolean
}

/** One at a time, so that the count is right. It is repeated after a COMMIT without a response: the id stays the same. */
async function insertEndpoint(database: Database, { endpoint, most, isAgain = false }: Insert): Promise<boolean> {
  try {
    return await database.write(async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [endpointLock])
      const values = [JSON.stringify([fromEndpoint(endpoint)]), endpoint.owner, endpoint.id, most]
      return (await query(insertEndpointStatement, values)).length === 1
    })
  } catch (error) {
    if (!(error instanceof CommitUnknown) || isAgain) throw error
    return insertEndpoint(database, { endpoint, most, isAgain: true })
  }
}

const insertEndpointStatement = `INSERT INTO endpoints (${endpointNames})
  SELECT ${endpointNames} FROM json_populate_recordset(NULL::endpoints, $1)
  WHERE (SELECT count(*) FROM endpoints WHERE owner = $2 AND id <> $3) < $4
  ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id`

const endpointStatement = `SELECT ${endpointNames} FROM endpoints WHERE id = $1 AND owner = $2`

const fixed = ['id', 'owner', 'created_at']
const changeable = endpointColumns.filter((name) => !fixed.includes(name))
const updateEndpointStatement = `UPDATE endpoints SET ${changeable.map((name) => `${name} = made.${name}`).join(', ')}
  FROM json_populate_recordset(NULL::endpoints, $1) AS made WHERE endpoints.id = made.id`

/**
 * By steps from one endpoint to the next in the index. Endpoints with a due delivery come with all columns; of the
 * others only the time when the first one is due.
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

function openDeliveries(
  database: Database,
  announce: () => void,
): Omit<DeliveryStore, 'dueEndpoints' | 'claimDeliveries' | 'recordDelivery' | 'failDeliveries'> {
  return {
    async deliveries(endpoint, { after = end, limit, state }) {
      const states = state ? [state] : deliveryStates
      return mapReadable(await database.read(listStatement, [endpoint, after, limit, states]), toDelivery)
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

function openTries(database: Database): Pick<DeliveryStore, 'claimDeliveries' | 'recordDelivery' | 'failDeliveries'> {
  return {
    async claimDeliveries(wanted, now, leaseUntil) {
      const values = [wanted.map(({ endpoint }) => endpoint), wanted.map(({ limit }) => limit), now, leaseUntil]
      return mapReadable(await database.write((query) => query(claimStatement, values), claimMs), toDelivery)
    },
    recordDelivery: openBatches((outcomes: readonly DeliveryOutcome[]) => recordAll(database, outcomes)),
    async failDeliveries(endpoint, { now, error, limit }) {
      const tried = JSON.stringify([{ at: now, status: null, error, tookMs: 0 }])
      return (await database.run(failStatement, [endpoint, now, tried, limit])).length
    },
  }
}

/** An array, because PostgreSQL expects a tenth of all deliveries from a subquery, and would read the whole table. */
const claimStatement = `UPDATE deliveries SET fence = fence + 1, leased = true, due_at = $4 WHERE id = ANY(ARRAY(
    SELECT head.id FROM unnest($1::text[], $2::bigint[]) AS asked (endpoint, most), LATERAL (
      SELECT id FROM deliveries
      WHERE state = 'pending' AND deliveries.endpoint = asked.endpoint COLLATE "C" AND due_at <= ${due('$3')}
      ORDER BY due_at LIMIT asked.most FOR UPDATE SKIP LOCKED
    ) AS head
  )) RETURNING ${deliveryNames}`

const recordStatement = `UPDATE deliveries SET state = made.state, due_at = made.due_at, tries = made.tries,
    ended_at = made.ended_at, log = made.log, leased = false
  FROM json_populate_recordset(NULL::deliveries, $1) AS made
  WHERE deliveries.id = made.id AND deliveries.fence = made.fence AND deliveries.leased
    AND deliveries.id = ${anyOf('$2')} RETURNING deliveries.id`

async function recordAll(database: Database, outcomes: readonly DeliveryOutcome[]) {
  const rows = await database.run(recordStatement, [
    JSON.stringify(outcomes.map(fromOutcome)),
    outcomes.map(({ id }) => id),
  ])
  const written = new Set(rows.map(({ id }) => id))
  return outcomes.map(({ id }) => ({ value: written.has(id) }))
}

/** Not under lease. The holder of a lease that has ended died. */
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
 * If PostgreSQL expects that most deliveries have the requested state, it walks along the ids and skips the others.
 * Only the index of states has the order that these two statements ask for.
 */
const replayFailedStatement = `UPDATE deliveries SET ${again} WHERE id IN (
    SELECT id FROM deliveries
    WHERE endpoint = $1 AND (state, id) > ($5, $2) AND state <= $5
      AND (state = 'failed' OR tries > 0) AND ${free('$3')}
    ORDER BY state, id LIMIT $4 FOR UPDATE
  ) RETURNING id`

/** Reads each state by itself, and merges the results. */
const listStatement = `SELECT ${deliveryColumns.map((name) => `head.${name}`).join(', ')}
  FROM unnest($4::text[]) AS asked (state), LATERAL (
    SELECT ${deliveryNames} FROM deliveries
    WHERE endpoint = $1 AND (deliveries.state, id) < (asked.state, $2) AND deliveries.state >= asked.state
    ORDER BY deliveries.state DESC, id DESC LIMIT $3
  ) AS head ORDER BY id DESC LIMIT $3`

const trimStatement = `DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE ended_at IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2
  ) RETURNING id`

/** By steps from one endpoint to the next in the index, however many deliveries each has. */
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
  const rows = await database.read(`SELECT ${deliveryNames} FROM deliveries WHERE id = $1 AND endpoint = $2`, [
    id,
    endpoint,
  ])
  return mapReadable(rows, toDelivery)[0]
}

/** After a clock was set back. */
export async function repairDeliveryTimes(database: Database, now: number): Promise<void> {
  const text = "UPDATE deliveries SET due_at = $1 WHERE state = 'pending' AND NOT leased AND due_at > $2"
  await database.write((query) => query(text, [now, now + longestWaitMs]), longMs)
}
