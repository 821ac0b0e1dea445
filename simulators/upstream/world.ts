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
  /** Of the provider, and of the host of its films. */
  origin: string
  films: string
  /** Does it after so many milliseconds, unless the upstream is closed by then. */
  later(ms: number, action: () => void): void
  /** Nobody listens for a while. */
  refuse(): void
  setFaults(orders: Orders): void
}

/** What happened besides the accepts. */
export interface Log {
  /** All requests but those to the ledger and the faults. */
  requests: number
  /** All submits with a key whose head arrived, whatever became of them. */
  submits: number
  faults: { fault: string; prompt: string | null; id: string | null; at: number }[]
  /** Each submit that was read, accepted or not, and each question for jobs, in the order of their arrival. */
  arrivals: Arrival[]
}

export interface Arrival {
  ask: 'submit' | 'find'
  /** When its head was here, in milliseconds with fractions. */
  at: number
  /** Of a submit. */
  prompt: string | null
  /** Of the submit, or the one that is looked for; null where the wire has none. */
  reference: string | null
  /** What it was answered with; null if it got no whole answer. */
  status: number | null
}

export interface Ledger extends Log {
  accepts: Accept[]
}

/** A status says nothing if the bytes after it do not end as they should. */
export function noteArrival(world: World, arrival: Omit<Arrival, 'status'>, answer: Answer | Silence): void {
  const isWhole = typeof answer !== 'string' && (answer.ending === undefined || answer.ending === 'drip')
  world.log.arrivals.push({ ...arrival, status: isWhole ? answer.status : null })
}

/** To compare moments of several processes on one machine. */
export function exactNow(): number {
  return performance.timeOrigin + performance.now()
}

export function note(world: World, { name }: Fault, prompt: string | null, id: string | null): void {
  world.log.faults.push({ fault: name, prompt, id, at: Date.now() })
}
