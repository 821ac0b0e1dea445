import { openSlots, type Rotation, type Slots, takeInRounds } from '../core/shares.ts'
import type { EndpointClaim } from '../stores/store.ts'

/** How many requests may run at once, to one host and in total. A single owner gets at most half of each. */
export const perHost = 16
export const inAll = 64

/** One owner's requests to one host. */
export interface OwnerHost {
  owner: string
  host: string
}

interface Waiting extends OwnerHost {
  id: string
}

export interface Traffic {
  /** The owner and the host of each running request. */
  running(): Iterable<OwnerHost>
  /** Whether the last request of that owner to that host got no response, or a slow one. */
  isSilent(ownerHost: OwnerHost): boolean
}

/**
 * Decides whose turn it is: one request for each owner, then one more, as long as there are slots. Silent hosts share
 * half of all slots, so that hosts which respond never wait for them.
 */
export function shareOut(endpoints: readonly Waiting[], traffic: Traffic, rotation: Rotation): EndpointClaim[] {
  const slotsOf = openTrafficSlots(traffic)
  for (const ownerHost of traffic.running()) for (const slots of slotsOf(ownerHost)) slots.take(ownerHost.owner)
  const lines = Map.groupBy(endpoints, ({ owner }) => owner)
  const claims = new Map<string, number>()
  takeInRounds(rotation.inTurn([...lines.keys()]), (owner) => {
    const line = lines.get(owner) ?? []
    for (let next = line.shift(); next; next = line.shift()) {
      const needed = slotsOf(next)
      if (!needed.every((slots) => slots.hasSlot(owner))) continue
      for (const slots of needed) slots.take(owner)
      claims.set(next.id, (claims.get(next.id) ?? 0) + 1)
      line.push(next)
      return true
    }
    return false
  })
  return [...claims].map(([endpoint, limit]) => ({ endpoint, limit }))
}

/** A request takes one slot of each. */
function openTrafficSlots({ isSilent }: Traffic): (ownerHost: OwnerHost) => Slots[] {
  const [all, silent] = [openSlots(inAll), openSlots(inAll / 2)]
  const hosts = new Map<string, Slots>()
  return (ownerHost) => {
    const host = hosts.get(ownerHost.host) ?? openSlots(perHost)
    hosts.set(ownerHost.host, host)
    return isSilent(ownerHost) ? [all, host, silent] : [all, host]
  }
}
