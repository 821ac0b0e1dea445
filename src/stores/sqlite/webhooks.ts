import type { DatabaseSync } from 'node:sqlite'
import type { NoticeKind } from '../../core/notice.ts'
import { readable, type Value } from '../../core/row.ts'
import {
  type DeliveryOutcome,
  deliveryIdsFrom,
  type Endpoint,
  type EndpointChange,
  eventTypeOf,
  longestWaitMs,
  newDelivery,
  type WebhookDelivery,
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
import type { EndpointClaim, Store } from '../store.ts'

const marks = (names: readonly string[]) => names.map((name) => `:${name}`).join(', ')
const all = deliveryColumns.join(', ')

/** Endpoints and their deliveries; runs in the writer thread, inside its transaction. */
export function prepareWebhooks(database: DatabaseSync) {
  const listeners = database.prepare('SELECT id, event_types FROM endpoints WHERE owner = ? AND disabled_at IS NULL')
  const insertDelivery = database.prepare(
    `INSERT INTO deliveries (${all}) VALUES (${marks(deliveryColumns)}) ON CONFLICT (id) DO NOTHING`,
  )
  const count = database.prepare('SELECT count(*) AS count FROM endpoints WHERE owner = ?')
  const insert = database.prepare(
    `INSERT INTO endpoints (${endpointColumns.join(', ')}) VALUES (${marks(endpointColumns)})`,
  )
  const replace = database.prepare(
    `INSERT OR REPLACE INTO endpoints (${endpointColumns.join(', ')}) VALUES (${marks(endpointColumns)})`,
  )
  const one = database.prepare(`SELECT ${endpointColumns.join(', ')} FROM endpoints WHERE owner = ? AND id = ?`)
  const remove = database.prepare('DELETE FROM endpoints WHERE owner = ? AND id = ?')
  const removeDeliveries = database.prepare('DELETE FROM deliveries WHERE endpoint = ?')
  const disable = database.prepare(
    'UPDATE endpoints SET disabled_at = ?, disabled_why = ? WHERE id = ? AND disabled_at IS NULL',
  )
  const claim = database.prepare(
    `UPDATE deliveries SET fence = fence + 1, leased = 1, due_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND endpoint = ? AND due_at <= ? ORDER BY due_at LIMIT ?
     ) RETURNING ${all}`,
  )
  const record = database.prepare(
    `UPDATE deliveries SET state = :state, due_at = :due_at, tries = :tries, ended_at = :ended_at, log = :log, leased = 0
     WHERE id = :id AND fence = :fence AND leased = 1`,
  )
  const fail = database.prepare(
    `UPDATE deliveries SET state = 'failed', due_at = NULL, ended_at = :now,
       log = json_insert(log, '$[#]', json_object('at', :now, 'status', NULL, 'error', :error, 'tookMs', 0))
     WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND endpoint = :endpoint AND leased = 0 LIMIT :limit
     )`,
  )
  const again = "state = 'pending', due_at = :now, tries = 0, ended_at = NULL"
  const replay = database.prepare(
    `UPDATE deliveries SET ${again} WHERE id = :id AND endpoint = :endpoint AND leased = 0`,
  )
  const find = database.prepare(`SELECT ${all} FROM deliveries WHERE id = ? AND endpoint = ?`)
  const replayFailed = database.prepare(
    `UPDATE deliveries SET ${again} WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_endpoint
       WHERE endpoint = :endpoint AND id >= :since AND state = 'failed' LIMIT :limit
     )`,
  )
  const trim = database.prepare(
    `DELETE FROM deliveries WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_ended
       WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?
     )`,
  )
  const recover = database.prepare(
    "UPDATE deliveries SET due_at = ?1 WHERE state = 'pending' AND leased = 0 AND due_at > ?2",
  )

  const verbs = {
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
    deleteEndpoint(owner: string, id: string): boolean {
      if (remove.run(owner, id).changes === 0) return false
      removeDeliveries.run(id)
      return true
    },
    disableEndpoint(id: string, at: number, why: string): void {
      disable.run(at, why, id)
    },
    claimDeliveries(wanted: readonly EndpointClaim[], now: number, leaseUntil: number): WebhookDelivery[] {
      return wanted.flatMap(({ endpoint, limit }) => readable(claim.all(leaseUntil, endpoint, now, limit), toDelivery))
    },
    recordDelivery: (outcome: DeliveryOutcome) => record.run(fromOutcome(outcome)).changes === 1,
    failDeliveries: (endpoint: string, now: number, error: string, limit: number) =>
      Number(fail.run({ endpoint, now, error, limit }).changes),
    replay(endpoint: string, id: string, now: number): WebhookDelivery | null {
      replay.run({ endpoint, id, now })
      return readable(find.all(id, endpoint), toDelivery)[0] ?? null
    },
    replayFailed: (endpoint: string, since: number, now: number, limit: number) =>
      Number(replayFailed.run({ endpoint, since: deliveryIdsFrom(since), now, limit }).changes),
    trimDeliveries: (before: number, limit: number) => Number(trim.run(before, limit).changes),
  }
  return {
    verbs,
    /** What a notice of its end brings about. Who has no endpoint pays for one look into an index. */
    deliver(owner: string, task: string, at: number, kind: NoticeKind): void {
      const type = eventTypeOf(kind)
      if (!type) return
      for (const row of listeners.all(owner))
        if (wants(row, type))
          insertDelivery.run(fromDelivery(newDelivery({ id: String(row.id), owner }, { task, at, type })))
    },
    recover: (now: number) => void recover.run(now, now + longestWaitMs),
  }
}

type Reads = Pick<Store, 'endpoints' | 'endpoint' | 'dueEndpoints' | 'deliveries' | 'delivery'>

/** What is only read of them; runs on the main thread. */
export function prepareWebhookReads(reader: DatabaseSync): Reads {
  const endpoint = endpointColumns.join(', ')
  const one = reader.prepare(`SELECT ${endpoint} FROM endpoints WHERE id = ?`)
  const list = reader.prepare(
    `SELECT ${endpoint} FROM endpoints INDEXED BY endpoints_owner WHERE owner = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const nextWaiting = reader.prepare(
    `SELECT endpoint, due_at FROM deliveries INDEXED BY deliveries_due
     WHERE state = 'pending' AND endpoint > ? ORDER BY endpoint, due_at LIMIT 1`,
  )
  const find = reader.prepare(`SELECT ${all} FROM deliveries WHERE id = ? AND endpoint = ?`)
  const deliveries = reader.prepare(
    `SELECT ${all} FROM deliveries INDEXED BY deliveries_endpoint
     WHERE endpoint = :endpoint AND id < :after AND (:state IS NULL OR state = :state) ORDER BY id DESC LIMIT :limit`,
  )
  // After the last of all ids: where a list without a cursor begins.
  const end = '\u{10ffff}'
  return {
    async endpoint(owner, id) {
      return readable(one.all(id), toEndpoint).find((found) => found.owner === owner)
    },
    endpoints: async (owner, { after = end, limit }) => readable(list.all(owner, after, limit), toEndpoint),
    async dueEndpoints(now) {
      const due: { id: string; dueAt: number }[] = []
      let next: number | null = null
      for (let row = nextWaiting.get(''); row; row = nextWaiting.get(String(row.endpoint))) {
        const dueAt = Number(row.due_at)
        if (dueAt <= now) due.push({ id: String(row.endpoint), dueAt })
        else next = Math.min(next ?? dueAt, dueAt)
      }
      due.sort((a, b) => a.dueAt - b.dueAt)
      return { endpoints: due.flatMap(({ id }) => readable(one.all(id), toEndpoint)), next }
    },
    async deliveries(endpoint, { after = end, limit, state = null }: { after?: string; limit: number; state?: Value }) {
      return readable(deliveries.all({ endpoint, after, limit, state }), toDelivery)
    },
    async delivery(endpoint, id) {
      return readable(find.all(id, endpoint), toDelivery)[0]
    },
  }
}
