import {
  type Alarm,
  type AlarmDetails,
  type AlarmKind,
  type AlarmReceiverName,
  alarmKey,
  alarmReceiverNames,
  newAlarmId,
  type UnsentAlarm,
} from '../core/alarms.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { AlarmStore } from '../stores/store.ts'

/** Alarms that have to be sent: those of the store, or those of this process. */
export type AlarmQueue = Pick<
  AlarmStore,
  'unsentAlarms' | 'claimAlarm' | 'shortenAlarmClaim' | 'recordAlarmSent' | 'lastAlarmSent'
>

export interface LocalAlarms extends AlarmQueue {
  active(): readonly Alarm[]
}

interface LocalOptions {
  clock: Clock
  random: Random
  reportRaised(alarm: Alarm): void
  reportCleared(alarm: Alarm): void
}

interface LocalBook extends LocalAlarms {
  raise(kind: AlarmKind, subject: string, details: AlarmDetails): void
  clear(kind: AlarmKind, subject: string): void
}

/** The start of an alarm is sent to the operator at most once in this time, for each kind and subject. */
export const flapMs = 5 * 60_000

const unsaved = { acknowledgedBy: null, acknowledgedAt: null, clearedAt: null } as const
const unsent = { raiseSentAt: null, clearSentAt: null } as const
type Sent = Pick<UnsentAlarm, 'raiseSentAt' | 'clearSentAt'>

/** Alarms about the store itself. There are few: one for each kind and subject, and none of them outlives the process. */
export function openLocalAlarms({ clock, random, reportRaised, reportCleared }: LocalOptions): LocalBook {
  const alarms = new Map<string, Alarm>()
  /** What each receiver has, and when it last got a start. */
  const sent = new Map<string, Sent>()
  const lastSent = new Map<string, number>()
  const find = (id: string) => [...alarms.values()].find((alarm) => alarm.id === id)
  const forReceiver = (receiver: AlarmReceiverName, alarm: Alarm): UnsentAlarm => ({
    ...alarm,
    ...(sent.get(`${receiver} ${alarm.id}`) ?? unsent),
  })
  const isEndSent = (alarm: Alarm) => alarmReceiverNames.some((name) => forReceiver(name, alarm).clearSentAt !== null)

  return {
    raise(kind, subject, details) {
      const key = alarmKey({ kind, subject })
      const [now, before] = [clock.now(), alarms.get(key)]
      // One that ended a moment ago, and whose end was not sent, goes on.
      const isRecent = before && !isEndSent(before) && now - (before.clearedAt ?? now) < flapMs
      if (before && isRecent) {
        const count = before.count + 1
        alarms.set(key, { ...before, details, count, lastSeen: now, clearedAt: null })
        return
      }
      const times = { raisedAt: now, lastSeen: now, count: 1 }
      const alarm: Alarm = { ...unsaved, ...times, id: newAlarmId(now, random), kind, subject, details }
      if (before) for (const receiver of alarmReceiverNames) sent.delete(`${receiver} ${before.id}`)
      alarms.set(key, alarm)
      reportRaised(alarm)
    },
    clear(kind, subject) {
      const key = alarmKey({ kind, subject })
      const before = alarms.get(key)
      if (!before || before.clearedAt !== null) return
      const cleared = { ...before, clearedAt: clock.now() }
      alarms.set(key, cleared)
      reportCleared(cleared)
    },
    active: () => [...alarms.values()].filter(({ clearedAt }) => clearedAt === null),
    unsentAlarms: async (receiver) =>
      [...alarms.values()]
        .map((alarm) => forReceiver(receiver, alarm))
        .filter(
          ({ raiseSentAt, clearedAt, clearSentAt }) =>
            raiseSentAt === null || (clearedAt !== null && clearSentAt === null),
        ),
    // No other process has it.
    async claimAlarm(receiver, id) {
      const alarm = find(id)
      return alarm && forReceiver(receiver, alarm)
    },
    shortenAlarmClaim: async () => {},
    async recordAlarmSent(receiver, id, event, at) {
      const alarm = find(id)
      if (!alarm) return
      if (event === 'raised' && at > 0) lastSent.set(`${receiver} ${alarmKey(alarm)}`, at)
      const { raiseSentAt, clearSentAt } = forReceiver(receiver, alarm)
      const now = event === 'raised' ? { raiseSentAt: at, clearSentAt } : { raiseSentAt, clearSentAt: at }
      sent.set(`${receiver} ${id}`, now)
    },
    lastAlarmSent: async (receiver, kind, subject) => lastSent.get(`${receiver} ${alarmKey({ kind, subject })}`) ?? 0,
  }
}
