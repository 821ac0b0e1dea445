import { listOf, orNull, refer, type Schema, type Schemas, shape } from './schema.ts'

const text = (description: string) => ({ type: 'string', description }) as const
const time = (description: string) => ({ type: 'integer', minimum: 0, description }) as const
const eventType: Schema = {
  type: 'string',
  enum: ['video.completed', 'video.failed'],
  description: 'What happened.',
}

const endpoint: Schemas = {
  id: text('Its id.'),
  object: { const: 'webhook_endpoint', type: 'string', description: 'Always `webhook_endpoint`.' },
  created_at: time('When it was made, in Unix seconds.'),
  updated_at: time('When it was last changed.'),
  event_types: listOf(eventType, 'What it is told of.'),
  name: text('A name of yours.'),
  url: text('Where events are sent to.'),
  signing_secret_hint: text('The end of its secret, to know it by.'),
  disabled_at: orNull(time('Since when it gets nothing; null while it does.')),
  disabled_reason: orNull(text('Why that is.')),
}

const page = (items: Schema, what: string): Schema => ({
  ...shape({
    object: { const: 'list', type: 'string', description: 'Always `list`.' },
    data: listOf(items, 'What is on this page.'),
    first_id: orNull(text('The first of them; null where there is none.')),
    last_id: orNull(text('The last of them, for `after`; null where there is none.')),
    has_more: { type: 'boolean', description: 'Whether there is another page.' },
  }),
  description: what,
})

export const webhookSchemas: Schemas = {
  WebhookEndpoint: { ...shape(endpoint), description: 'Where a token wants to be told.' },
  WebhookEndpointWithSecret: {
    ...shape({ ...endpoint, signing_secret: text('What its events are signed with. It is shown only here.') }),
    description: 'An endpoint with its secret, when that is new.',
  },
  WebhookEndpointList: page(refer('WebhookEndpoint'), 'One page of endpoints.'),
  DeletedWebhookEndpoint: {
    ...shape({
      id: text('Its id.'),
      object: { const: 'webhook_endpoint.deleted', type: 'string', description: 'Always `webhook_endpoint.deleted`.' },
      deleted: { const: true, type: 'boolean', description: 'Always true.' },
    }),
    description: 'An endpoint that is gone.',
  },
  WebhookEventTypeList: {
    ...shape({
      object: { const: 'list', type: 'string', description: 'Always `list`.' },
      data: listOf(eventType, 'All of them.'),
    }),
    description: 'What an endpoint can be told of.',
  },
  WebhookTest: {
    ...shape(
      {
        object: { const: 'webhook_endpoint.test', type: 'string', description: 'Always `webhook_endpoint.test`.' },
        webhook_endpoint_id: text('The endpoint.'),
        event_type: eventType,
        status_code: { type: 'integer', minimum: 100, maximum: 599, description: 'What it answered.' },
        success: {
          type: 'boolean',
          description: 'Whether that is a 2xx. A redirect is a failure: it is not followed.',
        },
        message: text('Why it is a failure.'),
      },
      { optional: ['message'] },
    ),
    description: 'What became of a test.',
  },
  WebhookReplay: {
    ...shape({
      object: { const: 'webhook_endpoint.replay', type: 'string', description: 'Always `webhook_endpoint.replay`.' },
      webhook_endpoint_id: text('The endpoint.'),
      replayed: { type: 'integer', minimum: 0, description: 'How many are sent again.' },
    }),
    description: 'What is sent again.',
  },
  WebhookDelivery: {
    ...shape({
      id: text('Its id, and the `webhook-id` of each try.'),
      object: { const: 'webhook_delivery', type: 'string', description: 'Always `webhook_delivery`.' },
      webhook_endpoint_id: text('Where it goes.'),
      event_id: text('The id of the event.'),
      event_type: eventType,
      video_id: text('The video that it is about.'),
      created_at: time('When that happened, in Unix seconds.'),
      state: { type: 'string', enum: ['pending', 'delivered', 'failed'], description: 'What became of it.' },
      next_try_at: orNull(time('When it is tried next; null where it is not.')),
      ended_at: orNull(time('When it was delivered, or given up.')),
      tries: listOf(refer('WebhookTry'), 'What was tried, in order.'),
    }),
    description: 'An event on its way to an endpoint.',
  },
  WebhookTry: {
    ...shape({
      at: time('When it was sent, in Unix seconds.'),
      status_code: orNull({ type: 'integer', description: 'What it was answered with; null without an answer.' }),
      error: orNull(text('Why there was none.')),
      took_ms: { type: 'integer', minimum: 0, description: 'How long that took, in milliseconds.' },
    }),
    description: 'One try to deliver.',
  },
  WebhookDeliveryList: page(refer('WebhookDelivery'), 'One page of deliveries.'),
  WebhookEvent: {
    ...shape({
      id: text('The id of the event.'),
      object: { const: 'event', type: 'string', description: 'Always `event`.' },
      created_at: time('When it happened, in Unix seconds.'),
      type: eventType,
      data: { ...shape({ id: text('The id of the video.') }), description: 'What it is about.' },
    }),
    description: 'What is sent to an endpoint, signed as Standard Webhooks has it.',
  },
}
