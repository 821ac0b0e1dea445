import type { FastifyRequest } from 'fastify'
import type { Clock, Random } from '../../core/clock.ts'
import { Problem } from '../../core/problem.ts'
import { hintOf, newSigningSecret } from '../../core/signature.ts'
import { ownerOf } from '../../core/token.ts'
import {
  type Endpoint,
  type EndpointChange,
  type EventType,
  eventTypes,
  isAccepted,
  mostEndpoints,
  signedRequest,
} from '../../core/webhook.ts'
import type { Outbound, Posted } from '../../outbound.ts'
import type { DeliveryStore, EndpointStore } from '../../stores/store.ts'
import {
  CreateWebhookEndpoint,
  DeletedWebhookEndpoint,
  ListWebhookEndpointsQuery,
  RotateWebhookSecret,
  TestWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookEventTypeList,
  WebhookTest,
} from '../../wire/webhooks.ts'
import type { limitWrites } from '../rates.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type QueryRequest, type Route } from '../route.ts'
import { openShare } from '../share.ts'
import { readLimit } from '../validation.ts'
import { secondsOrNull, toWireList, toWirePage, unixSeconds } from '../wire.ts'

export interface WebhookDependencies {
  store: DeliveryStore & EndpointStore
  outbound: Outbound
  clock: Clock
  random: Random
}

const overlapMs = 24 * 3_600_000
/** Each waits for its receiver, up to `receiverMs`. */
const testLimits = { most: 64, mostOfOne: 4, items: 'tests of webhook endpoints running' }
/** Longer than the timeout of outbound requests to a receiver. */
const receiverMs = 30_000

export const endpointPath = { webhook_endpoint_id: 'The id of the endpoint.' }
/** Errors of too many writes, and of an endpoint that does not exist. */
export const rateErrors = ['rate_limit_exceeded'] as const
export const endpointErrors = ['webhook_endpoint_not_found', 'storage_unavailable'] as const

const theEndpoint = { 200: { description: 'The endpoint.', schema: WebhookEndpoint } }
const withSecret = { 200: { description: 'The endpoint.', schema: WebhookEndpointWithSecret } }

type Hook = ReturnType<typeof limitWrites>

/** The same routes as in OpenAI's API. `onRequest` limits those that resolve a host name or send to it. */
export function endpointRoutes(dependencies: WebhookDependencies, onRequest: Hook): Route[] {
  const endpoints = openEndpoints(dependencies)
  const options = { onRequest }
  return [
    {
      at: 'GET /v1/webhook_event_types',
      id: 'listWebhookEventTypes',
      summary: 'List the event types',
      description: 'The events that an endpoint can receive.',
      responses: { 200: { description: 'All events.', schema: WebhookEventTypeList } },
      handler: endpoints.types,
    },
    defineRoute({
      at: 'POST /v1/webhook_endpoints',
      id: 'createWebhookEndpoint',
      summary: 'Create an endpoint',
      description:
        'The endpoint receives the events of every video of this token from now on. Save `signing_secret`: it is shown only here.',
      body: {
        schema: CreateWebhookEndpoint,
        as: 'json',
        example: { name: 'production', url: 'https://example.com/webhooks', event_types: ['video.completed'] },
      },
      responses: withSecret,
      errors: [...bodyFaults, ...rateErrors, 'invalid_webhook_url', 'invalid_request', 'storage_unavailable'],
      options,
      handler: endpoints.create,
    }),
    defineRoute({
      at: 'GET /v1/webhook_endpoints',
      id: 'listWebhookEndpoints',
      summary: 'List your endpoints',
      description: 'The endpoints of this token.',
      query: { schema: ListWebhookEndpointsQuery },
      responses: { 200: { description: 'One page.', schema: WebhookEndpointList } },
      errors: ['invalid_value', 'storage_unavailable'],
      handler: endpoints.list,
    }),
    {
      at: 'GET /v1/webhook_endpoints/:id',
      id: 'retrieveWebhookEndpoint',
      summary: 'Show an endpoint',
      description: 'The endpoint, without its secret.',
      path: endpointPath,
      responses: theEndpoint,
      errors: endpointErrors,
      handler: endpoints.retrieve,
    },
    defineRoute({
      at: 'POST /v1/webhook_endpoints/:id',
      id: 'updateWebhookEndpoint',
      summary: 'Change an endpoint',
      description: 'Omitted fields stay the same. A disabled endpoint is enabled.',
      path: endpointPath,
      body: {
        schema: UpdateWebhookEndpoint,
        as: 'json',
        isOptional: true,
        example: { event_types: ['video.failed'] },
      },
      responses: theEndpoint,
      errors: [
        ...endpointErrors,
        ...rateErrors,
        'unknown_parameter',
        'invalid_type',
        'invalid_value',
        'invalid_webhook_url',
      ],
      options,
      handler: endpoints.update,
    }),
    {
      at: 'DELETE /v1/webhook_endpoints/:id',
      id: 'deleteWebhookEndpoint',
      summary: 'Delete an endpoint',
      description: 'The endpoint receives no more events.',
      path: endpointPath,
      responses: { 200: { description: 'The endpoint is deleted.', schema: DeletedWebhookEndpoint } },
      errors: endpointErrors,
      handler: endpoints.remove,
    },
    defineRoute({
      at: 'POST /v1/webhook_endpoints/:id/rotate_secret',
      id: 'rotateWebhookSecret',
      summary: 'Rotate the signing secret',
      description: 'The new secret signs events at once. On request, the old one also signs for 24 hours.',
      path: endpointPath,
      body: {
        schema: RotateWebhookSecret,
        as: 'json',
        isOptional: true,
        example: { keep_old_secret_active_for_24_hours: true },
      },
      responses: withSecret,
      errors: [...endpointErrors, ...rateErrors, 'unknown_parameter', 'invalid_type'],
      options,
      handler: endpoints.rotate,
    }),
    defineRoute({
      at: 'POST /v1/webhook_endpoints/:id/test',
      id: 'testWebhookEndpoint',
      summary: 'Send a test event',
      description: 'The event is sent once, immediately. The id of its video is all zeros.',
      path: endpointPath,
      body: { schema: TestWebhookEndpoint, as: 'json', example: { event_type: 'video.completed' } },
      responses: { 200: { description: 'The response of the endpoint.', schema: WebhookTest } },
      errors: [...endpointErrors, ...bodyFaults, ...rateErrors, 'webhook_unanswered', 'overloaded'],
      options,
      handler: endpoints.test,
    }),
  ]
}

