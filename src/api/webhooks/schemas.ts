import { deliveryStates, eventTypes } from '../../core/webhook.ts'

/* What requests about webhooks are checked with. */

const types = { type: 'array', items: { enum: eventTypes }, minItems: 1, maxItems: 32 } as const
const fields = {
  name: { type: 'string', minLength: 1, maxLength: 256 },
  url: { type: 'string', minLength: 1, maxLength: 2048 },
  event_types: types,
} as const

export const createBody = {
  type: 'object',
  required: ['event_types', 'name', 'url'],
  properties: fields,
  additionalProperties: false,
} as const

/** No body at all says as much as an empty one. */
export const updateBody = { type: ['object', 'null'], properties: fields, additionalProperties: false } as const

export const rotateBody = {
  type: ['object', 'null'],
  properties: { keep_old_secret_active_for_24_hours: { type: 'boolean' } },
  additionalProperties: false,
} as const

export const testBody = {
  type: 'object',
  required: ['event_type'],
  properties: { event_type: { enum: eventTypes } },
  additionalProperties: false,
} as const

export const replayBody = {
  type: 'object',
  required: ['since'],
  properties: { since: { type: 'integer', minimum: 0, maximum: 100_000_000_000 } },
  additionalProperties: false,
} as const

export const endpointsQuery = {
  type: 'object',
  properties: { after: { type: 'string', maxLength: 200 }, limit: { type: 'string' } },
} as const

export const deliveriesQuery = {
  type: 'object',
  properties: { ...endpointsQuery.properties, state: { enum: deliveryStates } },
} as const
