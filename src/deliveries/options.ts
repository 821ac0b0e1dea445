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
  /**
   * Whether this process can open another connection. If not, nothing is claimed, so that no endpoint is blamed for it.
   */
  hasFiles: () => boolean
  /** The deliveries of an owner without a token wait until the token exists again. */
  access: Pick<Access, 'knows'>
}

/** The longest time between two looks, even if nothing rings the bell. */
export const idleMs = 1_000

/** Longer than a try may take, so that no lease is renewed. Deliveries of a dead process are tried again after it. */
export const leaseMs = 60_000