/** The endpoints of a token. To this token, those of other tokens don't exist. */
function openEndpoints({ store, outbound, clock, random }: WebhookDependencies) {
  const change = async ({ owner, id }: Endpoint, changes: EndpointChange) => {
    const endpoint = await store.updateEndpoint(owner, id, { ...changes, updatedAt: clock.now() })
    if (!endpoint) throw endpointNotFound(id)
    return endpoint
  }
  const tests = openShare(testLimits)
  const checkUrl = ({ token }: FastifyRequest, url: string) =>
    outbound.of(ownerOf(token)).checkReceiver(text(url, 'url'), 'url', AbortSignal.timeout(receiverMs))

  return {
    async create(request: BodyRequest<CreateWebhookEndpoint>) {
      const { name, url, event_types: types } = request.body
      await checkUrl(request, url)
      const now = clock.now()
      const endpoint: Endpoint = {
        id: newEndpointId(now, random),
        owner: ownerOf(request.token),
        name: text(name, 'name'),
        url,
        eventTypes: unique(types),
        secret: newSigningSecret(random),
        oldSecret: null,
        oldSecretUntil: null,
        createdAt: now,
        updatedAt: now,
        disabledAt: null,
        disabledWhy: null,
      }
      if (await store.insertEndpoint(endpoint, mostEndpoints)) return toWireEndpointWithSecret(endpoint)
      const message = `This token has ${mostEndpoints} webhook endpoints, which is the limit. Delete one first.`
      throw new Problem('invalid_request', message)
    },
    async list(request: QueryRequest<ListWebhookEndpointsQuery>) {
      const { after = '' } = request.query
      const limit = readLimit(request, ListWebhookEndpointsQuery)
      const found = await store.endpoints(ownerOf(request.token), { ...pageStart(after), limit: limit + 1 })
      return toWirePage(found.slice(0, limit).map(toWireEndpoint), { hasMore: found.length > limit })
    },
    retrieve: async (request: FastifyRequest) => toWireEndpoint(await ownEndpoint(request, store)),
    async update(request: BodyRequest<UpdateWebhookEndpoint | null>) {
      const { name, url, event_types: types } = request.body ?? {}
      const endpoint = await ownEndpoint(request, store)
      if (url !== undefined) await checkUrl(request, url)
      const changes: EndpointChange = {
        ...(name !== undefined && { name: text(name, 'name') }),
        ...(url !== undefined && { url }),
        ...(types !== undefined && { eventTypes: unique(types) }),
        // A change always enables the endpoint.
        disabledAt: null,
        disabledWhy: null,
      }
      return toWireEndpoint(isSame(endpoint, changes) ? endpoint : await change(endpoint, changes))
    },
    async remove(request: FastifyRequest) {
      const id = pathParam(request, 'id')
      if (!isEndpointId(id) || !(await store.deleteEndpoint(ownerOf(request.token), id))) throw endpointNotFound(id)
      return { id, object: 'webhook_endpoint.deleted', deleted: true }
    },
    async rotate(request: BodyRequest<RotateWebhookSecret | null>) {
      const { keep_old_secret_active_for_24_hours: keep = false } = request.body ?? {}
      const endpoint = await ownEndpoint(request, store)
      const [oldSecret, oldSecretUntil] = keep ? [endpoint.secret, clock.now() + overlapMs] : [null, null]
      const changes = { secret: newSigningSecret(random), oldSecret, oldSecretUntil }
      return toWireEndpointWithSecret(await change(endpoint, changes))
    },
    /** Sent by this process, immediately and once. It is not in the list of deliveries. */
    async test(request: BodyRequest<TestWebhookEndpoint>) {
      const { event_type: type } = request.body
      const endpoint = await ownEndpoint(request, store)
      const now = clock.now()
      const sample = Buffer.from(random(16)).toString('hex')
      const ids = { id: `wh_test_${sample}`, event: `evt_test_${sample}`, task: `video_${'0'.repeat(48)}` }
      const signed = signedRequest({ ...ids, type, createdAt: now }, endpoint, now)
      using _slot = tests.take(endpoint.owner)
      const posted = await outbound.of(endpoint.owner).post(endpoint.url, signed, AbortSignal.timeout(receiverMs))
      if ('status' in posted) return toWireTest(endpoint, type, posted.status)
      throw new Problem('webhook_unanswered', `The endpoint did not respond: ${failureReasons[posted.error]}.`)
    },
    types: async () => toWireList(eventTypes),
  }
}

