import type { Access } from '../access.ts'
import type { Spacing } from '../core/bell.ts'
import { type Clock, chance, type Random } from '../core/clock.ts'
import { openOutage, openOutages } from '../core/outage.ts'
import { Problem } from '../core/problem.ts'
import { parseRetryAfter } from '../core/retry-after.ts'
import { stepRows } from '../core/row.ts'
import { noTraces, readTaskTrace, type TaskTrace, type Traces, toTraceparent } from '../core/trace.ts'
import {
  afterTry,
  type DeliveryOutcome,
  type Endpoint,
  isAccepted,
  isGone,
  signedRequest,
  type WebhookDelivery,
} from '../core/webhook.ts'
import type { ClientOutbound, Posted } from '../outbound.ts'
import type { DeliveryStore, EndpointStore, NoticeStore, TaskStore } from '../stores/store.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Log } from '../telemetry/log.ts'
import type { OwnerHost, Traffic } from './share.ts'

export interface DeliveryOptions {
  store: DeliveryStore & EndpointStore & NoticeStore & Pick<TaskStore, 'find'>
  outbound: { of(owner: string): Pick<ClientOutbound, 'post'> }
  clock: Clock
  random: Random
  log: Log
  alarms?: Alarms
  /**
   * Whether this process can open another connection. If not, nothing is claimed, so that no endpoint is blamed for it.
   */
  hasFiles: () => boolean
  /** The time from one look to the next. None if it is left out. */
  spacing?: Spacing
  /** The deliveries of an owner without a token wait until the token exists again. */
  access: Pick<Access, 'knows'>
  /** Off if it is left out. */
  traces?: Traces
}

/** The longest time between two looks, even if nothing rings the bell. */
export const idleMs = 1_000

/** Longer than a try may take, so that no lease is renewed. Deliveries of a dead process are tried again after it. */
export const leaseMs = 60_000

/** How many pairs of an owner and a host are remembered as silent: clients can name any number of hosts. */
export const mostSilent = 1_000

/** A response that takes longer occupies a slot like one that never comes, so its host counts as silent. */
export const slowMs = 3_000

/** The running tries. */
export interface Tries extends Traffic {
  begin(delivery: WebhookDelivery, endpoint: Endpoint, leaseUntil: number): void
  /** Resolves when all tries that run now have ended. */
  settled(): Promise<unknown>
}

export function ownerHostOf({ owner, url }: Pick<Endpoint, 'owner' | 'url'>): OwnerHost {
  return { owner, host: URL.parse(url)?.host ?? '' }
}

const keyOf = ({ owner, host }: OwnerHost) => `${host} ${owner}`

/** As OpenTelemetry's conventions have it: the status, if it is not a success. */
function errorOf(posted: Posted): string | null {
  if ('error' in posted) return posted.error
  return isAccepted(posted.status) ? null : String(posted.status)
}

