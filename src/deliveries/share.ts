import type { EndpointClaim } from '../stores/store.ts'

/** How many requests may be under way: to one host, and to all. */
export const perHost = 8
export const inAll = 64

interface Waiting {
  id: string
  host: string
}

/** What is under way to each host, and which of them gave no answer the last time. */
export interface Traffic {
  readonly busy: ReadonlyMap<string, number>
  readonly silent: ReadonlySet<string>
}

/**
 * Whose turn it is: one for each endpoint, then one more, as long as there is room. Hosts that gave no answer share half of
 * all places, so that those which answer never wait for them, however many they are.
 */
export function shareOut(endpoints: readonly Waiting[], { busy, silent }: Traffic): EndpointClaim[] {
  const used = new Map(busy)
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
  let room = inAll - sum([...busy.values()])
  let silentRoom = inAll / 2 - sum([...silent].map((host) => busy.get(host) ?? 0))
  const claims = new Map<string, number>()
  for (let round = 0; round < perHost && room > 0; round += 1) {
    for (const { id, host } of endpoints) {
      const isSilent = silent.has(host)
      if (room === 0 || (used.get(host) ?? 0) >= perHost || (isSilent && silentRoom <= 0)) continue
      used.set(host, (used.get(host) ?? 0) + 1)
      claims.set(id, (claims.get(id) ?? 0) + 1)
      room -= 1
      if (isSilent) silentRoom -= 1
    }
  }
  return [...claims].map(([endpoint, limit]) => ({ endpoint, limit }))
}
