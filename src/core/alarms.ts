import type { Random } from './clock.ts'
import type { Row } from './row.ts'

/* What an operator has to know: the kinds of alarms, and how an alarm is stored. docs/runbook.md has a page for each kind. */

export const alarmSeverities = ['critical', 'warning'] as const

interface AlarmFacts {
  /** `critical`: videos fail or wait, or money is at risk. */
  readonly severity: (typeof alarmSeverities)[number]
  /** What happened, in one sentence. */
  readonly cause: string
  /** What to do first. Words in capitals are replaced by names if these are known. */
  readonly firstAid: string
  /** An alarm that nothing reports for this long is cleared. */
  readonly lastsMs: number
  /** It is about the store itself, so it stays in the memory of the process that sees it. */
  readonly isLocal?: true
}

const [minute, hour] = [60_000, 3_600_000]
/** For states that every process looks at again and again: several looks, because one may be late. */
const lookedAtMs = 2 * minute

export const alarmKindNames = [
  ...(['account_key', 'account_credit', 'circuit_open', 'attempt_held', 'orphan_cost', 'limit_reached'] as const),
  ...(['queue_old', 'disk_low', 'bucket_limit', 'bucket_failing', 'database_failing', 'endpoint_dead'] as const),
  ...(['price_stale', 'model_retired', 'clock_wrong', 'certificate_failing'] as const),
] as const
export type AlarmKind = (typeof alarmKindNames)[number]

export const alarmKinds: Readonly<Record<AlarmKind, AlarmFacts>> = {
  account_key: {
    severity: 'critical',
    cause: 'The provider refused the key of an account, or the account is not set up. It gets no new tasks.',
    firstAid: 'Check the key with `filmgate account test NAME`, replace it, then `filmgate account resume NAME`.',
    lastsMs: lookedAtMs,
  },
  account_credit: {
    severity: 'critical',
    cause: 'An account has no credit left at its provider. It gets no new tasks.',
    firstAid: 'Add credit at the provider, then `filmgate account resume NAME`.',
    lastsMs: lookedAtMs,
  },
  circuit_open: {
    severity: 'critical',
    cause: 'An account can’t be reached, or its responses are invalid, several times in a row. It gets no new tasks.',
    firstAid:
      'Check the provider with `filmgate account test NAME` and its status page. The account is tried again by itself.',
    lastsMs: lookedAtMs,
  },
  attempt_held: {
    severity: 'critical',
    cause: 'It is unknown whether a provider accepted a request, so its task is held.',
    firstAid:
      'List them with `filmgate task held`, look for each job at the provider, then adopt it, resubmit it or give it up.',
    lastsMs: lookedAtMs,
  },
  orphan_cost: {
    severity: 'warning',
    cause: 'A provider may bill a video that no task uses: it was accepted too late, or its outcome stays unknown.',
    firstAid:
      'List them with `filmgate task orphans`, and cancel each job at the provider if it exists and still runs.',
    lastsMs: lookedAtMs,
  },
  limit_reached: {
    severity: 'warning',
    cause: 'A project reached a spend cap, or a limit on waiting videos or stored bytes. Its submits are refused.',
    firstAid: 'Compare its use with its limits in `filmgate token show TOKEN`, and raise them if that is right.',
    lastsMs: 10 * minute,
  },
  queue_old: {
    severity: 'warning',
    cause: 'The oldest queued video of a model waits for longer than FILMGATE_ALARM_QUEUE_AGE.',
    firstAid: 'Check the accounts of the model with `filmgate status`; raise their concurrency, or add an account.',
    lastsMs: lookedAtMs,
  },
  disk_low: {
    severity: 'critical',
    cause: 'The disk of the data folder has less free space than FILMGATE_DISK_RESERVE. New videos are refused.',
    firstAid: 'Free some space or enlarge the disk. No restart is needed.',
    lastsMs: lookedAtMs,
  },
  bucket_limit: {
    severity: 'critical',
    cause: 'The videos of all projects take as much space as FILMGATE_BUCKET_LIMIT allows. New videos are refused.',
    firstAid: 'Delete videos, shorten FILMGATE_RETENTION, or raise FILMGATE_BUCKET_LIMIT.',
    lastsMs: 10 * minute,
  },
  bucket_failing: {
    severity: 'critical',
    cause: 'Videos can’t be stored, because the bucket does not respond or refuses writes.',
    firstAid:
      'See `cause` in the log, and check the bucket, its keys and its disk. Finished videos wait and are stored later.',
    lastsMs: lookedAtMs,
  },
  database_failing: {
    severity: 'critical',
    cause:
      'Rows can’t be written, because the database does not respond, is full or read-only. New videos are refused.',
    firstAid: 'Open `/readyz` for the reason, and check the database and its disk. No restart is needed.',
    lastsMs: lookedAtMs,
    isLocal: true,
  },
  endpoint_dead: {
    severity: 'warning',
    cause: 'A webhook endpoint of a project responded with 410, or did not accept an event for three days.',
    firstAid: 'Notify the owner of the project, who enables it with `filmgate webhooks enable ID` after a repair.',
    lastsMs: 24 * hour,
  },
  price_stale: {
    severity: 'warning',
    cause: 'Prices of a provider in the catalogue are older than 90 days, and videos are charged by them.',
    firstAid:
      'Compare them with the provider’s list, and set `cost` under `prices` in filmgate.yaml, or upgrade Filmgate.',
    lastsMs: lookedAtMs,
  },
  model_retired: {
    severity: 'warning',
    cause: 'A provider no longer knows a model, or has announced to retire it by now.',
    firstAid: 'Send the name to another model with `filmgate model set NAME --account ACCOUNT --model OTHER-MODEL`.',
    lastsMs: hour,
  },
  clock_wrong: {
    severity: 'critical',
    cause: 'The clock of a process differs from that of its database or of its providers by more than a minute.',
    firstAid: 'Run `timedatectl` on the machine, and start its time service (NTP).',
    lastsMs: lookedAtMs,
  },
  certificate_failing: {
    severity: 'critical',
    cause: 'The certificate of a provider, or of a host of its results, is not valid, so no request is sent to it.',
    firstAid: 'Check it with `openssl s_client -connect HOST:443`. It may have expired, or a proxy replaces it.',
    lastsMs: hour,
  },
}

