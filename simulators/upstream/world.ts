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
}

export interface Ledger extends Log {
  accepts: Accept[]
}

export function note(world: World, { name }: Fault, prompt: string | null, id: string | null): void {
  world.log.faults.push({ fault: name, prompt, id, at: Date.now() })
}
