import { deliveryStates, eventTypes } from '../core/webhook.ts'
import { page, pageQuery } from './page.ts'
import {
  always,
  count,
  deleted,
  flag,
  listOf,
  orNull,
  query,
  request,
  type Static,
  shape,
  text,
  unixTime,
} from './schema.ts'

const EventType = { type: 'string', enum: eventTypes, description: 'The event.' } as const

const endpoint = {
  id: text('The id of the endpoint.'),
  object: always('webhook_endpoint'),
  created_at: unixTime('When it was created'),
  updated_at: unixTime('When it was last changed'),
  event_types: listOf('The events that it receives.', EventType),
  name: text('A name of your choice.'),
  url: text('The URL that receives events.'),
  signing_secret_hint: text('The last characters of its secret, to recognise it.'),
  disabled_at: orNull(unixTime('Since when it is disabled and receives nothing; null while it is enabled')),
  disabled_reason: orNull(text('Why it is disabled.')),
}

/* Responses. */

export const WebhookEndpoint = shape('A URL that receives events of a token.', endpoint)
export type WebhookEndpoint = Static<typeof WebhookEndpoint>

export const WebhookEndpointWithSecret = shape('An endpoint with its new secret.', {
  ...endpoint,
  signing_secret: text('The secret that signs its events. It is shown only here.'),
})
export type WebhookEndpointWithSecret = Static<typeof WebhookEndpointWithSecret>

export const WebhookEndpointList = page('One page of endpoints.', WebhookEndpoint)

export const DeletedWebhookEndpoint = shape('A deleted endpoint.', {
  id: text('The id of the endpoint.'),
  object: always('webhook_endpoint.deleted'),
  deleted,
})

export const WebhookEventTypeList = shape('The events that an endpoint can receive.', {
  object: always('list'),
  data: listOf('All events.', EventType),
})

export const WebhookTest = shape(
  'The result of a test.',
  {
    object: always('webhook_endpoint.test'),
    webhook_endpoint_id: text('The endpoint.'),
    event_type: EventType,
    status_code: {
      type: 'integer',
      minimum: 100,
      maximum: 599,
      description: 'The status of its response.',
      examples: [200],
    },
    success: flag('Whether the status is 2xx. A redirect is a failure, because it is not followed.'),
    message: text('Why the test failed.'),
  },
  { optional: ['message'] },
)
export type WebhookTest = Static<typeof WebhookTest>

export const WebhookReplay = shape('The result of a replay.', {
  object: always('webhook_endpoint.replay'),
  webhook_endpoint_id: text('The endpoint.'),
  replayed: count('How many deliveries are sent again.'),
})

const WebhookTry = shape('One try to deliver an event.', {
  at: unixTime('When it was sent'),
  status_code: orNull({ type: 'integer', description: 'The status of the response; null without a response.' }),
  error: orNull(text('Why there was no response.')),
  took_ms: count('How long it took, in milliseconds.'),
})

export const WebhookDelivery = shape('An event on its way to an endpoint.', {
  id: text('The id of the delivery, and the `webhook-id` of each try.'),
  object: always('webhook_delivery'),
  webhook_endpoint_id: text('The endpoint that receives it.'),
  event_id: text('The id of the event.'),
  event_type: EventType,
  video_id: text('The video of the event.'),
  created_at: unixTime('When the event happened'),
  state: { type: 'string', enum: deliveryStates, description: 'The state of the delivery.' },
  next_try_at: orNull(unixTime('When the next try is due; null if no try is due')),
  ended_at: orNull(unixTime('When it was delivered or failed')),
  tries: listOf('All tries, in order.', WebhookTry),
})
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const WebhookDeliveryList = page('One page of deliveries.', WebhookDelivery)

export const WebhookEvent = shape('The body that an endpoint receives, signed according to Standard Webhooks.', {
  id: text('The id of the event.'),
  object: always('event'),
  created_at: unixTime('When it happened'),
  type: EventType,
  data: shape('The video of the event.', { id: text('The id of the video.') }),
})

/* Requests. */

const fields = {
  name: { type: 'string', minLength: 1, maxLength: 256, description: 'A name of your choice.' },
  url: {
    type: 'string',
    minLength: 1,
    maxLength: 2048,
    description: 'The URL that receives events, at a public address unless the operator allows others.',
  },
  event_types: {
    type: 'array',
    items: { enum: EventType.enum },
    minItems: 1,
    maxItems: 32,
    description: 'The events that it receives.',
  },
} as const

export const CreateWebhookEndpoint = request(fields, { required: ['event_types', 'name', 'url'] })
export type CreateWebhookEndpoint = Static<typeof CreateWebhookEndpoint>

export const UpdateWebhookEndpoint = request(fields)
export type UpdateWebhookEndpoint = Static<typeof UpdateWebhookEndpoint>

export const RotateWebhookSecret = request({
  keep_old_secret_active_for_24_hours: flag('Whether the old secret also signs events, for another 24 hours.'),
})
export type RotateWebhookSecret = Static<typeof RotateWebhookSecret>

export const TestWebhookEndpoint = request(
  { event_type: { ...EventType, description: 'The event to send.' } },
  { required: ['event_type'] },
)
export type TestWebhookEndpoint = Static<typeof TestWebhookEndpoint>

export const ReplayWebhookEndpoint = request(
  { since: { type: 'integer', minimum: 0, maximum: 100_000_000_000, description: 'The start time, in Unix seconds.' } },
  { required: ['since'] },
)
export type ReplayWebhookEndpoint = Static<typeof ReplayWebhookEndpoint>

export const ListWebhookEndpointsQuery = query(pageQuery)
export type ListWebhookEndpointsQuery = Static<typeof ListWebhookEndpointsQuery>

export const ListWebhookDeliveriesQuery = query({
  ...pageQuery,
  state: { ...WebhookDelivery.properties.state, description: 'Only deliveries in this state.' },
})
export type ListWebhookDeliveriesQuery = Static<typeof ListWebhookDeliveriesQuery>

/** The keys are the names in the OpenAPI document. */
export const webhookResponses = {
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookEndpointList,
  DeletedWebhookEndpoint,
  WebhookEventTypeList,
  WebhookTest,
  WebhookReplay,
  WebhookDelivery,
  WebhookTry,
  WebhookDeliveryList,
  WebhookEvent,
}
export const webhookRequests = {
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  RotateWebhookSecret,
  TestWebhookEndpoint,
  ReplayWebhookEndpoint,
}
