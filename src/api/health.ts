import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '../buckets/bucket.ts'
import type { AlarmKind } from '../core/alarms.ts'
import type { Clock } from '../core/clock.ts'
import { openOutage } from '../core/outage.ts'
import { type StorageFault, storageFaultOf } from '../core/storage-fault.ts'
import type { ProbeStore } from '../stores/store.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Log } from '../telemetry/log.ts'
import { Alive, Readiness } from '../wire/service.ts'
import type { Route } from './route.ts'

export interface HealthDependencies {
  /** A check that several parts share. */
  readiness: CheckReadiness
}

interface ReadinessOptions {
  store: ProbeStore
  bucket: Bucket
  clock: Clock
  log: Log
  alarms?: Alarms
  /** The subject of alarms about this process. */
  machine?: string
  /** Aborted when the service begins to stop. */
  draining?: AbortSignal
}

/** `keepMs`: for how long later calls get the result too, if it is a success. */
type CheckReadiness = (keepMs?: number) => Promise<Readiness>

type StorageState = 'ok' | StorageFault

/** A check that takes longer counts as failed. */
const storageCheckMs = 1_500

/** One check may be late because the machine is busy: that is no alarm. */
const alarmAfterMs = 2_000

/** How long a result is reused. A check writes, so a successful one is not repeated every second. */
const freshMs = { ok: 5_000, other: 1_000 }

export function healthRoutes(dependencies: HealthDependencies): Route[] {
  return [
    {
      at: 'GET /livez',
      id: 'live',
      summary: 'Is the process alive?',
      description: 'Restart the process if it does not respond.',
      responses: { 200: { description: 'The process is alive.', schema: Alive } },
      handler: async () => ({ status: 'ok' }),
    },
    {
      at: 'GET /readyz',
      id: 'ready',
      summary: 'Is the process ready?',
      description: 'If not, send requests to another process.',
      responses: {
        200: { description: 'The process is ready.', schema: Readiness },
        503: { description: 'The process is not ready; `reason` says why.', schema: Readiness },
      },
      handler: readyz(dependencies),
    },
  ]
}

/**
 * Ready means: the store can be written, and the service is not stopping. The bucket is reported but does not count:
 * polls, lists and submits without an image don't need it, and every process would refuse them at once. The route needs
 * no token, so it gives one of a few fixed reasons; the log has the cause.
 */
export function openReadiness(options: ReadinessOptions): CheckReadiness {
  const { store, bucket, clock, log, alarms, machine = 'this machine', draining } = options
  const reportStore = openReport({ log, clock }, 'the store')
  const reportBucket = openReport({ log, clock }, 'the bucket')
  const checkRows = shareCheck(() => store.checkWritable(), clock, reportStore)
  const checkBytes = shareCheck(() => bucket.checkWritable(), clock, reportBucket)
  const failingSince = new Map<AlarmKind, number>()
  const note = (kind: 'database_failing' | 'bucket_failing', found: StorageState) => {
    const now = clock.now()
    const since = failingSince.get(kind) ?? now
    if (found === 'ok') {
      failingSince.delete(kind)
      alarms?.clear(kind, machine)
    } else {
      failingSince.set(kind, since)
      if (found !== 'unavailable' || now - since >= alarmAfterMs) alarms?.raise(kind, machine, { found })
    }
  }
  return async (keepMs = freshMs.ok) => {
    const [rows, bytes] = await Promise.all([checkRows(keepMs), checkBytes(keepMs)])
    const status = draining?.aborted ? 'draining' : rows === 'ok' ? 'ok' : 'unavailable'
    const reason = status === 'draining' ? reasons.draining : rows === 'ok' ? null : reasons[rows]
    note('database_failing', rows)
    note('bucket_failing', bytes)
    return { status, reason, store: rows, bucket: bytes }
  }
}

export function readyz({ readiness }: HealthDependencies) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const found = await readiness()
    return reply.code(found.status === 'ok' ? 200 : 503).send(found)
  }
}

const reasons = {
  full: 'The disk of the database is full. Reads work, but nothing can be created. Free some space; no restart is needed.',
  read_only:
    'The database is read-only. Reads work, but nothing can be created. Make it writable; no restart is needed.',
  unavailable: 'The database does not respond in time, or refuses writes. See the log for the cause.',
  draining: 'The service is stopping.',
} as const

/** Logs each fault once, and its end. */
function openReport(tools: Pick<ReadinessOptions, 'log' | 'clock'>, subject: string) {
  const lines = { down: `${subject} can't be written`, up: `${subject} can be written again` }
  const outage = openOutage({ ...tools, ...lines })
  return (found: StorageState, cause?: unknown) => {
    if (found === 'ok') outage.worked()
    else outage.failed({ found, cause }, found)
  }
}

interface Check {
  at: number
  /** It is still running. */
  isOpen: boolean
  freshMs: number
  found: Promise<StorageState>
}

/**
 * One check for all requests within a second, because anybody may send them. A check of a bucket can't be aborted:
 * while one hangs, no second one is started.
 */
function shareCheck(
  probe: () => Promise<unknown>,
  clock: Clock,
  report: (found: StorageState, cause?: unknown) => void,
): (keepMs: number) => Promise<StorageState> {
  let last: Check | undefined
  const begin = (keepMs: number): Check => {
    const ended = probe().then(
      (): StorageState => {
        report('ok')
        return 'ok'
      },
      (error): StorageState => {
        report(storageFaultOf(error), error)
        return storageFaultOf(error)
      },
    )
    const check: Check = { at: clock.now(), isOpen: true, freshMs: freshMs.other, found: inTime(ended, clock) }
    void ended.then(() => {
      check.isOpen = false
    })
    void check.found.then((found) => {
      if (found === 'ok') check.freshMs = keepMs
      // A check that timed out may succeed by now.
      else if (check.isOpen) check.freshMs = 0
    })
    return check
  }
  return (keepMs) => {
    // The clock may have been set back.
    if (!last || (!last.isOpen && Math.abs(clock.now() - last.at) >= last.freshMs)) last = begin(keepMs)
    return last.found
  }
}

async function inTime(ended: Promise<StorageState>, clock: Clock): Promise<StorageState> {
  const over = new AbortController()
  const late = clock.sleep(storageCheckMs, over.signal).then((): StorageState => 'unavailable')
  const found = await Promise.race([ended, late])
  over.abort()
  return found
}
