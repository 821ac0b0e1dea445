import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Allowance, fullAllowance, idOf, type Rate, refill, type Token, takeOne, waitFor } from '../core/token.ts'

interface Counted {
  rate: Rate
  allowance: Allowance
  /** The headers of the last responses. */
  shown: { at: number; headers: Record<string, string>; list?: readonly string[] }
}

/** Polls may show headers that are this old: building them for each poll would be slow. */
const freshMs = 100

interface RateOptions {
  clock: Clock
  access: Access
}

/** A value for each token, by its id, until the token is removed. */
function openByToken<Value>(access: Access): Map<string, Value> {
  const values = new Map<string, Value>()
  access.onChange(() => {
    for (const id of values.keys()) if (!access.token(id)) values.delete(id)
  })
  return values
}

/**
 * Limits how many videos each token may create. Every response shows the rest in OpenAI's headers and in those of the
 * IETF draft. Only requests that create videos count. Each process counts for itself.
 */
export function openRates({ clock, access }: RateOptions) {
  const counts = openByToken<Counted>(access)

  /** A rate that was changed starts with a full allowance. */
  function countOf(token: Token): Counted | undefined {
    const perMinute = access.rateOf(token)
    if (perMinute === 0) return undefined
    const known = counts.get(idOf(token))
    if (known?.rate.perMinute === perMinute) return known
    const rate = { perMinute }
    const counted = write({ rate, allowance: fullAllowance(rate, clock.now()) })
    counts.set(idOf(token), counted)
    return counted
  }

  const write = ({ rate, allowance }: Omit<Counted, 'shown'>): Counted => ({
    rate,
    allowance,
    shown: { at: allowance.at, headers: headersOf(rate, allowance) },
  })

  /** The headers of a response, if the token has a limit. */
  function shownTo(token: Token): Counted['shown'] | undefined {
    const counted = countOf(token)
    if (!counted) return undefined
    const now = clock.now()
    const { rate, allowance, shown } = counted
    if (Math.abs(now - shown.at) >= freshMs)
      Object.assign(counted, write({ rate, allowance: refill(allowance, rate, now) }))
    return counted.shown
  }

  return {
    /** Names and values in turn. */
    headerList(token: Token): readonly string[] {
      const shown = shownTo(token)
      if (!shown) return []
      shown.list ??= Object.entries(shown.headers).flat()
      return shown.list
    },
    addHeaders({ token }: FastifyRequest, reply: FastifyReply): void {
      const shown = shownTo(token)
      if (shown) reply.headers(shown.headers)
    },
    /** Counts one video, or throws. */
    take(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      const counted = countOf(request.token)
      if (counted) {
        const { rate } = counted
        const { allowance, waitMs } = takeOne(counted.allowance, rate, clock.now())
        Object.assign(counted, write({ rate, allowance }))
        reply.headers(counted.shown.headers).header('ratelimit-policy', `"videos";q=${rate.perMinute};w=60`)
        if (waitMs > 0) throw refused(`create ${rate.perMinute} videos per minute`, waitMs, reply)
      }
      done()
    },
  }
}

const writes: Rate = { perMinute: 60 }
const writing = `create, change, test and replay webhook endpoints ${writes.perMinute} times per minute`
const quotes: Rate = { perMinute: 120 }
const quoting = `request ${quotes.perMinute} quotes per minute`

/** A hook that limits requests which resolve a host name or send to one. */
export function limitWrites(options: RateOptions) {
  return limit(options, writes, writing)
}

/** The same for quotes, which create nothing and do not count as videos. */
export function limitQuotes(options: RateOptions) {
  return limit(options, quotes, quoting)
}

/** Each process counts for itself. */
function limit({ clock, access }: RateOptions, rate: Rate, action: string) {
  const allowances = openByToken<Allowance>(access)
  return ({ token }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const now = clock.now()
    const { allowance, waitMs } = takeOne(allowances.get(idOf(token)) ?? fullAllowance(rate, now), rate, now)
    allowances.set(idOf(token), allowance)
    if (waitMs > 0) throw refused(action, waitMs, reply)
    done()
  }
}

/** The problem for a token that did something too often. The headers say when it may try again. */
function refused(action: string, waitMs: number, reply: FastifyReply): Problem {
  reply.headers({ 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) })
  return new Problem(
    'rate_limit_exceeded',
    `Rate limit reached: this token may ${action}. Try again in ${durationText(waitMs)}.`,
  )
}

function headersOf(rate: Rate, allowance: Allowance): Record<string, string> {
  const { perMinute } = rate
  const left = String(Math.floor(allowance.left))
  const fullMs = waitFor(perMinute, allowance, rate)
  return {
    'x-ratelimit-limit-requests': String(perMinute),
    'x-ratelimit-remaining-requests': left,
    'x-ratelimit-reset-requests': durationText(fullMs),
    ratelimit: `"videos";r=${left};t=${Math.ceil(fullMs / 1_000)}`,
  }
}

/** In OpenAI's format: 20ms, 1.5s, 6m0s. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  const seconds = Math.round(ms / 100) / 10
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`
}
