import type { Row, Value } from './row.ts'
import type { DeliveryOutcome, DeliveryState, Endpoint, EventType, WebhookDelivery } from './webhook.ts'

/* How endpoints and deliveries lie in the columns of a database, the same in every store that has columns. */

export const endpointColumns = [
  ...['id', 'owner', 'name', 'url', 'event_types', 'secret', 'old_secret', 'old_secret_until'],
  ...['created_at', 'updated_at', 'disabled_at', 'disabled_why'],
]

export function fromEndpoint(endpoint: Endpoint): Record<string, Value> {
  const { id, owner, name, url, secret } = endpoint
  return {
    ...{ id, owner, name, url, secret, event_types: JSON.stringify(endpoint.eventTypes) },
    ...{ old_secret: endpoint.oldSecret, old_secret_until: endpoint.oldSecretUntil },
    ...{ created_at: endpoint.createdAt, updated_at: endpoint.updatedAt },
    ...{ disabled_at: endpoint.disabledAt, disabled_why: endpoint.disabledWhy },
  }
}

export function toEndpoint(row: Row): Endpoint {
  return {
    id: row.id as string,
    owner: row.owner as string,
    name: row.name as string,
    url: row.url as string,
    eventTypes: JSON.parse(String(row.event_types)),
    secret: row.secret as string,
    oldSecret: row.old_secret as string | null,
    oldSecretUntil: row.old_secret_until as number | null,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    disabledAt: row.disabled_at as number | null,
    disabledWhy: row.disabled_why as string | null,
  }
}

export const deliveryColumns = [
  ...['id', 'endpoint', 'owner', 'event', 'type', 'task', 'created_at'],
  ...['state', 'due_at', 'tries', 'fence', 'ended_at', 'log'],
]

export function fromDelivery(delivery: WebhookDelivery): Record<string, Value> {
  const { endpoint, owner, event, type, task, createdAt } = delivery
  return { endpoint, owner, event, type, task, created_at: createdAt, ...fromOutcome(delivery) }
}

export function fromOutcome(outcome: DeliveryOutcome): Record<string, Value> {
  const { id, fence, state, dueAt, tries, endedAt, log } = outcome
  return { id, fence, state, due_at: dueAt, tries, ended_at: endedAt, log: JSON.stringify(log) }
}

export function toDelivery(row: Row): WebhookDelivery {
  return {
    id: row.id as string,
    endpoint: row.endpoint as string,
    owner: row.owner as string,
    event: row.event as string,
    type: row.type as EventType,
    task: row.task as string,
    createdAt: row.created_at as number,
    state: row.state as DeliveryState,
    dueAt: row.due_at as number | null,
    tries: row.tries as number,
    fence: row.fence as number,
    endedAt: row.ended_at as number | null,
    log: JSON.parse(String(row.log)),
  }
}

/** Whether an endpoint, as its row is, wants to be told of this. One that somebody damaged must not hold up the task. */
export function wants({ event_types: types }: Row, type: EventType): boolean {
  try {
    return (JSON.parse(String(types)) as string[]).includes(type)
  } catch {
    return false
  }
}