const critical = alarmKindNames.filter((kind) => alarmKinds[kind].severity === 'critical')

/** For the order of a list in SQL: critical alarms come first. */
export const urgency = `CASE WHEN kind IN (${critical.map((kind) => `'${kind}'`).join(', ')}) THEN 0 ELSE 1 END`

/** What else is known, such as a number or a name. No secrets. */
export type AlarmDetails = Readonly<Record<string, string | number | boolean | null>>

/** One time that something was wrong, from its start to its end. For each kind and subject at most one is active. */
export interface Alarm {
  /** It begins with the time, so that ids are in that order. */
  readonly id: string
  readonly kind: AlarmKind
  /** The account, model, project, provider, host or machine that it is about. */
  readonly subject: string
  readonly details: AlarmDetails
  readonly raisedAt: number
  readonly lastSeen: number
  /** How many times it was reported. */
  readonly count: number
  /** The name of the operator's token. */
  readonly acknowledgedBy: string | null
  readonly acknowledgedAt: number | null
  readonly clearedAt: number | null
}

/** An alarm, and what one receiver has of it. */
export interface UnsentAlarm extends Alarm {
  /** When its start and its end were sent; 0: they need not be sent. */
  readonly raiseSentAt: number | null
  readonly clearSentAt: number | null
}

/** A report that something is wrong. It raises an alarm with this id, unless one of its kind and subject is active. */
export interface AlarmReport extends Pick<Alarm, 'id' | 'kind' | 'subject' | 'details' | 'count'> {
  readonly at: number
}

