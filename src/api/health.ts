import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import { type StorageFault, storageFaultOf } from '../core/storage-fault.ts'
import type { ProbeStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import { Alive, Readiness } from '../wire/service.ts'
import type { Route } from './route.ts'

export interface HealthDependencies {
  store: ProbeStore
  bucket: Bucket
  clock: Clock
  log: Log
  /** Aborted when the service is asked to stop. */
  draining?: AbortSignal
}

type Found = 'ok' | StorageFault

/** What a check may take: whoever asks would rather know that it is slow. */
const patienceMs = 1_500

/** How long its result is good for. A check writes, so one that went well is not repeated every second. */
const freshMs = { ok: 5_000, other: 1_000 }

export function healthRoutes(dependencies: HealthDependencies): Route[] {
  return [
    {
      at: 'GET /livez',
      id: 'live',
      summary: 'Is the process alive?',
      description: 'Restart the process if it does not respond.',
      answers: { 200: { description: 'The process is alive.', schema: Alive } },
      handler: async () => ({ status: 'ok' }),
    },
    {
      at: 'GET /readyz',
      id: 'ready',
      summary: 'Can it do its work?',
      description: 'If not, send requests to another process.',
      answers: {
        200: { description: 'The process is ready.', schema: Readiness },
        503: { description: 'The process is not ready; `reason` says why.', schema: Readiness },
      },
      handler: readyz(dependencies),
    },
  ]
}

/**
 * It can do its work: its store can be written, and it is not about to stop. The bucket is told and does not count: polls,
 * lists and submits without an image need none, and would be refused by every process at once. Anybody may ask, so it
 * gives one of a few reasons; the log has the cause.
 */
export function readyz({ store, bucket, clock, log, draining }: HealthDependencies) {
  const sayStore = openNews(log, 'the store')
  const sayBucket = openNews(log, 'the bucket')
  const checkRows = share(() => store.checkWritable(), clock, sayStore)
  const checkBytes = share(() => bucket.checkWritable?.() ?? lookFor(bucket), clock, sayBucket)
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const [rows, bytes] = await Promise.all([checkRows(), checkBytes()])
    const status = draining?.aborted ? 'draining' : rows === 'ok' ? 'ok' : 'unavailable'
    const reason = status === 'draining' ? reasons.draining : rows === 'ok' ? null : reasons[rows]
    const readiness: Readiness = { status, reason, store: rows, bucket: bytes }
    return reply.code(status === 'ok' ? 200 : 503).send(readiness)
  }
}

const reasons = {
  full: 'The disk of the database is full. Reads go on, nothing can be created. Free some space; no restart is needed.',
  read_only:
    'The database can only be read. Reads go on, nothing can be created. Make it writable; no restart is needed.',
  unavailable: 'The database does not respond in time, or refuses to write. The log has the cause.',
  draining: 'The service is stopping.',
} as const

/** Nothing has this key: that this is known is all that is asked. */
async function lookFor(bucket: Bucket): Promise<void> {
  await (await bucket.open('readyz/probe'))?.[Symbol.asyncDispose]()
}

/** Says it once when the result has changed: the first thing that an operator looks for. */
function openNews(log: Log, what: string): (found: Found, cause?: unknown) => void {
  let last: Found = 'ok'
  return (found, cause) => {
    if (found === last) return
    last = found
    if (found === 'ok') log.info(`${what} can be written again`)
    else log.error(`${what} can not be written`, { found, cause })
  }
}

interface Check {
  at: number
  /** It has not answered yet. */
  isOpen: boolean
  freshMs: number
  found: Promise<Found>
}

/**
 * One question for all who ask within a second, for anybody may ask. One that hangs can't be called back from a bucket:
 * no second one joins it, and until it ends there is no answer.
 */
function share(
  ask: () => Promise<unknown>,
  clock: Clock,
  say: (found: Found, cause?: unknown) => void,
): () => Promise<Found> {
  let last: Check | undefined
  const begin = (): Check => {
    const answered = ask().then(
      (): Found => {
        say('ok')
        return 'ok'
      },
      (error): Found => {
        say(storageFaultOf(error), error)
        return storageFaultOf(error)
      },
    )
    const check: Check = { at: clock.now(), isOpen: true, freshMs: freshMs.other, found: inTime(answered, clock) }
    void answered.then(() => {
      check.isOpen = false
    })
    void check.found.then((found) => {
      if (found === 'ok') check.freshMs = freshMs.ok
      // What was given up on may be well by now.
      else if (check.isOpen) check.freshMs = 0
    })
    return check
  }
  return () => {
    // The clock may have been set back.
    if (!last || (!last.isOpen && Math.abs(clock.now() - last.at) >= last.freshMs)) last = begin()
    return last.found
  }
}

async function inTime(answered: Promise<Found>, clock: Clock): Promise<Found> {
  const over = new AbortController()
  const late = clock.sleep(patienceMs, over.signal).then((): Found => 'unavailable')
  const found = await Promise.race([answered, late])
  over.abort()
  return found
}
