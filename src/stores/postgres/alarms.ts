import { auditColumns, fromAudit } from '../../core/access-row.ts'
import { type AlarmStatus, alarmColumns, fromReport, reportColumns, toAlarm, urgency } from '../../core/alarms.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { mapReadable } from '../../core/row.ts'
import type { Acknowledgement, AlarmStore } from '../store.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import type { Query } from './session.ts'

const names = alarmColumns.join(', ')
/** After the last id: where a list without a cursor begins. */
const end = '\u{10ffff}'
const unsent = '(raise_sent_at IS NULL OR cleared_at IS NOT NULL AND clear_sent_at IS NULL)'

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
    async unsentAlarms(now, limit) {
      const text = `SELECT ${names} FROM alarms WHERE ${unsent} AND (sending_until IS NULL OR sending_until <= $1)
        ORDER BY id LIMIT $2`
      return mapReadable(await database.read(text, [now, limit]), toAlarm)
    },
    async claimAlarm(id, now, until) {
      const text = `UPDATE alarms SET sending_until = $3 WHERE id = $1
        AND (sending_until IS NULL OR sending_until <= $2::bigint) AND ${unsent} RETURNING ${names}`
      return mapReadable(await database.run(text, [id, now, until]), toAlarm)[0]
    },
    async recordAlarmSent(id, event, at) {
      const column = event === 'raised' ? 'raise_sent_at' : 'clear_sent_at'
      await database.run(`UPDATE alarms SET ${column} = $2, sending_until = NULL WHERE id = $1`, [id, at])
    },
    async lastAlarmSent(kind, subject) {
      const text = `SELECT max(raise_sent_at) AS at FROM alarms
        WHERE raise_sent_at IS NOT NULL AND kind = $1 AND subject = $2`
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
