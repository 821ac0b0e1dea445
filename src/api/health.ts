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

/** What a check may take: whoever asks would rather know that it is slow. */
const patienceMs = 1_500

/** The process runs: whoever can restart it need not. */
export function livez() {
  return async () => ({ status: 'ok' })
}

/** It can do its work: what it needs answers, and it is not about to stop. Names no more than that to anybody. */
export function readyz({ store, bucket, clock, draining }: HealthDependencies) {
  const check = async (ask: () => Promise<unknown>): Promise<'ok' | 'unavailable'> => {
    const answered = ask().then(
      () => 'ok' as const,
      () => 'unavailable' as const,
    )
    const late = clock.sleep(patienceMs).then(() => 'unavailable' as const)
    return Promise.race([answered, late])
  }
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const [rows, bytes] = await Promise.all([
      check(() => store.tokens()),
      // Nothing has this key: that this is known is all that is asked.
      check(async () => (await bucket.open('readyz/probe'))?.[Symbol.asyncDispose]()),
    ])
    const state = draining?.aborted ? 'draining' : rows === 'ok' && bytes === 'ok' ? 'ok' : 'unavailable'
    return reply.code(state === 'ok' ? 200 : 503).send({ status: state, store: rows, bucket: bytes })
  }
}
