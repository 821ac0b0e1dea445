import type { DatabaseSync } from 'node:sqlite'
import {
  deliveryColumns,
  endpointColumns,
  fromEndpoint,
  fromOutcome,
  mapReadable,
  toDelivery,
  toEndpoint,
} from '../../core/row.ts'
import {
  type DeliveryOutcome,
  deliveryStates,
  type Endpoint,
  type EndpointChange,
  longestWaitMs,
  type WebhookDelivery,
} from '../../core/webhook.ts'
import type { EndpointClaim, ReplayStep, Store } from '../store.ts'

const endpointNames = endpointColumns.join(', ')
const endpointMarks = endpointColumns.map((name) => `:${name}`).join(', ')
const deliveryNames = deliveryColumns.join(', ')
/** After the last id: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** Endpoints of clients, and the deliveries to them; runs in the writer thread, inside its transaction. */
export function prepareWebhooks(database: DatabaseSync) {
  const repair = database.prepare(
    "UPDATE deliveries SET due_at = ?1 WHERE state = 'pending' AND leased = 0 AND due_at > ?2",
  )
  return {
    ...prepareEndpoints(database),
    ...prepareTries(database),
    ...prepareReplays(database),
    ...prepareTrims(database),
    repairDeliveryTimes: (now: number) => void repair.run(now, now + longestWaitMs),
  }
}

function prepareEndpoints(database: DatabaseSync) {
  const count = database.prepare('SELECT count(*) AS count FROM endpoints WHERE owner = ?')
  const insert = database.prepare(`INSERT INTO endpoints (${endpointNames}) VALUES (${endpointMarks})`)
  const replace = database.prepare(`INSERT OR REPLACE INTO endpoints (${endpointNames}) VALUES (${endpointMarks})`)
  const one = database.prepare(`SELECT ${endpointNames} FROM endpoints WHERE owner = ? AND id = ?`)
  const remove = database.prepare('DELETE FROM endpoints WHERE owner = ? AND id = ?')
  const disable = database.prepare(
    'UPDATE endpoints SET disabled_at = ?, disabled_why = ? WHERE id = ? AND disabled_at IS NULL',
  )
  return {
    insertEndpoint(endpoint: Endpoint, most: number): boolean {
      if (Number(count.get(endpoint.owner)?.count) >= most) return false
      insert.run(fromEndpoint(endpoint))
      return true
    },
    updateEndpoint(owner: string, id: string, change: EndpointChange): Endpoint | null {
      const was = one.get(owner, id)
      if (!was) return null
      const endpoint = { ...toEndpoint(was), ...change }
      replace.run(fromEndpoint(endpoint))
      return endpoint
    },
    deleteEndpoint: (owner: string, id: string) => remove.run(owner, id).changes === 1,
    disableEndpoint(id: string, at: number, why: string): void {
      disable.run(at, why, id)
    },
  }
}

/** Not under lease. The holder of a lease that has ended died. */
const free = '(leased = 0 OR due_at <= :now)'

function prepareTries(database: DatabaseSync) {
  const claim = database.prepare(
    `UPDATE deliveries SET fence = fence + 1, leased = 1, due_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND endpoint = ? AND due_at <= ? ORDER BY due_at LIMIT ?
     ) RETURNING ${deliveryNames}`,
  )
  const record = database.prepare(
    `UPDATE deliveries SET state = :state, due_at = :due_at, tries = :tries, ended_at = :ended_at, log = :log, leased = 0
     WHERE id = :id AND fence = :fence AND leased = 1`,
  )
  const fail = database.prepare(
    `UPDATE deliveries SET state = 'failed', due_at = NULL, ended_at = :now, leased = 0,
       log = json_insert(log, '$[#]', json_object('at', :now, 'status', NULL, 'error', :error, 'tookMs', 0))
     WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND endpoint = :endpoint AND ${free} LIMIT :limit
     )`,
  )
  return {
    claimDeliveries(wanted: readonly EndpointClaim[], now: number, leaseUntil: number): WebhookDelivery[] {
      return wanted.flatMap(({ endpoint, limit }) =>
        mapReadable(claim.all(leaseUntil, endpoint, now, limit), toDelivery),
      )
    },
    recordDelivery: (outcome: DeliveryOutcome) => record.run(fromOutcome(outcome)).changes === 1,
    failDeliveries: (endpoint: string, step: { now: number; error: string; limit: number }) =>
      Number(fail.run({ endpoint, ...step }).changes),
  }
}

