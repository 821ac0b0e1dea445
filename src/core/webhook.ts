import { hash } from 'node:crypto'
import type { NoticeKind } from './notice.ts'
import { sign } from './signature.ts'

/** The events that an endpoint can receive, as OpenAI names them. */
export const eventTypes = ['video.completed', 'video.failed'] as const
export type EventType = (typeof eventTypes)[number]

/** A URL of a client that receives events. */
export interface Endpoint {
  id: string
  owner: string
  name: string
  url: string
  eventTypes: readonly EventType[]
  secret: string
  /** After a rotation both secrets sign until `oldSecretUntil`. */
  oldSecret: string | null
  oldSecretUntil: number | null
  createdAt: number
  updatedAt: number
  /** Since when it receives nothing, and why. */
  disabledAt: number | null
  disabledWhy: string | null
}

/** How many an owner may have. */
export const mostEndpoints = 16

export type EndpointChange = Partial<Omit<Endpoint, 'id' | 'owner' | 'createdAt'>>

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** One try of a delivery: the status of the response, or the reason why there was none. */
export interface Try {
  at: number
  status: number | null
  error: string | null
  tookMs: number
}

/** An event for one endpoint. Its body depends only on these fields: each try sends the same bytes. */
export interface WebhookDelivery {
  /** Receivers recognise repeats by it. It begins with the time of the event, so that ids are in that order. */
  id: string
  endpoint: string
  owner: string
  event: string
  type: EventType
  task: string
  /** When the event happened. */
  createdAt: number
  state: DeliveryState
  dueAt: number | null
  /** Since it was created, or replayed. */
  tries: number
  fence: number
  endedAt: number | null
  log: readonly Try[]
}

/** A delivery after a try. */
export type DeliveryOutcome = Pick<WebhookDelivery, 'id' | 'fence' | 'state' | 'dueAt' | 'tries' | 'endedAt' | 'log'>

/** Only the end of a task is an event. */
export function eventTypeOf(kind: NoticeKind): EventType | null {
  return kind === 'completed' || kind === 'failed' ? `video.${kind}` : null
}

/** Not random: a delivery that is written twice, after a commit without a response, has the same id. */
export function newDelivery(
  endpoint: Pick<Endpoint, 'id' | 'owner'>,
  { task, at, type }: { task: string; at: number; type: EventType },
): WebhookDelivery {
  const event = `evt_${task.replace(/^video_/, '')}${type === 'video.completed' ? 'c' : 'f'}`
  return {
    id: `${deliveryIdsFrom(at)}${hash('sha256', `${event} ${endpoint.id}`, 'hex').slice(0, 32)}`,
    endpoint: endpoint.id,
    owner: endpoint.owner,
    event,
    type,
    task,
    createdAt: at,
    state: 'pending',
    dueAt: at,
    tries: 0,
    fence: 0,
    endedAt: null,
    log: [],
  }
}

/** The prefix of ids of that moment. All earlier ids are smaller. */
export function deliveryIdsFrom(at: number): string {
  return `wh_${Math.max(0, Math.floor(at)).toString(16).padStart(12, '0')}`
}

/** The event as OpenAI's SDKs read it. */
export function eventBody({
  event,
  type,
  task,
  createdAt,
}: Pick<WebhookDelivery, 'event' | 'type' | 'task' | 'createdAt'>) {
  const created = Math.floor(createdAt / 1000)
  return JSON.stringify({ id: event, object: 'event', created_at: created, type, data: { id: task } })
}

/** The request of one try. Each try has a new timestamp, or a receiver would refuse it as a replay. */
export function signedRequest(
  delivery: Pick<WebhookDelivery, 'id' | 'event' | 'type' | 'task' | 'createdAt'>,
  { secret, oldSecret, oldSecretUntil }: Pick<Endpoint, 'secret' | 'oldSecret' | 'oldSecretUntil'>,
  now: number,
): { body: string; headers: Record<string, string> } {
  const body = eventBody(delivery)
  const timestamp = Math.floor(now / 1000)
  const isRotating = oldSecret !== null && now < (oldSecretUntil ?? 0)
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': delivery.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign({ id: delivery.id, timestamp, body }, isRotating ? [secret, oldSecret] : [secret]),
    },
  }
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** The delay after each try: ten tries in about 75 hours, as Standard Webhooks recommends. */
const delays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

/** The longest delay of a delivery. A later one was set before the clock was set back. */
export const longestWaitMs = 48 * hour
/** The longest delay that a receiver can ask for. */
const longestAskedMs = 24 * hour
const slowDown = new Set([429, 502, 503, 504])
/** Replays make the log longer: only its end is kept. */
const longestLog = 40

/** How long deliveries are kept after they ended. */
export const deliveriesKeptMs = 30 * 24 * hour

/** Only 2xx is a success. `chance` in [0, 1) spreads the tries of many deliveries a little. */
export function afterTry(
  delivery: WebhookDelivery,
  tried: Try,
  { retryAfterMs = 0, chance }: { retryAfterMs?: number | undefined; chance: number },
): DeliveryOutcome {
  const { id, fence } = delivery
  const { status } = tried
  const now = tried.at + tried.tookMs
  const tries = delivery.tries + 1
  const common = { id, fence, tries, log: [...delivery.log, tried].slice(-longestLog) }
  if (status !== null && isAccepted(status)) return { ...common, state: 'delivered', dueAt: null, endedAt: now }
  const delay = delays[tries - 1]
  if (delay === undefined || isGone(tried)) return { ...common, state: 'failed', dueAt: null, endedAt: now }
  const asked = slowDown.has(status ?? 0) ? Math.min(longestAskedMs, Math.max(0, retryAfterMs)) : 0
  return {
    ...common,
    state: 'pending',
    dueAt: now + Math.max(asked, Math.round(delay * (1 + chance / 10))),
    endedAt: null,
  }
}

/** Redirects are not followed, so they do not count. */
export function isAccepted(status: number): boolean {
  return status >= 200 && status < 300
}

/** 410: the receiver wants no more events. */
export function isGone({ status }: Try): boolean {
  return status === 410
}
