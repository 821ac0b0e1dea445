import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../stores/store.ts'

export interface HealthDependencies {
  store: Store
  bucket: Bucket
  clock: Clock
  /** Aborted when the service is asked to stop. */
  draining?: AbortSignal
}

type Found = 'ok' | 'unavailable'

/** What a check may take: whoever asks would rather know that it is slow. */
const patienceMs = 1_500

/** How long its answer is good for. */
const freshMs = 1_000

/** The process runs: whoever can restart it need not. */
export function livez() {
  return async () => ({ status: 'ok' })
}

/**
 * It can do its work: its store answers, and it is not about to stop. The bucket is told and does not count: polls, lists
 * and submits without an image need none, and would be refused by every process at once. Names no more than that to anybody.
 */
export function readyz({ store, bucket, clock, draining }: HealthDependencies) {
  const checkRows = share(() => store.tokens(), clock)
  // Nothing has this key: that this is known is all that is asked.
  const checkBytes = share(async () => (await bucket.open('readyz/probe'))?.[Symbol.asyncDispose](), clock)
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const [rows, bytes] = await Promise.all([checkRows(), checkBytes()])
    const state = draining?.aborted ? 'draining' : rows
    return reply.code(state === 'ok' ? 200 : 503).send({ status: state, store: rows, bucket: bytes })
  }
}

/**
 * One question for all who ask within a second, for anybody may ask. One that hangs can't be called back from a bucket:
 * no second one joins it, and until it ends there is no answer.
 */
function share(ask: () => Promise<unknown>, clock: Clock): () => Promise<Found> {
  let last: { at: number; isOpen: boolean; found: Promise<Found> } | undefined
  const begin = () => {
    const answered = ask().then(
      (): Found => 'ok',
      (): Found => 'unavailable',
    )
    const check = { at: clock.now(), isOpen: true, found: inTime(answered, clock) }
    void answered.then(() => {
      check.isOpen = false
    })
    return check
  }
  return () => {
    // The clock may have been set back.
    if (!last || (!last.isOpen && Math.abs(clock.now() - last.at) >= freshMs)) last = begin()
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
