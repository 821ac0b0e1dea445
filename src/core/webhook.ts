import { hash } from 'node:crypto'
import type { NoticeKind } from './notice.ts'
import { sign } from './signature.ts'

/** What an endpoint can be told of, in OpenAI's words. */
export const eventTypes = ['video.completed', 'video.failed'] as const
export type EventType = (typeof eventTypes)[number]

/** Where a client wants to be told. */
export interface Endpoint {
  id: string
  owner: string
  name: string
  url: string
  eventTypes: readonly EventType[]
  secret: string
  /** After a rotation both sign until then. */
  oldSecret: string | null
  oldSecretUntil: number | null
  createdAt: number
  updatedAt: number
  /** Since when it gets nothing, and why. */
  disabledAt: number | null
  disabledWhy: string | null
}

export type EndpointChange = Partial<Omit<Endpoint, 'id' | 'owner' | 'createdAt'>>

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** One try to deliver: the status that it was answered with, or a word for why there was no answer. */
export interface Try {
  at: number
  status: number | null
  error: string | null
  tookMs: number
}

/** An event on its way to one endpoint. Its body is made of these fields alone, byte for byte the same at each try. */
export interface WebhookDelivery {
  /** Also what the receiver tells repeats by. It begins with the time of the event, so that ids are in that order. */
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
  /** Since it was made, or replayed. */
  tries: number
  fence: number
  endedAt: number | null
  log: readonly Try[]
}

/** What a try makes of a delivery. */
export type DeliveryOutcome = Pick<WebhookDelivery, 'id' | 'fence' | 'state' | 'dueAt' | 'tries' | 'endedAt' | 'log'>

/** Nothing but these two is told. */
export function eventTypeOf(kind: NoticeKind): EventType | null {
  return kind === 'completed' || kind === 'failed' ? `video.${kind}` : null
}

/** No chance in it: what is written twice, after a commit of which nobody heard, is the same delivery. */
export function newDelivery(
  endpoint: Pick<Endpoint, 'id' | 'owner'>,
  { task, at, type }: { task: string; at: number; type: EventType },
): WebhookDelivery {
  const event = `evt_${task.replace(/^video_/, '')}${type === 'video.completed' ? 'c' : 'f'}`
  return {
    ...{ id: `${deliveryIdsFrom(at)}${hash('sha256', `${event} ${endpoint.id}`, 'hex').slice(0, 32)}` },
    ...{ endpoint: endpoint.id, owner: endpoint.owner, event, type, task, createdAt: at },
    ...{ state: 'pending', dueAt: at, tries: 0, fence: 0, endedAt: null, log: [] },
  }
}

/** What the ids of that moment begin with, and no earlier ones are greater than. */
export function deliveryIdsFrom(at: number): string {
  return `wh_${Math.max(0, Math.floor(at)).toString(16).padStart(12, '0')}`
}

/** The event as OpenAI's SDKs know it. */
export function eventBody({
  event,
  type,
  task,
  createdAt,
}: Pick<WebhookDelivery, 'event' | 'type' | 'task' | 'createdAt'>) {
  const created = Math.floor(createdAt / 1000)
  return JSON.stringify({ id: event, object: 'event', created_at: created, type, data: { id: task } })
}

/** A request as it goes out now: each try has a fresh time, or a receiver would take it for a replayed one. */
export function signedRequest(
  delivery: Pick<WebhookDelivery, 'id' | 'event' | 'type' | 'task' | 'createdAt'>,
  { secret, oldSecret, oldSecretUntil }: Pick<Endpoint, 'secret' | 'oldSecret' | 'oldSecretUntil'>,
  now: number,
): { body: string; headers: Record<string, string> } {
  const body = eventBody(delivery)
  const timestamp = Math.floor(now / 1000)
  const isBoth = oldSecret !== null && now < (oldSecretUntil ?? 0)
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': delivery.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign({ id: delivery.id, timestamp, body }, isBoth ? [secret, oldSecret] : [secret]),
    },
  }
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** How long after each try the next one is due: ten tries in about 75 hours, as Standard Webhooks has it. */
const delays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

/** No delivery is ever put off for longer, but by a clock that was set back since. */
export const longestWaitMs = 48 * hour
/** A receiver that asks for more time gets this much of it. */
const longestAskedMs = 24 * hour
const slowDown = new Set([429, 502, 503, 504])
/** Replays add to it: of a long one the end is kept. */
const longestLog = 40

/** After they ended. */
export const deliveriesKeptMs = 30 * 24 * hour

/** Any 2xx is a success, and nothing else is. `chance` in [0, 1) spreads the tries of many deliveries a little. */
export function afterTry(
  delivery: WebhookDelivery,
  tried: Try,
  { retryAfterMs = 0, chance }: { retryAfterMs?: number | undefined; chance: number },
): DeliveryOutcome {
  const { id, fence } = delivery
  const { status } = tried
  const now = tried.at + tried.tookMs
  const tries = delivery.tries + 1
  const made = { id, fence, tries, log: [...delivery.log, tried].slice(-longestLog) }
  if (status !== null && isAccepted(status)) return { ...made, state: 'delivered', dueAt: null, endedAt: now }
  const delay = delays[tries - 1]
  if (delay === undefined || isGone(tried)) return { ...made, state: 'failed', dueAt: null, endedAt: now }
  const asked = slowDown.has(status ?? 0) ? Math.min(longestAskedMs, Math.max(0, retryAfterMs)) : 0
  return {
    ...made,
    state: 'pending',
    dueAt: now + Math.max(asked, Math.round(delay * (1 + chance / 10))),
    endedAt: null,
  }
}

/** A redirect is not: it is not followed. */
export function isAccepted(status: number): boolean {
  return status >= 200 && status < 300
}

/** The receiver wants no more, ever. */
export function isGone({ status }: Try): boolean {
  return status === 410
}
