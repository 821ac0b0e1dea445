import type { FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import type { Clock, Random } from '../../core/clock.ts'
import { Problem } from '../../core/problem.ts'
import { newSigningSecret } from '../../core/signature.ts'
import { type Endpoint, type EndpointChange, type EventType, eventTypes, signedRequest } from '../../core/webhook.ts'
import type { Outbound, Posted } from '../../outbound.ts'
import type { DeliveryStore, EndpointStore } from '../../stores/store.ts'
import { openShare } from '../share.ts'
import { readLimit } from '../validation.ts'
import { toWireList, toWirePage } from '../wire.ts'
import type { createBody, endpointsQuery, rotateBody, testBody, updateBody } from './schemas.ts'
import { toWireDeletedEndpoint, toWireEndpoint, toWireEndpointWithSecret, toWireTest } from './wire.ts'

export interface WebhookDependencies {
  store: DeliveryStore & EndpointStore
  outbound: Outbound
  clock: Clock
  random: Random
}

const mostEndpoints = 16
const overlapMs = 24 * 3_600_000
/** Each may hang for as long as its receiver likes. */
const testLimits = { most: 64, mostOfOne: 4, what: 'tests of webhook endpoints' }
/** Longer than outbound has patience with a receiver. */
const patienceMs = 30_000

/** A token's endpoints. Another's is as absent as one that never was. */
export function openEndpoints({ store, outbound, clock, random }: WebhookDependencies) {
  const change = async ({ owner, id }: Endpoint, changes: EndpointChange) => {
    const endpoint = await store.updateEndpoint(owner, id, { ...changes, updatedAt: clock.now() })
    if (!endpoint) throw endpointNotFound(id)
    return endpoint
  }
  const tests = openShare(testLimits)
  const checkUrl = ({ token }: FastifyRequest, url: string) =>
    outbound.of(token.name).checkReceiver(text(url, 'url'), 'url', AbortSignal.timeout(patienceMs))

  return {
    async create(request: FastifyRequest) {
      const { name, url, event_types: types } = request.body as XStatic<typeof createBody>
      await checkUrl(request, url)
      const now = clock.now()
      const endpoint: Endpoint = {
        ...{ id: newEndpointId(now, random), owner: request.token.name, name: text(name, 'name'), url },
        ...{ eventTypes: unique(types), secret: newSigningSecret(random), oldSecret: null, oldSecretUntil: null },
        ...{ createdAt: now, updatedAt: now, disabledAt: null, disabledWhy: null },
      }
      if (await store.insertEndpoint(endpoint, mostEndpoints)) return toWireEndpointWithSecret(endpoint)
      const message = `This token has ${mostEndpoints} webhook endpoints, and may have no more. Delete one first.`
      throw new Problem('invalid_request', message)
    },
    async list(request: FastifyRequest) {
      const { after = '', limit: text } = request.query as XStatic<typeof endpointsQuery>
      const limit = readLimit(text, { least: 1, most: 100, usual: 20 })
      const found = await store.endpoints(request.token.name, { ...place(after), limit: limit + 1 })
      return toWirePage(found.slice(0, limit).map(toWireEndpoint), { hasMore: found.length > limit })
    },
    retrieve: async (request: FastifyRequest) => toWireEndpoint(await own(request, store)),
    async update(request: FastifyRequest) {
      const { name, url, event_types: types } = (request.body ?? {}) as XStatic<typeof updateBody>
      const endpoint = await own(request, store)
      if (url !== undefined) await checkUrl(request, url)
      const changes: EndpointChange = {
        ...(name !== undefined && { name: text(name, 'name') }),
        ...(url !== undefined && { url }),
        ...(types !== undefined && { eventTypes: unique(types) }),
        // Whoever touches it means it to work.
        ...{ disabledAt: null, disabledWhy: null },
      }
      return toWireEndpoint(isSame(endpoint, changes) ? endpoint : await change(endpoint, changes))
    },
    async remove(request: FastifyRequest) {
      const { id } = request.params as { id: string }
      if (!isEndpointId(id) || !(await store.deleteEndpoint(request.token.name, id))) throw endpointNotFound(id)
      return toWireDeletedEndpoint(id)
    },
    async rotate(request: FastifyRequest) {
      const { keep_old_secret_active_for_24_hours: keep = false } = (request.body ?? {}) as XStatic<typeof rotateBody>
      const endpoint = await own(request, store)
      const [oldSecret, oldSecretUntil] = keep ? [endpoint.secret, clock.now() + overlapMs] : [null, null]
      const changes = { secret: newSigningSecret(random), oldSecret, oldSecretUntil }
      return toWireEndpointWithSecret(await change(endpoint, changes))
    },
    /** Sent from here and now, once; it is in no list of deliveries. */
    async test(request: FastifyRequest) {
      const { event_type: type } = request.body as XStatic<typeof testBody>
      const endpoint = await own(request, store)
      const now = clock.now()
      const sample = Buffer.from(random(16)).toString('hex')
      const ids = { id: `wh_test_${sample}`, event: `evt_test_${sample}`, task: `video_${'0'.repeat(48)}` }
      const signed = signedRequest({ ...ids, type, createdAt: now }, endpoint, now)
      using _place = tests.take(endpoint.owner)
      const posted = await outbound.of(endpoint.owner).post(endpoint.url, signed, AbortSignal.timeout(patienceMs))
      if ('status' in posted) return toWireTest(endpoint, type, posted.status)
      throw new Problem('webhook_unanswered', `The endpoint gave no answer: ${words[posted.error]}.`)
    },
    types: async () => toWireList([...eventTypes]),
  }
}

const words: Readonly<Record<Extract<Posted, { error: string }>['error'], string>> = {
  url_refused: 'its URL leads to where webhooks may not go, as to a private address that the operator does not allow',
  name_not_found: 'its host name was not found',
  name_lookup_failed: 'the name servers of this service did not resolve its host name',
  connection_failed: 'no connection came about, or it broke',
  certificate_refused: 'its certificate was not accepted',
  timed_out: 'it took longer than 15 seconds',
  answer_unreadable: 'what it sent back is not HTTP, or its headers are too large or too many',
}

/** The endpoint that a path names, if it is the token's own. */
export async function own(request: FastifyRequest, store: EndpointStore): Promise<Endpoint> {
  const { id } = request.params as { id: string }
  const endpoint = isEndpointId(id) ? await store.endpoint(request.token.name, id) : undefined
  if (!endpoint) throw endpointNotFound(id)
  return endpoint
}

/** Where a page begins. Any text is a place in the order but for this, which no database takes. */
export function place(after: string): { after?: string } {
  if (after.includes('\0')) throw new Problem('invalid_value', 'Invalid value. Use an id.', { param: 'after' })
  return after === '' ? {} : { after }
}

/** In the order of their making. */
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
