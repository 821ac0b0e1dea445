import { refer, type Schema } from '../schemas/schema.ts'
import type { Operation, Operations } from './operation.ts'

const path = { webhook_endpoint_id: 'The id of the endpoint.' }
const deliveryPath = { ...path, webhook_delivery_id: 'The id of the delivery.' }
const common = { tag: 'Webhooks', access: 'client' } as const satisfies Partial<Operation>
const checked = ['missing_required_parameter', 'unknown_parameter', 'invalid_type', 'invalid_value'] as const
const limited = ['rate_limit_exceeded'] as const
const missing = ['webhook_endpoint_not_found', 'storage_unavailable'] as const

const fields: Readonly<Record<string, Schema>> = {
  name: { description: 'A name of yours.' },
  url: { description: 'Where events are sent to, at a public address unless the operator allows others.' },
  event_types: { description: 'What it is told of.' },
}
const page: Readonly<Record<string, Schema>> = {
  after: { description: 'The id after which the page begins.' },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'How many at most.' },
}
const example = { name: 'production', url: 'https://example.com/webhooks', event_types: ['video.completed'] }
const events = '/v1/webhook_endpoints'

export const webhookOperations: Operations = {
  'GET /v1/webhook_event_types': {
    ...{ ...common, id: 'listWebhookEventTypes', summary: 'List the event types' },
    description: 'What an endpoint can be told of.',
    answers: { 200: { description: 'All of them.', schema: refer('WebhookEventTypeList') } },
  },
  [`POST ${events}`]: {
    ...{ ...common, id: 'createWebhookEndpoint', summary: 'Add an endpoint' },
    description: 'From now on it is told of every video of this token. Keep `signing_secret`: it is shown only here.',
    body: { name: 'CreateWebhookEndpoint', as: 'json', fields, example },
    answers: { 200: { description: 'The endpoint.', schema: refer('WebhookEndpointWithSecret') } },
    errors: [...checked, ...limited, 'invalid_webhook_url', 'invalid_request', 'storage_unavailable'],
  },
  [`GET ${events}`]: {
    ...{ ...common, id: 'listWebhookEndpoints', summary: 'List your endpoints', query: page },
    description: 'Those of this token.',
    answers: { 200: { description: 'One page.', schema: refer('WebhookEndpointList') } },
    errors: ['invalid_value', 'storage_unavailable'],
  },
  [`GET ${events}/:id`]: {
    ...{ ...common, id: 'retrieveWebhookEndpoint', summary: 'Show an endpoint', path },
    description: 'Without its secret.',
    answers: { 200: { description: 'The endpoint.', schema: refer('WebhookEndpoint') } },
    errors: missing,
  },
  [`POST ${events}/:id`]: {
    ...{ ...common, id: 'updateWebhookEndpoint', summary: 'Change an endpoint', path },
    description: 'What is left out stays. One that was disabled is tried again.',
    body: { name: 'UpdateWebhookEndpoint', as: 'json', fields, example: { event_types: ['video.failed'] } },
    answers: { 200: { description: 'The endpoint.', schema: refer('WebhookEndpoint') } },
    errors: [...missing, ...limited, 'unknown_parameter', 'invalid_type', 'invalid_value', 'invalid_webhook_url'],
  },
  [`DELETE ${events}/:id`]: {
    ...{ ...common, id: 'deleteWebhookEndpoint', summary: 'Delete an endpoint', path },
    description: 'Nothing is sent there any more.',
    answers: { 200: { description: 'It is gone.', schema: refer('DeletedWebhookEndpoint') } },
    errors: missing,
  },
  [`POST ${events}/:id/rotate_secret`]: {
    ...{ ...common, id: 'rotateWebhookSecret', summary: 'Change the secret', path },
    description: 'Events are signed with the new one at once; for a day with both, if you ask for that.',
    body: {
      ...{ name: 'RotateWebhookSecret', as: 'json' },
      fields: { keep_old_secret_active_for_24_hours: { description: 'Whether the old one signs for another day.' } },
      example: { keep_old_secret_active_for_24_hours: true },
    },
    answers: { 200: { description: 'The endpoint.', schema: refer('WebhookEndpointWithSecret') } },
    errors: [...missing, ...limited, 'unknown_parameter', 'invalid_type'],
  },
  [`POST ${events}/:id/test`]: {
    ...{ ...common, id: 'testWebhookEndpoint', summary: 'Send a test', path },
    description: 'Sent at once and once. The id of its video is all zeros.',
    body: {
      ...{ name: 'TestWebhookEndpoint', as: 'json' },
      fields: { event_type: { type: 'string', description: 'What it says that happened.' } },
      example: { event_type: 'video.completed' },
    },
    answers: { 200: { description: 'What it answered.', schema: refer('WebhookTest') } },
    errors: [...missing, ...checked, ...limited, 'webhook_unanswered', 'overloaded'],
  },
  [`POST ${events}/:id/replay`]: {
    ...{ ...common, id: 'replayWebhookEndpoint', summary: 'Send failed events again', path },
    description:
      'For who mended the receiver: all that failed since then, or waits after a try that did, is sent again.',
    body: {
      ...{ name: 'ReplayWebhookEndpoint', as: 'json' },
      fields: { since: { description: 'Unix seconds.' } },
      example: { since: 1_794_709_428 },
    },
    answers: { 200: { description: 'How many those are.', schema: refer('WebhookReplay') } },
    errors: [...missing, ...checked, ...limited, 'invalid_request'],
  },
  [`GET ${events}/:id/deliveries`]: {
    ...{ ...common, id: 'listWebhookDeliveries', summary: 'List deliveries', path },
    description: 'What went to the endpoint, the newest first.',
    query: { ...page, state: { type: 'string', description: 'Only those of which that became.' } },
    answers: { 200: { description: 'One page.', schema: refer('WebhookDeliveryList') } },
    errors: [...missing, 'invalid_value'],
  },
  [`GET ${events}/:id/deliveries/:delivery`]: {
    ...{ ...common, id: 'retrieveWebhookDelivery', summary: 'Show a delivery', path: deliveryPath },
    description: 'With each try, and what was answered.',
    answers: { 200: { description: 'The delivery.', schema: refer('WebhookDelivery') } },
    errors: [...missing, 'webhook_delivery_not_found'],
  },
  [`POST ${events}/:id/deliveries/:delivery/replay`]: {
    ...{ ...common, id: 'replayWebhookDelivery', summary: 'Send a delivery again', path: deliveryPath },
    description: 'Whatever became of it. The receiver can tell by its `webhook-id`, which stays.',
    answers: { 200: { description: 'The delivery.', schema: refer('WebhookDelivery') } },
    errors: [...missing, ...limited, 'webhook_delivery_not_found', 'invalid_request'],
  },
}
