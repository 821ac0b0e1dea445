import { auditColumns, fromAudit } from '../../core/access-row.ts'
import {
  type AlarmStatus,
  alarmColumns,
  fromReport,
  reportColumns,
  sendingColumns,
  toAlarm,
  toUnsentAlarm,
  unsentColumns,
  unsentCondition,
  urgency,
} from '../../core/alarms.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { mapReadable } from '../../core/row.ts'
import type { Acknowledgement, AlarmStore } from '../store.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import type { Query } from './session.ts'

const names = alarmColumns.join(', ')
/** After the last id: where a list without a cursor begins. */
const end = '\u{10ffff}'

export function openAlarmRows(database: Database): AlarmStore {
  return {
    async raiseAlarm(report) {
      const [row] = await database.run(raiseStatement, fromReport(report))
      if (!row) throw new Error('a raised alarm was not stored')
      return toAlarm(row)
    },
    async clearAlarm(kind, subject, at) {
      const text = `UPDATE alarms SET cleared_at = $1 WHERE kind = $2 AND subject = $3 AND cleared_at IS NULL
        RETURNING ${names}`
      return mapReadable(await database.run(text, [at, kind, subject]), toAlarm)[0]
    },
    async clearUnseenAlarms(kind, before, at) {
      const text = `UPDATE alarms SET cleared_at = $1 WHERE kind = $2 AND last_seen < $3 AND cleared_at IS NULL
        RETURNING ${names}`
      return mapReadable(await database.run(text, [at, kind, before]), toAlarm)
    },
    async alarms({ status, after = end, limit }) {
      const text = `SELECT ${names} FROM alarms WHERE ${conditions[status]} AND id < $1 ORDER BY id DESC LIMIT $2`
      return mapReadable(await database.read(text, [after, limit]), toAlarm)
    },
    async activeAlarms(limit) {
      const text = `SELECT ${names} FROM alarms WHERE cleared_at IS NULL ORDER BY ${urgency}, id DESC LIMIT $1`
      return mapReadable(await database.read(text, [limit]), toAlarm)
    },
    acknowledgeAlarm(id, acknowledgement, entry) {
      const write = () => database.write((query) => acknowledge(query, id, acknowledgement, entry))
      // After a COMMIT without a response: an alarm is acknowledged once, so this can be repeated.
      return write().catch((error) => {
        if (!(error instanceof CommitUnknown)) throw error
        return write()
      })
    },
    async unsentAlarms(receiver, now, limit) {
      const { until } = sendingColumns(receiver)
      const text = `SELECT ${unsentColumns(receiver)} FROM alarms
        WHERE ${unsentCondition(receiver)} AND (${until} IS NULL OR ${until} <= $1) ORDER BY ${urgency}, id LIMIT $2`
      return mapReadable(await database.read(text, [now, limit]), toUnsentAlarm)
    },
    async claimAlarm(receiver, id, now, leaseUntil) {
      const { until } = sendingColumns(receiver)
      const text = `UPDATE alarms SET ${until} = $3 WHERE id = $1 AND (${until} IS NULL OR ${until} <= $2::bigint)
        AND ${unsentCondition(receiver)} RETURNING ${unsentColumns(receiver)}`
      return mapReadable(await database.run(text, [id, now, leaseUntil]), toUnsentAlarm)[0]
    },
    async shortenAlarmClaim(receiver, id, claimedUntil, at) {
      const { until } = sendingColumns(receiver)
      await database.run(`UPDATE alarms SET ${until} = $3 WHERE id = $1 AND ${until} = $2`, [id, claimedUntil, at])
    },
    async recordAlarmSent(receiver, id, event, at) {
      const { until, ...columns } = sendingColumns(receiver)
      await database.run(`UPDATE alarms SET ${columns[event]} = $2, ${until} = NULL WHERE id = $1`, [id, at])
    },
    async lastAlarmSent(receiver, kind, subject) {
      const { raised } = sendingColumns(receiver)
      const text = `SELECT max(${raised}) AS at FROM alarms WHERE ${raised} IS NOT NULL AND kind = $1 AND subject = $2`
      const [row] = await database.read(text, [kind, subject])
      return Number(row?.at ?? 0)
    },
    async trimAlarms(before, limit) {
      const text = `DELETE FROM alarms WHERE id IN (
        SELECT id FROM alarms WHERE cleared_at IS NOT NULL AND cleared_at < $1 ORDER BY cleared_at LIMIT $2
      ) RETURNING id`
      return (await database.run(text, [before, limit])).length
    },
  }
}

const conditions: Readonly<Record<AlarmStatus, string>> = {
  active: 'cleared_at IS NULL',
  cleared: 'cleared_at IS NOT NULL',
  all: 'true',
}

const raiseStatement = `INSERT INTO alarms (${reportColumns.join(', ')})
  VALUES (${reportColumns.map((_, at) => `$${at + 1}`).join(', ')})
  ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE SET count = alarms.count + excluded.count,
    details = excluded.details, last_seen = greatest(alarms.last_seen, excluded.last_seen) RETURNING ${names}`

const appendStatement = `INSERT INTO audit (${auditColumns.join(', ')})
  VALUES (${auditColumns.map((_, at) => `$${at + 1}`).join(', ')})`

async function acknowledge(query: Query, id: string, { by, at }: Acknowledgement, entry: AuditEntry) {
  const text = `UPDATE alarms SET acknowledged_by = $2, acknowledged_at = $3 WHERE id = $1 AND acknowledged_at IS NULL
    RETURNING ${names}`
  const [changed] = mapReadable(await query(text, [id, by, at]), toAlarm)
  if (changed) await query(appendStatement, fromAudit(entry))
  return changed ?? mapReadable(await query(`SELECT ${names} FROM alarms WHERE id = $1`, [id]), toAlarm)[0]
}
