import { type AccountHealth, type AccountView, isLocalName, processOf } from '../../core/account.ts'
import { type Alarm, describeAlarm } from '../../core/alarms.ts'
import type { Clock } from '../../core/clock.ts'
import { type Figures, tasksByState } from '../../core/figures.ts'
import { openOutage } from '../../core/outage.ts'
import type { AlarmStore, HealthStore } from '../../stores/store.ts'
import type { Log } from '../../telemetry/log.ts'
import { OperatorStatus } from '../../wire/alarms.ts'
import type { HealthDependencies } from '../health.ts'
import type { Route } from '../route.ts'
import type { StoredBytes } from '../stored-bytes.ts'
import { iso } from '../wire.ts'
import { describeHealth } from './accounts.ts'

export interface StatusDependencies extends HealthDependencies {
  store: Pick<AlarmStore, 'activeAlarms'> & Pick<HealthStore, 'healths'>
  accounts: ReadonlyMap<string, AccountView>
  /** Reads the health of the accounts, which processes share, and the figures of the store. */
  figures: () => Promise<Figures>
  clock: Clock
  log: Log
  /** Active alarms about the store itself, which this process keeps in memory. */
  localAlarms: () => readonly Alarm[]
  /** 0 is no limit. */
  bucketLimit: number
  service: ServiceFacts
}

/** What the status says about the process that responds. */
interface ServiceFacts {
  /** As other processes know it. */
  readonly name: string
  readonly version: string
  readonly store: string
  readonly bucket: string
}

/** A process reports every 5 seconds that it lives. */
const seenMs = 60_000
const mostAlarms = 100

export function statusRoute(dependencies: StatusDependencies, stored: Pick<StoredBytes, 'all'>): Route {
  return {
    at: 'GET /operator/v1/status',
    id: 'showStatus',
    summary: 'Show the whole service',
    description:
      'Health, processes, accounts, tasks, queues and active alarms. It also responds while the database does not: what is unknown then is null or empty.',
    responses: { 200: { description: 'The status.', schema: OperatorStatus } },
    handler: showStatus(dependencies, stored),
  }
}

function showStatus(dependencies: StatusDependencies, stored: Pick<StoredBytes, 'all'>) {
  const { accounts, clock, log, localAlarms, bucketLimit, service, readiness } = dependencies
  const lines = { down: 'the status is incomplete: the store does not respond', up: 'the status is complete again' }
  const outage = openOutage({ log, clock, ...lines, level: 'warn' })
  /** Null while the store does not respond. */
  const read = async () => {
    try {
      const rows = await readRows(dependencies, stored)
      outage.worked()
      return rows
    } catch (error) {
      outage.failed({ error })
      return null
    }
  }
  return async (): Promise<OperatorStatus> => {
    const health = await readiness()
    const rows = await read()
    const now = clock.now()
    return {
      object: 'operator.status',
      version: service.version,
      at: iso(now),
      health,
      store: service.store,
      bucket: service.bucket,
      stored_bytes: rows?.bytes ?? null,
      bucket_limit: bucketLimit === 0 ? null : bucketLimit,
      processes: [
        { name: service.name, last_seen: iso(now), responded: true },
        ...othersIn(rows?.reports ?? [], now).filter(({ name }) => name !== service.name),
      ],
      tasks: rows && tasksByState(rows.figures),
      queues: queuesIn(rows?.figures.queues ?? [], now),
      accounts: [...accounts.values()].map(({ name, provider, mode = 'active', concurrency, health }) => ({
        name,
        provider: provider.name,
        mode,
        health: describeHealth(health, now),
        slots: concurrency,
        used_slots: rows?.figures.slots.find(({ account }) => account === name)?.used ?? null,
      })),
      alarms: [...localAlarms(), ...(rows?.alarms ?? [])].map(describeAlarm),
    }
  }
}

async function readRows(dependencies: StatusDependencies, stored: Pick<StoredBytes, 'all'>) {
  const { store } = dependencies
  const [figures, alarms, reports, bytes] = await Promise.all([
    dependencies.figures(),
    store.activeAlarms(mostAlarms),
    store.healths(),
    stored.all(),
  ])
  return { figures, alarms, reports, bytes }
}

/** Processes report under the names of their local accounts, `studio@NAME`, or as `@NAME`. */
function othersIn(reports: readonly AccountHealth[], now: number) {
  const seen = new Map<string, number>()
  for (const { account, changedAt } of reports) {
    const name = processOf(account)
    if (isLocalName(account) && now - changedAt < seenMs) seen.set(name, Math.max(changedAt, seen.get(name) ?? 0))
  }
  return [...seen].map(([name, at]) => ({ name, last_seen: iso(at), responded: false }))
}

function queuesIn(queues: Figures['queues'], now: number) {
  return queues
    .flatMap(({ card, oldestAt }) => (oldestAt === null ? [] : [{ card, at: oldestAt }]))
    .sort((one, other) => one.at - other.at)
    .map(({ card, at }) => ({
      model: card,
      oldest_at: iso(at),
      age_seconds: Math.max(0, Math.floor((now - at) / 1_000)),
    }))
}
