import { hintOf } from '../../core/signature.ts'
import { type Endpoint, type EventType, isAccepted, type WebhookDelivery } from '../../core/webhook.ts'

/** The shapes of OpenAI's webhook endpoints, with `disabled_at`, `disabled_reason` and the `message` of a failed test beside them; deliveries are our own. */

export function toWireEndpoint(endpoint: Endpoint) {
  const { id, name, url, secret, eventTypes, createdAt, updatedAt, disabledAt, disabledWhy } = endpoint
  return {
    ...{ id, object: 'webhook_endpoint', created_at: seconds(createdAt), updated_at: seconds(updatedAt) },
    ...{ event_types: eventTypes, name, url, signing_secret_hint: hintOf(secret) },
    ...{ disabled_at: secondsOrNull(disabledAt), disabled_reason: disabledWhy },
  }
}

/** Only where it was made: nobody is shown it again. */
export function toWireEndpointWithSecret(endpoint: Endpoint) {
  return { ...toWireEndpoint(endpoint), signing_secret: endpoint.secret }
}

export function toWireDeletedEndpoint(id: string) {
  return { id, object: 'webhook_endpoint.deleted', deleted: true }
}

export function toWireTest(endpoint: Endpoint, type: EventType, status: number) {
  return {
    ...{ object: 'webhook_endpoint.test', webhook_endpoint_id: endpoint.id },
    ...{ event_type: type, status_code: status, success: isAccepted(status) },
    ...(!isAccepted(status) && { message: failureOf(status) }),
  }
}

function failureOf(status: number): string {
  const isRedirect = status >= 300 && status < 400
  return isRedirect
    ? `The endpoint redirects (status ${status}). Webhooks follow no redirect: use the URL that it redirects to.`
    : `The endpoint responded with status ${status}. Only a 2xx counts as delivered.`
}

export function toWireReplay(endpoint: string, replayed: number) {
  return { object: 'webhook_endpoint.replay', webhook_endpoint_id: endpoint, replayed }
}

export function toWireDelivery(delivery: WebhookDelivery) {
  const { id, endpoint, event, type, task, createdAt, state, dueAt, endedAt, log } = delivery
  return {
    ...{ id, object: 'webhook_delivery', webhook_endpoint_id: endpoint },
    ...{ event_id: event, event_type: type, video_id: task, created_at: seconds(createdAt), state },
    ...{ next_try_at: secondsOrNull(dueAt), ended_at: secondsOrNull(endedAt) },
    tries: log.map(({ at, status, error, tookMs }) => ({
      at: seconds(at),
      status_code: status,
      error,
      took_ms: tookMs,
    })),
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

function secondsOrNull(ms: number | null): number | null {
  return ms === null ? null : seconds(ms)
}