/** `disabled_at`, `disabled_reason` and the `message` of a failed test are our additions to OpenAI's API. */
function toWireEndpoint(endpoint: Endpoint): WebhookEndpoint {
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    created_at: unixSeconds(endpoint.createdAt),
    updated_at: unixSeconds(endpoint.updatedAt),
    event_types: endpoint.eventTypes,
    name: endpoint.name,
    url: endpoint.url,
    signing_secret_hint: hintOf(endpoint.secret),
    disabled_at: secondsOrNull(endpoint.disabledAt),
    disabled_reason: endpoint.disabledWhy,
  }
}

/** Only in the response that creates the secret. It is never shown again. */
function toWireEndpointWithSecret(endpoint: Endpoint): WebhookEndpointWithSecret {
  return { ...toWireEndpoint(endpoint), signing_secret: endpoint.secret }
}

function toWireTest(endpoint: Endpoint, type: EventType, status: number): WebhookTest {
  return {
    object: 'webhook_endpoint.test',
    webhook_endpoint_id: endpoint.id,
    event_type: type,
    status_code: status,
    success: isAccepted(status),
    ...(!isAccepted(status) && { message: failureOf(status) }),
  }
}

function failureOf(status: number): string {
  const isRedirect = status >= 300 && status < 400
  return isRedirect
    ? `The endpoint redirects (status ${status}). Webhooks do not follow redirects. Use the URL that it redirects to.`
    : `The endpoint responded with status ${status}. Only a 2xx counts as delivered.`
}

const failureReasons: Readonly<Record<Extract<Posted, { error: string }>['error'], string>> = {
  url_refused: 'its URL is not allowed, for example because it leads to a private address',
  name_not_found: 'its host name was not found',
  name_lookup_failed: 'the name servers of this service did not resolve its host name',
  connection_failed: 'the connection failed or broke',
  certificate_refused: 'its certificate was not accepted',
  timed_out: 'it took longer than 15 seconds',
  answer_unreadable: 'its response is not HTTP, or has too many or too large headers',
}

/** The endpoint in the path, if it belongs to the token. */
export async function ownEndpoint(request: FastifyRequest, store: EndpointStore): Promise<Endpoint> {
  const id = pathParam(request, 'id')
  const endpoint = isEndpointId(id) ? await store.endpoint(ownerOf(request.token), id) : undefined
  if (!endpoint) throw endpointNotFound(id)
  return endpoint
}

/** Where a page begins. Any text works as a position in the order, except NUL, which no database accepts. */
export function pageStart(after: string): { after?: string } {
  if (after.includes('\0')) throw new Problem('invalid_value', "Invalid 'after'. Use an id.", { param: 'after' })
  return after === '' ? {} : { after }
}

/** In order of creation. */
function newEndpointId(now: number, random: Random): string {
  return `whe_${now.toString(16).padStart(12, '0')}${Buffer.from(random(12)).toString('hex')}`
}

function isEndpointId(id: string): boolean {
  return /^whe_[0-9a-f]{36}$/.test(id)
}

function endpointNotFound(id: string): Problem {
  return new Problem('webhook_endpoint_not_found', `No webhook endpoint '${id.slice(0, 100)}' was found.`)
}

function text(value: string, param: string): string {
  if (value.isWellFormed() && !/\p{Cc}/u.test(value)) return value
  const message = `Invalid '${param}': it contains control characters, or half a surrogate pair.`
  throw new Problem('invalid_value', message, { param })
}

function unique(types: readonly EventType[]): EventType[] {
  return eventTypes.filter((type) => types.includes(type))
}

function isSame(endpoint: Endpoint, changes: EndpointChange): boolean {
  return JSON.stringify({ ...endpoint, ...changes }) === JSON.stringify(endpoint)
}
