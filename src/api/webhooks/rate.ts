import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { type Allowance, fullAllowance, type Rate, refill, waitFor } from '../../core/rate.ts'
import { refused } from '../rates.ts'

const rate: Rate = { perMinute: 60 }
const what = `create, change and test webhook endpoints ${rate.perMinute} times a minute`

/** A hook for requests that resolve a host name or send to one, as often as a client likes. Each process counts for itself. */
export function limitWrites(clock: Clock) {
  const allowances = new Map<string, Allowance>()
  return ({ token }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const now = clock.now()
    const allowance = refill(allowances.get(token.name) ?? fullAllowance(rate, now), rate, now)
    const waitMs = waitFor(1, allowance, rate)
    allowances.set(token.name, waitMs > 0 ? allowance : { ...allowance, left: allowance.left - 1 })
    if (waitMs > 0) throw refused(what, waitMs, reply)
    done()
  }
}
