import { type Bell, openBell } from './core/bell.ts'
import { waitAtMost } from './core/clock.ts'
import { openOutage } from './core/outage.ts'
import { stepRows } from './core/row.ts'
import { openRotation, type Rotation } from './core/shares.ts'
import { graceMs } from './core/timing.ts'
import { shareOut } from './deliveries/share.ts'
import { type DeliveryOptions, idleMs, leaseMs, openTries, ownerHostOf, type Tries } from './deliveries/tries.ts'

export type { DeliveryOptions } from './deliveries/tries.ts'

/** Disposing drains: no new claims; running tries get `graceMs` to end, then they are aborted and keep their lease. */
type Deliveries = AsyncDisposable

/**
 * claim → POST → record, for webhooks. Each event is delivered at least once: a try with an unknown outcome is repeated
 * under the same id.
 */
export function startDeliveries(options: DeliveryOptions): Deliveries {
  const { store, clock } = options
  const [stop, cut] = [new AbortController(), new AbortController()]
  const bell = openBell(clock, options.spacing)
  const tries = openTries(options, { signal: cut.signal, onEnd: bell.ring })
  const stopListening = store.onNotice(bell.ring)
  const looking = keepLooking(options, { tries, bell, signal: stop.signal })
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      stopListening()
      await looking
      const settled = tries.settled()
      await waitAtMost(graceMs, settled, clock)
      cut.abort()
      await settled
    },
  }
}

async function keepLooking(
  options: DeliveryOptions,
  { tries, bell, signal }: { tries: Tries; bell: Bell; signal: AbortSignal },
): Promise<void> {
  const rotation = openRotation()
  const lines = { down: 'deliveries could not be claimed', up: 'deliveries are claimed again' }
  const outage = openOutage({ ...options, ...lines })
  while (!signal.aborted) {
    bell.mute()
    let next: Next = { delayMs: idleMs, hasBacklog: false }
    try {
      next = await look(options, tries, rotation)
      outage.worked()
    } catch (error) {
      outage.failed({ error })
    }
    await bell.wait(next.delayMs, signal, next.hasBacklog)
  }
}

interface Next {
  /** Until the next delivery is due; a try that ends wakes us earlier. */
  delayMs: number
  /** An endpoint has probably more that is due: it got all that its slots allowed, or had no free slot. */
  hasBacklog: boolean
}

/** Starts due deliveries while slots are free. */
async function look(options: DeliveryOptions, tries: Tries, rotation: Rotation): Promise<Next> {
  const { store, clock, access, hasFiles } = options
  if (!hasFiles()) return { delayMs: idleMs, hasBacklog: false }
  const now = clock.now()
  const { endpoints, next } = await store.dueEndpoints(now)
  const known = endpoints.filter(({ owner }) => access.knows(owner))
  // A process that died after disabling an endpoint may have left deliveries pending.
  for (const { id } of known.filter(({ disabledAt }) => disabledAt !== null))
    await store.failDeliveries(id, { now, error: 'endpoint_disabled', limit: stepRows })
  const open = new Map(known.filter(({ disabledAt }) => disabledAt === null).map((endpoint) => [endpoint.id, endpoint]))
  const waiting = [...open.values()].map((endpoint) => ({ id: endpoint.id, ...ownerHostOf(endpoint) }))
  const claims = shareOut(waiting, tries, rotation)
  const leaseUntil = now + leaseMs
  const claimed = claims.length === 0 ? [] : await store.claimDeliveries(claims, now, leaseUntil)
  for (const delivery of claimed) {
    const endpoint = open.get(delivery.endpoint)
    rotation.serve(delivery.owner)
    if (endpoint) tries.begin(delivery, endpoint, leaseUntil)
  }
  const begun = Map.groupBy(claimed, ({ endpoint }) => endpoint)
  const limits = new Map(claims.map(({ endpoint, limit }) => [endpoint, limit]))
  return {
    delayMs: Math.min(idleMs, Math.max(0, (next ?? Number.POSITIVE_INFINITY) - now)),
    hasBacklog: waiting.some(({ id }) => (begun.get(id)?.length ?? 0) === (limits.get(id) ?? 0)),
  }
}
