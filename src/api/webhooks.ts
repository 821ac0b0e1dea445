import type { FastifyInstance } from 'fastify'
import { openDeliveries } from './webhooks/deliveries.ts'
import { openEndpoints, type WebhookDependencies } from './webhooks/endpoints.ts'
import {
  createBody,
  deliveriesQuery,
  endpointsQuery,
  replayBody,
  rotateBody,
  testBody,
  updateBody,
} from './webhooks/schemas.ts'

export type { WebhookDependencies } from './webhooks/endpoints.ts'

/** Webhook endpoints as OpenAI's SDKs manage them, and beyond that their deliveries. All of one token's own. */
export function addWebhooks(v1: FastifyInstance, dependencies: WebhookDependencies): void {
  const endpoints = openEndpoints(dependencies)
  const deliveries = openDeliveries(dependencies)
  const all = '/webhook_endpoints'
  const one = `${all}/:id`
  v1.get('/webhook_event_types', endpoints.types)
  v1.post(all, { schema: { body: createBody } }, endpoints.create)
  v1.get(all, { schema: { querystring: endpointsQuery } }, endpoints.list)
  v1.get(one, endpoints.retrieve)
  v1.post(one, { schema: { body: updateBody } }, endpoints.update)
  v1.delete(one, endpoints.remove)
  v1.post(`${one}/rotate_secret`, { schema: { body: rotateBody } }, endpoints.rotate)
  v1.post(`${one}/test`, { schema: { body: testBody } }, endpoints.test)
  v1.post(`${one}/replay`, { schema: { body: replayBody } }, deliveries.replayFailed)
  v1.get(`${one}/deliveries`, { schema: { querystring: deliveriesQuery } }, deliveries.list)
  v1.get(`${one}/deliveries/:delivery`, deliveries.retrieve)
  v1.post(`${one}/deliveries/:delivery/replay`, deliveries.replay)
}
