import { chance } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { askedMs } from '../core/retry-after.ts'
import { stepRows } from '../core/row.ts'
import {
  afterTry,
  type DeliveryOutcome,
  type Endpoint,
  isGone,
  signedRequest,
  type WebhookDelivery,
} from '../core/webhook.ts'
import { type DeliveryOptions, idleMs } from './options.ts'
import type { Traffic } from './share.ts'

/** So many hosts are known not to answer: clients can name any number of them. */
export const mostSilent = 1_000

/** Tries under way. */
export interface Tries extends Traffic {
  begin(delivery: WebhookDelivery, endpoint: Endpoint, leaseUntil: number): void
  /** When all that are under way now have ended. */
  settled(): Promise<unknown>
}

/** No path: it may be as secret as a password. */
export function hostOf({ url }: Pick<Endpoint, 'url'>): string {
  return URL.parse(url)?.host ?? ''
}

/** `signal` breaks tries off: nobody knows then whether they arrived, so they are made again. */
export function openTries(
  { store, outbound, clock, random, log }: DeliveryOptions,
  { signal, onEnd }: { signal: AbortSignal; onEnd: () => void },
): Tries {
  const busy = new Map<string, number>()
  const silent = new Set<string>()
  const active = new Set<Promise<void>>()

  async function attempt(delivery: WebhookDelivery, endpoint: Endpoint): Promise<DeliveryOutcome> {
    const at = clock.now()
    const posted = await outbound.post(endpoint.url, signedRequest(delivery, endpoint, at), signal)
    const now = Math.max(at, clock.now())
    const host = hostOf(endpoint)
    silent.delete(host)
    if ('error' in posted && posted.error !== 'url_refused') silent.add(host)
    const [oldest = host] = silent
    if (silent.size > mostSilent) silent.delete(oldest)
    const [status, error] = 'error' in posted ? [null, posted.error] : [posted.status, null]
    const retryAfterMs = 'error' in posted ? undefined : askedMs(posted.retryAfter, now)
    const tried = { at, status, error, tookMs: now - at }
    if (isGone(tried)) await disable(endpoint, now)
    return afterTry(delivery, tried, { retryAfterMs, chance: chance(random) })
  }

  /** With all that waits for it, which else would go out when somebody enables it again, days late. */
  async function disable({ id }: Endpoint, now: number): Promise<void> {
    await store.disableEndpoint(id, now, 'The receiver answered 410 (Gone).')
    log.warn('webhook endpoint disabled', { endpoint: id, status: 410 })
    const step = { now, error: 'endpoint_disabled', limit: stepRows }
    while ((await store.failDeliveries(id, step)) === stepRows);
  }

  /** Until the lease ends: then somebody else may have it. */
  async function record(outcome: DeliveryOutcome, leaseUntil: number): Promise<void> {
    for (;;) {
      try {
        await store.recordDelivery(outcome)
        return
      } catch (error) {
        log.error('a delivery could not be recorded', { delivery: outcome.id, error })
        if (Problem.from(error).code !== 'storage_unavailable' || signal.aborted || clock.now() >= leaseUntil) return
      }
      await clock.sleep(idleMs, signal)
    }
  }

  async function run(delivery: WebhookDelivery, endpoint: Endpoint, leaseUntil: number): Promise<void> {
    try {
      const outcome = await attempt(delivery, endpoint)
      await record(outcome, leaseUntil)
      const { status = null, error = null } = outcome.log.at(-1) ?? {}
      if (outcome.state === 'failed')
        log.warn('webhook delivery failed', { delivery: delivery.id, endpoint: endpoint.id, status, error })
    } catch (error) {
      if (!signal.aborted) log.error('a delivery could not be tried', { delivery: delivery.id, error })
    }
  }

  return {
    busy,
    silent,
    begin(delivery, endpoint, leaseUntil) {
      const host = hostOf(endpoint)
      busy.set(host, (busy.get(host) ?? 0) + 1)
      const running = run(delivery, endpoint, leaseUntil).finally(() => {
        active.delete(running)
        const left = (busy.get(host) ?? 1) - 1
        if (left > 0) busy.set(host, left)
        else busy.delete(host)
        onEnd()
      })
      active.add(running)
    },
    settled: () => Promise.all(active),
  }
}
