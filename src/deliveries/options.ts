import type { Access } from '../access.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { ClientOutbound } from '../outbound.ts'
import type { DeliveryStore, EndpointStore, NoticeStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

export interface DeliveryOptions {
  store: DeliveryStore & EndpointStore & NoticeStore
  outbound: { of(owner: string): Pick<ClientOutbound, 'post'> }
  clock: Clock
  random: Random
  log: Log
  /** Whether this process can open another connection: nothing is claimed where it can't, and no endpoint blamed. */
  hasFiles: () => boolean
  /** A delivery of an owner without a token waits until the token is back. */
  access: Pick<Access, 'knows'>
}

/** Who has nothing to do, or can't do it, looks again after this long even if nothing woke it. */
export const idleMs = 1_000

/** Longer than a try may take, so that none has to be renewed; what a dead process held is tried again after it. */
export const leaseMs = 60_000
