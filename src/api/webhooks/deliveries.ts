import type { FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import { Problem } from '../../core/problem.ts'
import { stepRows } from '../../core/row.ts'
import { deliveryIdsFrom, type Endpoint } from '../../core/webhook.ts'
import type { EndpointStore } from '../../stores/store.ts'
import { readLimit } from '../validation.ts'
import { toWirePage } from '../wire.ts'
import { own, place, type WebhookDependencies } from './endpoints.ts'
import type { deliveriesQuery, replayBody } from './schemas.ts'
import { toWireDelivery, toWireReplay } from './wire.ts'

/** What went to an endpoint, and what became of it. */
export function openDeliveries({ store, clock }: Pick<WebhookDependencies, 'store' | 'clock'>) {
  return {
    async list(request: FastifyRequest) {
      const { id } = await own(request, store)
      const { after = '', limit: text, state } = request.query as XStatic<typeof deliveriesQuery>
      const limit = readLimit(text, { least: 1, most: 100, usual: 20 })
      const found = await store.deliveries(id, { ...place(after), ...(state && { state }), limit: limit + 1 })
      return toWirePage(found.slice(0, limit).map(toWireDelivery), { hasMore: found.length > limit })
    },
    async retrieve(request: FastifyRequest) {
      const { id } = await own(request, store)
      const { delivery } = request.params as { delivery: string }
      const found = isDeliveryId(delivery) ? await store.delivery(id, delivery) : undefined
      if (!found) throw deliveryNotFound(delivery)
      return toWireDelivery(found)
    },
    /** Sends it again, whatever became of it: the receiver knows it by its id. */
    async replay(request: FastifyRequest) {
      const { id } = await enabled(request, store)
      const { delivery } = request.params as { delivery: string }
      const found = isDeliveryId(delivery) ? await store.replay(id, delivery, clock.now()) : undefined
      if (!found) throw deliveryNotFound(delivery)
      return toWireDelivery(found)
    },
    async replayFailed(request: FastifyRequest) {
      const { id } = await enabled(request, store)
      const { since } = request.body as XStatic<typeof replayBody>
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
      return toWireReplay(id, replayed)
    },
  }
}

async function enabled(request: FastifyRequest, store: EndpointStore): Promise<Endpoint> {
  const endpoint = await own(request, store)
  if (endpoint.disabledAt === null) return endpoint
  const fix = `Enable it first: POST /v1/webhook_endpoints/${endpoint.id} with {}, or 'filmgate webhooks enable'.`
  throw new Problem('invalid_request', `This endpoint is disabled, so nothing is sent there. ${fix}`)
}

function isDeliveryId(id: string): boolean {
  return /^wh_[0-9a-f]{44}$/.test(id)
}

function deliveryNotFound(id: string): Problem {
  return new Problem('webhook_delivery_not_found', `No delivery '${id.slice(0, 100)}' to this endpoint was found.`)
}
