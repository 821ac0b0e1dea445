import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { type Allowance, fullAllowance, type Rate, takeOne } from '../../core/rate.ts'
import { refused } from '../rates.ts'

const rate: Rate = { perMinute: 60 }
const what = `create, change, test and replay webhook endpoints ${rate.perMinute} times a minute`

/** A hook for requests that resolve a host name or send to one, as often as a client likes. Each process counts for itself. */
export function limitWrites(clock: Clock) {
  const allowances = new Map<string, Allowance>()
  return ({ token }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const now = clock.now()
    const { allowance, waitMs } = takeOne(allowances.get(token.name) ?? fullAllowance(rate, now), rate, now)
    allowances.set(token.name, allowance)
    if (waitMs > 0) throw refused(what, waitMs, reply)
    done()
  }
}
