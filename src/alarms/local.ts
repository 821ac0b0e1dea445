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

/** What outlives the process, as text. */
export interface KeptAlarms {
  read(): string | undefined
  write(text: string): void
}

interface LocalOptions {
  clock: Clock
  random: Random
  kept: KeptAlarms
  reportRaised(alarm: Alarm): void
  reportCleared(alarm: Alarm): void
}

interface LocalBook extends LocalAlarms {
  raise(kind: AlarmKind, subject: string, details: AlarmDetails): void
  /** All of the kind: this process has one store. */
  clear(kind: AlarmKind): void
}

/** The start of an alarm is sent to the operator at most once in this time, for each kind and subject. */
export const flapMs = 5 * 60_000

const unsaved = { acknowledgedBy: null, acknowledgedAt: null, clearedAt: null } as const
const unsent = { raiseSentAt: null, clearSentAt: null } as const
type Sent = Pick<UnsentAlarm, 'raiseSentAt' | 'clearSentAt'>

/** Of all local alarms. */
interface Saved {
  alarms: [key: string, Alarm][]
  sent: [key: string, Sent][]
  lastSent: [key: string, number][]
}

/**
 * Alarms about the store itself. There are few: one for each kind and subject. They are kept outside of the store, because a
 * process that ends during the outage has sent a start, and the next one has to send the end.
 */
export function openLocalAlarms({ clock, random, kept, reportRaised, reportCleared }: LocalOptions): LocalBook {
  const saved = readSaved(kept)
  const alarms = new Map(saved.alarms)
  /** What each receiver has, and when it last got a start. */
  const sent = new Map(saved.sent)
  const lastSent = new Map(saved.lastSent)
  const save = () =>
    kept.write(JSON.stringify({ alarms: [...alarms], sent: [...sent], lastSent: [...lastSent] } satisfies Saved))
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
      save()
      reportRaised(alarm)
    },
    clear(kind) {
      // The process before this one may have had another name.
      for (const [key, before] of alarms) {
        if (before.kind !== kind || before.clearedAt !== null) continue
        const cleared = { ...before, clearedAt: clock.now() }
        alarms.set(key, cleared)
        save()
        reportCleared(cleared)
      }
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
      save()
    },
    lastAlarmSent: async (receiver, kind, subject) => lastSent.get(`${receiver} ${alarmKey({ kind, subject })}`) ?? 0,
  }
}

/** A file that can't be read is the same as none. */
function readSaved(kept: KeptAlarms): Saved {
  try {
    return { alarms: [], sent: [], lastSent: [], ...JSON.parse(kept.read() ?? '{}') }
  } catch {
    return { alarms: [], sent: [], lastSent: [] }
  }
}
