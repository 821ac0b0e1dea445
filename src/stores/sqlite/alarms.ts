import type { DatabaseSync } from 'node:sqlite'
import { auditColumns, fromAudit } from '../../core/access-row.ts'
import {
  type Alarm,
  type AlarmEvent,
  type AlarmKind,
  type AlarmReceiverName,
  type AlarmReport,
  alarmColumns,
  alarmReceiverNames,
  fromReport,
  reportColumns,
  sendingColumns,
  toAlarm,
  toUnsentAlarm,
  type UnsentAlarm,
  unsentColumns,
  unsentCondition,
  urgency,
} from '../../core/alarms.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { mapReadable } from '../../core/row.ts'
import type { Acknowledgement, Store } from '../store.ts'

const names = alarmColumns.join(', ')
/** After the last id: where a list without a cursor begins. */
const end = '\u{10ffff}'

/** A statement for each receiver. */
function forEach<Statement>(prepare: (receiver: AlarmReceiverName) => Statement) {
  const prepared = alarmReceiverNames.map((receiver) => [receiver, prepare(receiver)] as const)
  return Object.fromEntries(prepared) as Record<AlarmReceiverName, Statement>
}

/** Runs in the writer thread, inside its transaction. */
export function prepareAlarms(database: DatabaseSync) {
  const raise = database.prepare(
    `INSERT INTO alarms (${reportColumns.join(', ')}) VALUES (${reportColumns.map(() => '?').join(', ')})
     ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE SET count = alarms.count + excluded.count,
       details = excluded.details, last_seen = max(alarms.last_seen, excluded.last_seen) RETURNING ${names}`,
  )
  const clear = database.prepare(
    `UPDATE alarms SET cleared_at = ? WHERE kind = ? AND subject = ? AND cleared_at IS NULL RETURNING ${names}`,
  )
  const clearUnseen = database.prepare(
    `UPDATE alarms SET cleared_at = ? WHERE kind = ? AND last_seen < ? AND cleared_at IS NULL RETURNING ${names}`,
  )
  const acknowledge = database.prepare(
    `UPDATE alarms SET acknowledged_by = ?2, acknowledged_at = ?3 WHERE id = ?1 AND acknowledged_at IS NULL
     RETURNING ${names}`,
  )
  const one = database.prepare(`SELECT ${names} FROM alarms WHERE id = ?`)
  const append = database.prepare(
    `INSERT INTO audit (${auditColumns.join(', ')}) VALUES (${auditColumns.map(() => '?').join(', ')})`,
  )
  const claims = forEach((receiver) => {
    const { until } = sendingColumns(receiver)
    return database.prepare(
      `UPDATE alarms SET ${until} = ?3 WHERE id = ?1 AND (${until} IS NULL OR ${until} <= ?2)
       AND ${unsentCondition(receiver)} RETURNING ${unsentColumns(receiver)}`,
    )
  })
  const shorten = forEach((receiver) => {
    const { until } = sendingColumns(receiver)
    return database.prepare(`UPDATE alarms SET ${until} = ?3 WHERE id = ?1 AND ${until} = ?2`)
  })
  const sent = forEach((receiver) => {
    const { until, ...columns } = sendingColumns(receiver)
    const record = (event: AlarmEvent) =>
      database.prepare(`UPDATE alarms SET ${columns[event]} = ?2, ${until} = NULL WHERE id = ?1`)
    return { raised: record('raised'), cleared: record('cleared') }
  })
  const trim = database.prepare(
    `DELETE FROM alarms WHERE id IN (
       SELECT id FROM alarms INDEXED BY alarms_cleared
       WHERE cleared_at IS NOT NULL AND cleared_at < ? ORDER BY cleared_at LIMIT ?)`,
  )
  return {
    raiseAlarm(report: AlarmReport): Alarm {
      const [row] = raise.all(...fromReport(report))
      if (!row) throw new Error('a raised alarm was not stored')
      return toAlarm(row)
    },
    clearAlarm: (kind: AlarmKind, subject: string, at: number): Alarm | null =>
      mapReadable(clear.all(at, kind, subject), toAlarm)[0] ?? null,
    clearUnseenAlarms: (kind: AlarmKind, before: number, at: number): Alarm[] =>
      mapReadable(clearUnseen.all(at, kind, before), toAlarm),
    acknowledgeAlarm(id: string, { by, at }: Acknowledgement, entry: AuditEntry): Alarm | null {
      const [changed] = mapReadable(acknowledge.all(id, by, at), toAlarm)
      if (changed) append.run(...fromAudit(entry))
      return changed ?? mapReadable(one.all(id), toAlarm)[0] ?? null
    },
    claimAlarm: (receiver: AlarmReceiverName, id: string, now: number, until: number): UnsentAlarm | null =>
      mapReadable(claims[receiver].all(id, now, until), toUnsentAlarm)[0] ?? null,
    shortenAlarmClaim(receiver: AlarmReceiverName, id: string, until: number, at: number): void {
      shorten[receiver].run(id, until, at)
    },
    recordAlarmSent(receiver: AlarmReceiverName, id: string, event: AlarmEvent, at: number): void {
      sent[receiver][event].run(id, at)
    },
    trimAlarms: (before: number, limit: number) => Number(trim.run(before, limit).changes),
  }
}

/** Reads; runs on the main thread. */
export function prepareAlarmReads(
  reader: DatabaseSync,
): Pick<Store, 'alarms' | 'activeAlarms' | 'unsentAlarms' | 'lastAlarmSent'> {
  const list = (condition: string) =>
    reader.prepare(`SELECT ${names} FROM alarms WHERE ${condition} AND id < ? ORDER BY id DESC LIMIT ?`)
  const lists = {
    active: list('cleared_at IS NULL'),
    cleared: list('cleared_at IS NOT NULL'),
    all: list('true'),
  }
  const active = reader.prepare(
    `SELECT ${names} FROM alarms INDEXED BY alarms_active WHERE cleared_at IS NULL ORDER BY ${urgency}, id DESC LIMIT ?`,
  )
  const waiting = forEach((receiver) => {
    const { until } = sendingColumns(receiver)
    return reader.prepare(
      `SELECT ${unsentColumns(receiver)} FROM alarms INDEXED BY alarms_${receiver}
       WHERE ${unsentCondition(receiver)} AND (${until} IS NULL OR ${until} <= ?) ORDER BY ${urgency}, id LIMIT ?`,
    )
  })
  const last = forEach((receiver) => {
    const { raised } = sendingColumns(receiver)
    return reader.prepare(
      `SELECT max(${raised}) AS at FROM alarms INDEXED BY alarms_${receiver}_sent
       WHERE ${raised} IS NOT NULL AND kind = ? AND subject = ?`,
    )
  })
  return {
    alarms: async ({ status, after = end, limit }) => mapReadable(lists[status].all(after, limit), toAlarm),
    activeAlarms: async (limit) => mapReadable(active.all(limit), toAlarm),
    unsentAlarms: async (receiver, now, limit) => mapReadable(waiting[receiver].all(now, limit), toUnsentAlarm),
    lastAlarmSent: async (receiver, kind, subject) => Number(last[receiver].get(kind, subject)?.at ?? 0),
  }
}
