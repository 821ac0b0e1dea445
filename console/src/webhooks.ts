import type { WebhookDelivery } from '../../src/wire/webhooks.ts'
import { withQuery } from './api.ts'
import { readTexts } from './search.ts'

/* Webhook endpoints of the client token of this session, and their deliveries. */

export const endpointsPath = '/v1/webhook_endpoints'

export function endpointPath(id: string): string {
  return `${endpointsPath}/${encodeURIComponent(id)}`
}

/** Every query of endpoints, for `invalidateQueries`. */
export function isOfWebhooks({ queryKey: [path] }: { queryKey: readonly unknown[] }): boolean {
  return String(path).startsWith(endpointsPath)
}

export const eventTypes = ['video.completed', 'video.failed'] as const
export type EventType = (typeof eventTypes)[number]

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
type DeliveryState = WebhookDelivery['state']

/** The filters of the deliveries. They are the query of the page's address. */
export interface DeliveryFilters {
  state?: DeliveryState
  /** The last delivery of the page before. */
  after?: string
}

export function readDeliveryFilters(search: Readonly<Record<string, unknown>>): DeliveryFilters {
  const state = deliveryStates.find((one) => one === search.state)
  return { ...readTexts(search, ['after']), ...(state && { state }) }
}

export function deliveriesPath(id: string, filters: DeliveryFilters): string {
  return withQuery(`${endpointPath(id)}/deliveries`, { ...filters, limit: 25 })
}