/** For each kind and subject at most one alarm is active. */
export function alarmKey({ kind, subject }: Pick<Alarm, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`
}

export const alarmStatuses = ['active', 'cleared', 'all'] as const
export type AlarmStatus = (typeof alarmStatuses)[number]

/** The two events that are sent to the operator. */
export type AlarmEvent = 'raised' | 'cleared'

export const alarmReceiverNames = ['webhook', 'slack'] as const
export type AlarmReceiverName = (typeof alarmReceiverNames)[number]

/** Where alarms are sent. The URLs contain tokens: they are never logged. */
export interface AlarmReceivers {
  readonly webhook: { readonly url: string; readonly secret: string } | null
  /** The URL of an incoming webhook of Slack. */
  readonly slack: string | null
}

/** How long cleared alarms are kept. */
export const alarmsKeptMs = 30 * 24 * hour

const longestSubject = 200

/** Clients choose some subjects: they are cut, and have no control characters. */
export function toSubject(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, longestSubject)
}

export function newAlarmId(at: number, random: Random): string {
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, '0')
  return `alarm_${time}${Buffer.from(random(8)).toString('hex')}`
}

export function isAlarmId(text: string): boolean {
  return /^alarm_[0-9a-f]{28}$/.test(text)
}

/** When the start and the end were sent to the receiver, and until when a process is sending one of them. */
export function sendingColumns(receiver: AlarmReceiverName) {
  return { raised: `${receiver}_raised_at`, cleared: `${receiver}_cleared_at`, until: `${receiver}_until` } as const
}

/** For SQL: the alarms whose start or end the receiver does not have. Partial indexes have the same condition. */
export function unsentCondition(receiver: AlarmReceiverName): string {
  const { raised, cleared } = sendingColumns(receiver)
  return `(${raised} IS NULL OR cleared_at IS NOT NULL AND ${cleared} IS NULL)`
}

export const alarmColumns = [
  ...['id', 'kind', 'subject', 'details', 'raised_at', 'last_seen', 'count', 'acknowledged_by', 'acknowledged_at'],
  ...['cleared_at', ...alarmReceiverNames.flatMap((receiver) => Object.values(sendingColumns(receiver)))],
]

/** All columns of an alarm, and those that `toUnsentAlarm` reads. */
export function unsentColumns(receiver: AlarmReceiverName): string {
  const { raised, cleared } = sendingColumns(receiver)
  return `${alarmColumns.join(', ')}, ${raised} AS raise_sent_at, ${cleared} AS clear_sent_at`
}

/** The first columns of a new alarm, in their order. */
export const reportColumns = alarmColumns.slice(0, 7)

export function fromReport({ id, kind, subject, details, at, count }: AlarmReport): (string | number)[] {
  return [id, kind, subject, JSON.stringify(details), at, at, count]
}

export function toAlarm(row: Row): Alarm {
  return {
    id: row.id as string,
    kind: row.kind as AlarmKind,
    subject: row.subject as string,
    details: JSON.parse(String(row.details)),
    raisedAt: row.raised_at as number,
    lastSeen: row.last_seen as number,
    count: row.count as number,
    acknowledgedBy: row.acknowledged_by as string | null,
    acknowledgedAt: row.acknowledged_at as number | null,
    clearedAt: row.cleared_at as number | null,
  }
}

export function toUnsentAlarm(row: Row): UnsentAlarm {
  const { raise_sent_at: raised, clear_sent_at: cleared } = row
  return { ...toAlarm(row), raiseSentAt: raised as number | null, clearSentAt: cleared as number | null }
}

/** What is known of the words in capitals in a first aid. */
function namesOf({ kind, subject, details }: Alarm): Readonly<Record<string, string>> {
  switch (kind) {
    case 'account_key':
    case 'account_credit':
    case 'circuit_open':
      return { NAME: subject }
    case 'limit_reached':
      // A project may have any number of tokens.
      return subject.startsWith('tok_') ? { TOKEN: subject } : {}
    case 'endpoint_dead':
      return { ID: String(details.endpoint ?? '') }
    case 'model_retired':
      return { NAME: subject.split(' at ')[0] ?? '' }
    case 'certificate_failing': {
      const [host = ''] = subject.split(' from ')
      return { 'HOST:443': host.includes(':') ? host : `${host}:443` }
    }
    default:
      return {}
  }
}

/** Operators paste it into a shell, and clients choose some names. */
const plainName = /^\w[\w.@:/-]*$/

function firstAidOf(alarm: Alarm): string {
  const names = new Map(Object.entries(namesOf(alarm)).filter(([, name]) => plainName.test(name)))
  return alarmKinds[alarm.kind].firstAid.replaceAll(/[\w-]+(?::\d+)?/g, (word) => names.get(word) ?? word)
}

/** As operators see it, in the API and in what is sent to them. */
export function describeAlarm(alarm: Alarm) {
  const { id, kind, subject, details, count } = alarm
  const { severity, cause } = alarmKinds[kind]
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  return {
    id,
    object: 'operator.alarm',
    kind,
    severity,
    subject,
    details,
    cause,
    first_aid: firstAidOf(alarm),
    runbook: `docs/runbook.md#${kind}`,
    raised_at: new Date(alarm.raisedAt).toISOString(),
    last_seen: new Date(alarm.lastSeen).toISOString(),
    count,
    acknowledged_by: alarm.acknowledgedBy,
    acknowledged_at: time(alarm.acknowledgedAt),
    cleared_at: time(alarm.clearedAt),
  } as const
}