/** `signal` aborts tries. Their outcome is unknown then, so they are repeated. */
export function openTries(
  { store, outbound, clock, random, log, alarms, traces = noTraces }: DeliveryOptions,
  { signal, onEnd }: { signal: AbortSignal; onEnd: () => void },
): Tries {
  const silent = new Set<string>()
  const lines = { down: 'a delivery could not be recorded', up: 'deliveries are recorded again' }
  const storage = openOutage({ log, clock, ...lines })
  const endpointLines = { down: 'webhook delivery failed', up: 'webhook endpoint accepts events again' }
  const endpoints = openOutages({ log, clock, ...endpointLines, level: 'warn' })
  const active = new Map<Promise<void>, OwnerHost>()

  async function attempt(
    delivery: WebhookDelivery,
    endpoint: Endpoint,
    trace: TaskTrace | undefined,
  ): Promise<DeliveryOutcome> {
    const at = clock.now()
    const posted = await post(delivery, endpoint, { at, trace })
    const now = Math.max(at, clock.now())
    const isSilent = 'error' in posted ? posted.error !== 'url_refused' : now - at >= slowMs
    noteSilence(ownerHostOf(endpoint), isSilent)
    const [status, error] = 'error' in posted ? [null, posted.error] : [posted.status, null]
    const retryAfterMs = 'error' in posted ? undefined : parseRetryAfter(posted.retryAfter, now)
    const tried = { at, status, error, tookMs: now - at }
    if (isGone(tried)) await disable(endpoint, now)
    return afterTry(delivery, tried, { retryAfterMs, chance: chance(random) })
  }

  /** The trace of the task. Without it, the delivery is sent all the same. */
  async function traceOf({ task }: WebhookDelivery): Promise<TaskTrace | undefined> {
    return readTaskTrace((await store.find(task).catch(() => undefined))?.trace)
  }

  async function post(
    delivery: WebhookDelivery,
    endpoint: Endpoint,
    { at, trace }: { at: number; trace: TaskTrace | undefined },
  ): Promise<Posted> {
    const span = traces.start(trace, 'deliver webhook', 'client')
    const { body, headers } = signedRequest(delivery, endpoint, at)
    const traced = span.context ? { ...headers, traceparent: toTraceparent(span.context) } : headers
    // The address may contain a key of its receiver: only the host is shown.
    span.set({ 'filmgate.task.id': delivery.task, 'server.address': ownerHostOf(endpoint).host })
    span.set({ 'filmgate.delivery.id': delivery.id, 'filmgate.event': delivery.type })
    try {
      const posted = await outbound.of(endpoint.owner).post(endpoint.url, { body, headers: traced }, signal)
      if ('status' in posted) span.set({ 'http.response.status_code': posted.status })
      span.end(trace, errorOf(posted))
      return posted
    } catch (thrown) {
      span.end(trace, 'aborted')
      throw thrown
    }
  }

  function noteSilence(ownerHost: OwnerHost, isSilent: boolean): void {
    const key = keyOf(ownerHost)
    silent.delete(key)
    if (isSilent) silent.add(key)
    const [oldest = key] = silent
    if (silent.size > mostSilent) silent.delete(oldest)
  }

  /**
   * Fails everything that waits for the endpoint: otherwise it would be sent days late when the endpoint is enabled
   * again.
   */
  async function disable({ id }: Endpoint, now: number): Promise<void> {
    await store.disableEndpoint(id, now, 'The receiver responded with 410 (Gone).')
    log.warn('webhook endpoint disabled', { endpoint: id, status: 410 })
    const step = { now, error: 'endpoint_disabled', limit: stepRows }
    while ((await store.failDeliveries(id, step)) === stepRows);
  }

  /** For the operator: in the log, and as an alarm if the endpoint is dead. */
  function noteHealth(endpoint: Endpoint, { state, log: tries }: DeliveryOutcome, about: object): void {
    const { id } = endpoint
    if (state === 'delivered') {
      endpoints.worked(id, { endpoint: id })
      return
    }
    const last = tries.at(-1)
    const { status = null, error = null } = last ?? {}
    endpoints.failed(id, { ...about, endpoint: id, state, status, error }, state)
    const disabled = last !== undefined && isGone(last)
    // One alarm for each owner: clients create endpoints, and delete them, as they like.
    const dead = { ...ownerHostOf(endpoint), endpoint: id, disabled }
    if (state === 'failed') alarms?.raise('endpoint_dead', endpoint.owner, dead)
  }

  /** Tries until the lease ends. After that another process may have claimed the delivery. */
  async function record(outcome: DeliveryOutcome, leaseUntil: number, about: object): Promise<void> {
    for (;;) {
      try {
        await store.recordDelivery(outcome)
        storage.worked()
        return
      } catch (error) {
        storage.failed({ ...about, error })
        if (Problem.from(error).code !== 'storage_unavailable' || signal.aborted || clock.now() >= leaseUntil) return
      }
      await clock.sleep(idleMs, signal)
    }
  }

  async function run(delivery: WebhookDelivery, endpoint: Endpoint, leaseUntil: number): Promise<void> {
    const trace = traces.isOn ? await traceOf(delivery) : undefined
    const about = { delivery: delivery.id, task: delivery.task, ...(trace && { trace_id: trace.traceId }) }
    try {
      const outcome = await attempt(delivery, endpoint, trace)
      await record(outcome, leaseUntil, about)
      noteHealth(endpoint, outcome, about)
    } catch (error) {
      if (!signal.aborted) log.error('a delivery could not be tried', { ...about, error })
    }
  }

  return {
    running: () => active.values(),
    isSilent: (ownerHost) => silent.has(keyOf(ownerHost)),
    begin(delivery, endpoint, leaseUntil) {
      const ended = run(delivery, endpoint, leaseUntil).finally(() => {
        active.delete(ended)
        onEnd()
      })
      active.set(ended, ownerHostOf(endpoint))
    },
    settled: () => Promise.all(active.keys()),
  }
}
