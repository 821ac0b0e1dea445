import { type KeptAlarms, type LocalAlarms, openLocalAlarms } from './alarms/local.ts'
import {
  type Alarm,
  type AlarmDetails,
  type AlarmKind,
  type AlarmReport,
  alarmKey,
  alarmKinds,
  newAlarmId,
  toSubject,
} from './core/alarms.ts'
import type { Clock, Random } from './core/clock.ts'
import { openOutage } from './core/outage.ts'
import type { AlarmStore } from './stores/store.ts'
import type { Alarms } from './telemetry/alarms.ts'
import type { Log } from './telemetry/log.ts'

interface AlarmOptions {
  store: Pick<AlarmStore, 'raiseAlarm' | 'clearAlarm' | 'clearUnseenAlarms' | 'activeAlarms'>
  clock: Clock
  random: Random
  log: Log
  kept: KeptAlarms
}

/** The alarms of all processes on one store, and those about the store itself. */
export interface AlarmBook extends Alarms {
  /** Writes what could not be written, and reads which alarms are active. Throws if the store is unavailable. */
  sync(): Promise<void>
  /** Those of the store that were active at the last `sync`, and those of this process. */
  active(kind: AlarmKind): readonly Alarm[]
  /** Clears alarms of a kind that nothing reports any more. */
  clearUnseen(kind: AlarmKind): Promise<void>
  /** Alarms that stay in the memory of this process, because the store may be unable to keep them. */
  readonly local: LocalAlarms
  /** Calls back after an alarm was raised or cleared here. Returns a function that ends this. */
  onChange(listener: () => void): () => void
}

/** What this process last reported about a kind and a subject. */
interface Known {
  readonly kind: AlarmKind
  readonly subject: string
  details: AlarmDetails
  /** Reports that are not written yet. */
  reports: number
  isRaised: boolean
  isUnsaved: boolean
  isQueued: boolean
  savedAt: number
}

/** Further reports of an active alarm are written at most this often. */
const rewriteMs = 15_000
/** How many subjects a process remembers, and how many active alarms it reads. */
const mostKnown = 10_000
const mostActive = 1_000

const unwritten = { isUnsaved: false, isQueued: false, savedAt: 0 }

export function openAlarms({ store, clock, random, log, kept }: AlarmOptions): AlarmBook {
  const known = new Map<string, Known>()
  const listeners = new Set<() => void>()
  let active = new Map<string, Alarm>()
  let writing: Promise<void> = Promise.resolve()
  const lines = { down: 'alarms could not be stored; they are stored later', up: 'alarms are stored again' }
  const outage = openOutage({ log, clock, ...lines, level: 'warn' })

  const notify = () => {
    for (const listener of listeners) listener()
  }
  const reportRaised = ({ id, kind, subject }: Alarm) => {
    log.warn('alarm raised', { alarm: id, kind, subject })
    notify()
  }
  const reportCleared = ({ id, kind, subject }: Alarm) => {
    log.info('alarm cleared', { alarm: id, kind, subject })
    notify()
  }
  const local = openLocalAlarms({ clock, random, kept, reportRaised, reportCleared })

  function find(kind: AlarmKind, subject: string): Known {
    const key = alarmKey({ kind, subject })
    const found = known.get(key)
    if (found) return found
    const one: Known = { kind, subject, details: {}, reports: 0, isRaised: false, ...unwritten }
    known.set(key, one)
    const [oldest] = known.size > mostKnown ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    return one
  }

  /** One write after the other, so that a clear never overtakes its raise. */
  function save(one: Known): void {
    one.isUnsaved = true
    if (one.isQueued) return
    one.isQueued = true
    writing = writing.then(() => write(one))
  }

  async function write(one: Known): Promise<void> {
    const { kind, subject, details, reports: count } = one
    const at = clock.now()
    Object.assign(one, { isUnsaved: false, isQueued: false, reports: 0, savedAt: at })
    try {
      await (one.isRaised ? writeRaised({ kind, subject, details, count, at }) : writeCleared(kind, subject, at))
      outage.worked()
    } catch (error) {
      one.isUnsaved = true
      one.reports += count
      outage.failed({ error })
    }
  }

  async function writeRaised(report: Omit<AlarmReport, 'id'>): Promise<void> {
    const id = newAlarmId(report.at, random)
    const alarm = await store.raiseAlarm({ ...report, id })
    active.set(alarmKey(alarm), alarm)
    if (alarm.id === id) reportRaised(alarm)
  }

  async function writeCleared(kind: AlarmKind, subject: string, at: number): Promise<void> {
    const alarm = await store.clearAlarm(kind, subject, at)
    active.delete(alarmKey({ kind, subject }))
    if (alarm) reportCleared(alarm)
  }

  return {
    local,
    raise(kind, text, details = {}) {
      const subject = toSubject(text)
      if (alarmKinds[kind].isLocal) return local.raise(kind, subject, details)
      const one = find(kind, subject)
      const isDue = !one.isRaised || Math.abs(clock.now() - one.savedAt) >= rewriteMs
      Object.assign(one, { details, isRaised: true, reports: one.reports + 1 })
      if (isDue) save(one)
    },
    clear(kind, text) {
      const subject = toSubject(text)
      if (alarmKinds[kind].isLocal) return local.clear(kind)
      const key = alarmKey({ kind, subject })
      if (!known.get(key)?.isRaised && !active.has(key)) return
      const one = find(kind, subject)
      Object.assign(one, { isRaised: false, reports: 0 })
      save(one)
    },
    async sync() {
      for (const one of known.values()) if (one.isUnsaved) save(one)
      await writing
      const found = await store.activeAlarms(mostActive)
      active = new Map(found.map((alarm) => [alarmKey(alarm), alarm]))
      // Another process cleared it, and it was reported here since its last write.
      for (const one of known.values()) if (one.isRaised && one.reports > 0 && !active.has(alarmKey(one))) save(one)
      await writing
    },
    active: (kind) => [...local.active(), ...active.values()].filter((alarm) => alarm.kind === kind),
    async clearUnseen(kind) {
      const now = clock.now()
      for (const alarm of await store.clearUnseenAlarms(kind, now - alarmKinds[kind].lastsMs, now)) {
        known.delete(alarmKey(alarm))
        active.delete(alarmKey(alarm))
        reportCleared(alarm)
      }
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
