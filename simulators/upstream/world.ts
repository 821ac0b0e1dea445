import type { Answer, Silence } from './answer.ts'
import type { Fault } from './faults.ts'
import type { Accept, Jobs } from './jobs.ts'
import type { Orders, Plan } from './plan.ts'
import type { Wire } from './wire.ts'

/** What every route works with. */
export interface World {
  readonly wire: Wire
  readonly jobs: Jobs
  readonly plan: Plan
  readonly film: Uint8Array
  readonly log: Log
  /** The origins of the provider and of the host of its films. */
  origin: string
  films: string
  /** Runs the action after so many milliseconds, unless the upstream is closed by then. */
  later(ms: number, action: () => void): void
  /** Refuses connections for a while. */
  refuse(): void
  setFaults(orders: Orders): void
}

/** The ledger without the accepts. */
export interface Log {
  /** All requests except those to the ledger and the faults. */
  requests: number
  /** All submits with a key whose head arrived. */
  submits: number
  faults: { fault: string; prompt: string | null; id: string | null; at: number }[]
  /** Each submit that was read, accepted or not, and each lookup or list, in order of arrival. */
  arrivals: Arrival[]
}

export interface Arrival {
  ask: 'submit' | 'find'
  /** When its head arrived, in milliseconds with fractions. */
  at: number
  /** The prompt of a submit. */
  prompt: string | null
  /** The reference of the submit, or of the lookup; null if the wire has none. */
  reference: string | null
  /** The status of its answer; null if it got no complete answer. */
  status: number | null
}

export interface Ledger extends Log {
  accepts: Accept[]
}

/** The status counts only if the body was complete. */
export function noteArrival(world: World, arrival: Omit<Arrival, 'status'>, answer: Answer | Silence): void {
  const isWhole = typeof answer !== 'string' && (answer.ending === undefined || answer.ending === 'drip')
  world.log.arrivals.push({ ...arrival, status: isWhole ? answer.status : null })
}

/** A time that several processes on one machine can compare. */
export function exactNow(): number {
  return performance.timeOrigin + performance.now()
}

export function note(world: World, { name }: Fault, prompt: string | null, id: string | null): void {
  world.log.faults.push({ fault: name, prompt, id, at: Date.now() })
}
