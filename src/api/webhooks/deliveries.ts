import type { FastifyRequest } from 'fastify'
import { Problem } from '../../core/problem.ts'
import { stepRows } from '../../core/row.ts'
import { type WebhookDelivery as Delivery, deliveryIdsFrom, type Endpoint } from '../../core/webhook.ts'
import type { EndpointStore } from '../../stores/store.ts'
import {
  ListWebhookDeliveriesQuery,
  ReplayWebhookEndpoint,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookReplay,
} from '../../wire/webhooks.ts'
import type { limitWrites } from '../rates.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type QueryRequest, type Route } from '../route.ts'
import { readLimit } from '../validation.ts'
import { secondsOrNull, toWirePage, unixSeconds } from '../wire.ts'
import {
  endpointErrors,
  endpointPath,
  ownEndpoint,
  pageStart,
  rateErrors,
  type WebhookDependencies,
} from './endpoints.ts'

const deliveryPath = { ...endpointPath, webhook_delivery_id: 'The id of the delivery.' }

/** OpenAI's API has no deliveries. */
export function deliveryRoutes(dependencies: WebhookDependencies, onRequest: ReturnType<typeof limitWrites>): Route[] {
  const deliveries = openDeliveries(dependencies)
  const options = { onRequest }
  return [
    defineRoute({
      at: 'POST /v1/webhook_endpoints/:id/replay',
      id: 'replayWebhookEndpoint',
      summary: 'Send failed events again',
      description:
        'Sends all deliveries again that failed since the given time, or that wait after a failed try. Use it after the ' +
        'receiver is fixed.',
      path: endpointPath,
      body: { schema: ReplayWebhookEndpoint, as: 'json', example: { since: 1_794_709_428 } },
      responses: { 200: { description: 'How many deliveries are sent again.', schema: WebhookReplay } },
      errors: [...endpointErrors, ...bodyFaults, ...rateErrors, 'invalid_request'],
      options,
      handler: deliveries.replayFailed,
    }),
    defineRoute({
      at: 'GET /v1/webhook_endpoints/:id/deliveries',
      id: 'listWebhookDeliveries',
      summary: 'List deliveries',
      description: 'The deliveries to the endpoint, the newest first.',
      path: endpointPath,
      query: { schema: ListWebhookDeliveriesQuery },
      responses: { 200: { description: 'One page.', schema: WebhookDeliveryList } },
      errors: [...endpointErrors, 'invalid_value'],
      handler: deliveries.list,
    }),
    {
      at: 'GET /v1/webhook_endpoints/:id/deliveries/:delivery',
      id: 'retrieveWebhookDelivery',
      summary: 'Show a delivery',
      description: 'The delivery with all its tries and their results.',
      path: deliveryPath,
      responses: { 200: { description: 'The delivery.', schema: WebhookDelivery } },
      errors: [...endpointErrors, 'webhook_delivery_not_found'],
      handler: deliveries.retrieve,
    },
    {
      at: 'POST /v1/webhook_endpoints/:id/deliveries/:delivery/replay',
      id: 'replayWebhookDelivery',
      summary: 'Send a delivery again',
      description: 'Works in any state. The `webhook-id` stays the same, so the receiver can recognise the event.',
      path: deliveryPath,
      responses: { 200: { description: 'The delivery.', schema: WebhookDelivery } },
      errors: [...endpointErrors, ...rateErrors, 'webhook_delivery_not_found', 'invalid_request'],
      options,
      handler: deliveries.replay,
    },
  ]
}

/** The deliveries to an endpoint, and their results. */
export function openDeliveries({ store, clock }: Pick<WebhookDependencies, 'store' | 'clock'>) {
  return {
    async list(request: QueryRequest<ListWebhookDeliveriesQuery>) {
      const { id } = await ownEndpoint(request, store)
      const { after = '', state } = request.query
      const limit = readLimit(request, ListWebhookDeliveriesQuery)
      const found = await store.deliveries(id, { ...pageStart(after), ...(state && { state }), limit: limit + 1 })
      return toWirePage(found.slice(0, limit).map(toWireDelivery), { hasMore: found.length > limit })
    },
    async retrieve(request: FastifyRequest) {
      const { id } = await ownEndpoint(request, store)
      const delivery = pathParam(request, 'delivery')
      const found = isDeliveryId(delivery) ? await store.delivery(id, delivery) : undefined
      if (!found) throw deliveryNotFound(delivery)
      return toWireDelivery(found)
    },
    /** In any state: the receiver recognises the event by its id. */
    async replay(request: FastifyRequest) {
      const { id } = await enabledEndpoint(request, store)
      const delivery = pathParam(request, 'delivery')
      const found = isDeliveryId(delivery) ? await store.replay(id, delivery, clock.now()) : undefined
      if (!found) throw deliveryNotFound(delivery)
      return toWireDelivery(found)
    },
    async replayFailed(request: BodyRequest<ReplayWebhookEndpoint>) {
      const { id } = await enabledEndpoint(request, store)
      const { since } = request.body
      const now = clock.now()
      let replayed = 0
      for (const state of ['failed', 'pending'] as const) {
        let after: string | undefined = deliveryIdsFrom(since * 1000)
        while (after !== undefined) {
          const ids = await store.replayFailed(id, { state, after, now, limit: stepRows })
          replayed += ids.length
          after = ids.length < stepRows ? undefined : ids.at(-1)
        }
      }
      return { object: 'webhook_endpoint.replay', webhook_endpoint_id: id, replayed }
    },
  }
}

function toWireDelivery(delivery: Delivery): WebhookDelivery {
  return {
    id: delivery.id,
    object: 'webhook_delivery',
    webhook_endpoint_id: delivery.endpoint,
    event_id: delivery.event,
    event_type: delivery.type,
    video_id: delivery.task,
    created_at: unixSeconds(delivery.createdAt),
    state: delivery.state,
    next_try_at: secondsOrNull(delivery.dueAt),
    ended_at: secondsOrNull(delivery.endedAt),
    tries: delivery.log.map(({ at, status, error, tookMs }) => ({
      at: unixSeconds(at),
      status_code: status,
      error,
      took_ms: tookMs,
    })),
  }
}

async function enabledEndpoint(request: FastifyRequest, store: EndpointStore): Promise<Endpoint> {
  const endpoint = await ownEndpoint(request, store)
  if (endpoint.disabledAt === null) return endpoint
  const fix = `Enable it first: send POST /v1/webhook_endpoints/${endpoint.id} with {}, or run 'filmgate webhooks enable'.`
  throw new Problem('invalid_request', `This endpoint is disabled, so nothing is sent there. ${fix}`)
}

function isDeliveryId(id: string): boolean {
  return /^wh_[0-9a-f]{44}$/.test(id)
}

function deliveryNotFound(id: string): Problem {
  return new Problem('webhook_delivery_not_found', `No delivery '${id.slice(0, 100)}' to this endpoint was found.`)
}
