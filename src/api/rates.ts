import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Bucket, fullBucket, type Rate, refill, waitFor } from '../core/rate.ts'

interface Counted {
  rate: Rate
  bucket: Bucket
  /** The headers of a full bucket, which most answers have. */
  readonly whenFull: Record<string, string>
}

export interface RateOptions {
  clock: Clock
  /** For tokens that have none of their own; 0 is no limit. */
  perMinute: number
}

/**
 * How many videos each token may ask for. Every answer tells what is left, in OpenAI's headers and in those of the IETF
 * draft; only what makes a video counts. Each process counts for itself.
 */
export function openRates({ clock, perMinute: usual }: RateOptions) {
  const counts = new Map<string, Counted | null>()

  function countOf({ token }: FastifyRequest): Counted | null {
    const known = counts.get(token.name)
    if (known !== undefined) return known
    const rate = { perMinute: token.rate ?? usual }
    const bucket = fullBucket(rate, clock.now())
    const counted = rate.perMinute === 0 ? null : { rate, bucket, whenFull: headersOf(rate, bucket) }
    counts.set(token.name, counted)
    return counted
  }

  return {
    /** Tells what is left. */
    tell(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      const counted = countOf(request)
      if (counted) {
        const { rate, bucket, whenFull } = counted
        if (bucket.left === rate.perMinute) reply.headers(whenFull)
        else {
          counted.bucket = refill(bucket, rate, clock.now())
          reply.headers(headersOf(rate, counted.bucket))
        }
      }
      done()
    },
    /** Takes one, or refuses. */
    take(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      const counted = countOf(request)
      if (counted) {
        const { rate } = counted
        const bucket = refill(counted.bucket, rate, clock.now())
        const waitMs = waitFor(1, bucket, rate)
        counted.bucket = waitMs > 0 ? bucket : { ...bucket, left: bucket.left - 1 }
        reply.headers(headersOf(rate, counted.bucket))
        if (waitMs > 0) throw refused(rate, waitMs, reply)
      }
      done()
    },
  }
}

function refused({ perMinute }: Rate, waitMs: number, reply: FastifyReply): Problem {
  reply.headers({ 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) })
  const message = `Rate limit reached: this token may ask for ${perMinute} videos a minute. Try again in ${shown(waitMs)}.`
  return new Problem('rate_limit_exceeded', message)
}

function headersOf(rate: Rate, bucket: Bucket): Record<string, string> {
  const { perMinute } = rate
  const left = String(Math.floor(bucket.left))
  const fullMs = waitFor(perMinute, bucket, rate)
  return {
    'x-ratelimit-limit-requests': String(perMinute),
    'x-ratelimit-remaining-requests': left,
    'x-ratelimit-reset-requests': shown(fullMs),
    'ratelimit-policy': `"videos";q=${perMinute};w=60`,
    ratelimit: `"videos";r=${left};t=${Math.ceil(fullMs / 1_000)}`,
  }
}

/** As OpenAI writes it: 20ms, 1.5s, 6m0s. */
function shown(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  const seconds = Math.round(ms / 100) / 10
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`
}