function prepareReplays(database: DatabaseSync) {
  const again = "state = 'pending', due_at = :now, tries = 0, ended_at = NULL, leased = 0"
  const replay = database.prepare(`UPDATE deliveries SET ${again} WHERE id = :id AND endpoint = :endpoint AND ${free}`)
  const find = database.prepare(`SELECT ${deliveryNames} FROM deliveries WHERE id = ? AND endpoint = ?`)
  const replayFailed = database.prepare(
    `UPDATE deliveries SET ${again} WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_endpoint
       WHERE endpoint = :endpoint AND state = :state AND id > :after AND (state = 'failed' OR tries > 0) AND ${free}
       ORDER BY id LIMIT :limit
     ) RETURNING id`,
  )
  return {
    replay(endpoint: string, id: string, now: number): WebhookDelivery | null {
      replay.run({ endpoint, id, now })
      return mapReadable(find.all(id, endpoint), toDelivery)[0] ?? null
    },
    replayFailed: (endpoint: string, step: ReplayStep) =>
      replayFailed
        .all({ endpoint, ...step })
        .map(({ id }) => String(id))
        .sort(),
  }
}

function prepareTrims(database: DatabaseSync) {
  const trim = database.prepare(
    `DELETE FROM deliveries WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_ended
       WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?
     )`,
  )
  // By steps from one endpoint to the next in the index, however many deliveries each has.
  const trimStray = database.prepare(
    `WITH RECURSIVE known (endpoint) AS (
       SELECT min(endpoint) FROM deliveries
       UNION ALL
       SELECT (SELECT min(endpoint) FROM deliveries WHERE endpoint > known.endpoint) FROM known
       WHERE known.endpoint IS NOT NULL
     )
     DELETE FROM deliveries WHERE id IN (
       SELECT deliveries.id FROM known CROSS JOIN deliveries INDEXED BY deliveries_endpoint
         ON deliveries.endpoint = known.endpoint
       WHERE known.endpoint NOT IN (SELECT id FROM endpoints) LIMIT ?
     )`,
  )
  return {
    trimDeliveries: (before: number, limit: number) => Number(trim.run(before, limit).changes),
    trimStrayDeliveries: (limit: number) => Number(trimStray.run(limit).changes),
  }
}

/** Reads; runs on the main thread. */
export function prepareDeliveryReads(reader: DatabaseSync): Pick<Store, 'deliveries' | 'delivery'> {
  const one = reader.prepare(`SELECT ${deliveryNames} FROM deliveries WHERE id = ? AND endpoint = ?`)
  const list = reader.prepare(
    `SELECT ${deliveryNames} FROM deliveries INDEXED BY deliveries_endpoint
     WHERE endpoint = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  return {
    async deliveries(endpoint, { after = end, limit, state }) {
      const states = state ? [state] : deliveryStates
      const rows = states.flatMap((of) => list.all(endpoint, of, after, limit))
      const newest = mapReadable(rows, toDelivery).sort((a, b) => (a.id < b.id ? 1 : -1))
      return newest.slice(0, limit)
    },
    async delivery(endpoint, id) {
      return mapReadable(one.all(id, endpoint), toDelivery)[0]
    },
  }
}

/** Reads; runs on the main thread. */
export function prepareEndpointReads(reader: DatabaseSync): Pick<Store, 'endpoints' | 'endpoint' | 'dueEndpoints'> {
  const one = reader.prepare(`SELECT ${endpointNames} FROM endpoints WHERE id = ?`)
  const list = reader.prepare(
    `SELECT ${endpointNames} FROM endpoints INDEXED BY endpoints_owner WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const nextWaiting = reader.prepare(
    `SELECT endpoint, due_at FROM deliveries INDEXED BY deliveries_due
     WHERE state = 'pending' AND endpoint > ? ORDER BY endpoint, due_at LIMIT 1`,
  )
  return {
    async endpoint(owner, id) {
      return mapReadable(one.all(id), toEndpoint).find((found) => found.owner === owner)
    },
    endpoints: async (owner, { after = end, limit }) => mapReadable(list.all(owner, after, limit), toEndpoint),
    async dueEndpoints(now) {
      const due: { id: string; dueAt: number }[] = []
      let next: number | null = null
      for (let row = nextWaiting.get(''); row; row = nextWaiting.get(String(row.endpoint))) {
        const dueAt = Number(row.due_at)
        if (dueAt <= now) due.push({ id: String(row.endpoint), dueAt })
        else next = Math.min(next ?? dueAt, dueAt)
      }
      due.sort((a, b) => a.dueAt - b.dueAt)
      return { endpoints: due.flatMap(({ id }) => mapReadable(one.all(id), toEndpoint)), next }
    },
  }
}
