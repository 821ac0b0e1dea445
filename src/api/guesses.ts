import type { FastifyReply, FastifyRequest } from 'fastify'
import { openBounded } from '../core/bounded.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Allowance, fullAllowance, type Rate, refill, waitFor } from '../core/token.ts'
import { clientAddressOf, networkOf } from './addresses.ts'

/** The error for a secret that no token has. */
export class UnknownSecret extends Problem {
  constructor(message: string) {
    super('invalid_api_key', message)
  }
}

/** An address may send so many unknown secrets before its responses come later. */
const rate: Rate = { perMinute: 20 }
const longestMs = 5_000
/** About 10 MB. An address that was dropped begins again. */
const mostAddresses = 50_000
/** Each holds a connection. Beyond that, the connection is closed instead. */
const mostWaiting = 256

export interface Guesses {
  /** Passes the error on, later if its address has sent many unknown secrets. Other requests are never delayed. */
  refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, done: (error: Error) => void): void
}

/** Slows down addresses that try secrets. A valid token is accepted at once, from any address. */
export function openGuesses(clock: Clock): Guesses {
  const allowances = openBounded<Allowance>(mostAddresses)
  let waiting = 0

  /** Below zero the address has to wait; at most for the longest time. */
  function take(address: string): number {
    const now = clock.now()
    const filled = refill(allowances.get(address) ?? fullAllowance(rate, now), rate, now)
    const least = (-longestMs * rate.perMinute) / 60_000
    const allowance = { ...filled, left: Math.max(least, filled.left - 1) }
    // Again at the end, because the oldest is dropped first.
    allowances.delete(address)
    allowances.set(address, allowance)
    return waitFor(0, allowance, rate)
  }

  return {
    refuse(error, request, reply, done) {
      const problem = Problem.from(error)
      const waitMs = problem instanceof UnknownSecret ? take(networkOf(clientAddressOf(request))) : 0
      if (waitMs === 0) return done(problem)
      if (waiting >= mostWaiting) {
        // Without a response, which would show whether the secret is right.
        reply.hijack()
        // Not the request: one without a body has ended, and destroying it would leave its connection open.
        return void request.raw.socket.destroy()
      }
      waiting += 1
      void clock.sleep(waitMs).then(() => {
        waiting -= 1
        done(problem)
      })
    },
  }
}
