import type { DatabaseSync } from 'node:sqlite'
import type { NewNotice } from '../../core/notice.ts'
import { readable } from '../../core/row.ts'
import {
  type DeliveryOutcome,
  deliveryStates,
  eventTypeOf,
  longestWaitMs,
  newDelivery,
  type WebhookDelivery,
} from '../../core/webhook.ts'
import { deliveryColumns, fromDelivery, fromOutcome, toDelivery, wants } from '../../core/webhook-row.ts'
import type { EndpointClaim, ReplayStep, Store } from '../store.ts'

const all = deliveryColumns.join(', ')
const marks = deliveryColumns.map((name) => `:${name}`).join(', ')

/** What is on its way to endpoints; runs in the writer thread, inside its transaction. */
export function prepareDeliveries(database: DatabaseSync) {
  const listeners = database.prepare('SELECT id, event_types FROM endpoints WHERE owner = ? AND disabled_at IS NULL')
  const insert = database.prepare(`INSERT INTO deliveries (${all}) VALUES (${marks}) ON CONFLICT (id) DO NOTHING`)
  const recover = database.prepare(
    "UPDATE deliveries SET due_at = ?1 WHERE state = 'pending' AND leased = 0 AND due_at > ?2",
  )
  return {
    verbs: { ...prepareTries(database), ...prepareReplays(database), ...prepareTrims(database) },
    /** What a notice of its end brings about. Who has no endpoint pays for one look into an index. */
    deliver({ owner, task, at, kind }: NewNotice): void {
      const type = eventTypeOf(kind)
      if (!type) return
      for (const row of listeners.all(owner))
        if (wants(row, type)) insert.run(fromDelivery(newDelivery({ id: String(row.id), owner }, { task, at, type })))
    },
    recover: (now: number) => void recover.run(now, now + longestWaitMs),
  }
}

/** A lease that has ended is nobody's: its holder died. */
const free = '(leased = 0 OR due_at <= :now)'

function prepareTries(database: DatabaseSync) {
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
    `UPDATE deliveries SET state = 'failed', due_at = NULL, ended_at = :now, leased = 0,
       log = json_insert(log, '$[#]', json_object('at', :now, 'status', NULL, 'error', :error, 'tookMs', 0))
     WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND endpoint = :endpoint AND ${free} LIMIT :limit
     )`,
  )
  return {
    claimDeliveries(wanted: readonly EndpointClaim[], now: number, leaseUntil: number): WebhookDelivery[] {
      return wanted.flatMap(({ endpoint, limit }) => readable(claim.all(leaseUntil, endpoint, now, limit), toDelivery))
    },
    recordDelivery: (outcome: DeliveryOutcome) => record.run(fromOutcome(outcome)).changes === 1,
    failDeliveries: (endpoint: string, step: { now: number; error: string; limit: number }) =>
      Number(fail.run({ endpoint, ...step }).changes),
  }
}

function prepareReplays(database: DatabaseSync) {
  const again = "state = 'pending', due_at = :now, tries = 0, ended_at = NULL, leased = 0"
  const replay = database.prepare(`UPDATE deliveries SET ${again} WHERE id = :id AND endpoint = :endpoint AND ${free}`)
  const find = database.prepare(`SELECT ${all} FROM deliveries WHERE id = ? AND endpoint = ?`)
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
      return readable(find.all(id, endpoint), toDelivery)[0] ?? null
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
  // From one endpoint to the next in the index, however many deliveries each has.
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

/** What is only read of them; runs on the main thread. */
export function prepareDeliveryReads(reader: DatabaseSync): Pick<Store, 'deliveries' | 'delivery'> {
  const one = reader.prepare(`SELECT ${all} FROM deliveries WHERE id = ? AND endpoint = ?`)
  const list = reader.prepare(
    `SELECT ${all} FROM deliveries INDEXED BY deliveries_endpoint
     WHERE endpoint = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  // After the last of all ids: where a list without a cursor begins.
  const end = '\u{10ffff}'
  return {
    async deliveries(endpoint, { after = end, limit, state }) {
      const states = state ? [state] : deliveryStates
      const rows = states.flatMap((of) => list.all(endpoint, of, after, limit))
      const newest = readable(rows, toDelivery).sort((a, b) => (a.id < b.id ? 1 : -1))
      return newest.slice(0, limit)
    },
    async delivery(endpoint, id) {
      return readable(one.all(id, endpoint), toDelivery)[0]
    },
  }
}
