import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Allowance, fullAllowance, type Rate, refill, waitFor } from '../core/rate.ts'

interface Counted {
  rate: Rate
  allowance: Allowance
  /** The headers of a full allowance, which most answers have. */
  readonly whenFull: Record<string, string>
}

export interface RateOptions {
  clock: Clock
  /** For tokens that have none of their own; 0 is no limit. */
  perMinute: number
}

/**
 * How many videos each token may ask for. Every answer tells what is left, in OpenAI's headers and in those of the IETF
 * draft; only requests to make one count. Each process counts for itself.
 */
export function openRates({ clock, perMinute: usual }: RateOptions) {
  const counts = new Map<string, Counted | null>()

  function countOf({ token }: FastifyRequest): Counted | null {
    const known = counts.get(token.name)
    if (known !== undefined) return known
    const rate = { perMinute: token.rate ?? usual }
    const allowance = fullAllowance(rate, clock.now())
    const counted = rate.perMinute === 0 ? null : { rate, allowance, whenFull: headersOf(rate, allowance) }
    counts.set(token.name, counted)
    return counted
  }

  return {
    /** Tells what is left. */
    tell(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      const counted = countOf(request)
      if (counted) {
        const { rate, allowance, whenFull } = counted
        if (allowance.left === rate.perMinute) reply.headers(whenFull)
        else {
          counted.allowance = refill(allowance, rate, clock.now())
          reply.headers(headersOf(rate, counted.allowance))
        }
      }
      done()
    },
    /** Takes one, or refuses. */
    take(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      const counted = countOf(request)
      if (counted) {
        const { rate } = counted
        const allowance = refill(counted.allowance, rate, clock.now())
        const waitMs = waitFor(1, allowance, rate)
        counted.allowance = waitMs > 0 ? allowance : { ...allowance, left: allowance.left - 1 }
        reply.headers(headersOf(rate, counted.allowance))
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

function headersOf(rate: Rate, allowance: Allowance): Record<string, string> {
  const { perMinute } = rate
  const left = String(Math.floor(allowance.left))
  const fullMs = waitFor(perMinute, allowance, rate)
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
