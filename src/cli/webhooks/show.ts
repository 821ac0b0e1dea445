import { pick, type Read } from '../../wire/schema.ts'
import {
  type WebhookDelivery,
  WebhookDeliveryList,
  type WebhookEndpoint,
  WebhookEndpointList,
  type WebhookEndpointWithSecret,
} from '../../wire/webhooks.ts'
import { facts, table } from '../screen/table.ts'
import { type Paint, painter, printable } from '../screen/text.ts'
import { relative } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'

export const EndpointPage = pick(WebhookEndpointList, ['data', 'has_more'])
export const DeliveryPage = pick(WebhookDeliveryList, ['data', 'has_more'])
type Endpoint = Read<typeof WebhookEndpoint>
type Delivery = Read<typeof WebhookDelivery>

const colours: Record<string, 'green' | 'red' | 'yellow'> = { delivered: 'green', failed: 'red', pending: 'yellow' }

const room = (terminal: Terminal) => (terminal.stdoutIsTerminal ? terminal.size().columns : null)

export function showEndpoints({ data }: Read<typeof EndpointPage>, terminal: Terminal): string {
  if (data.length === 0) {
    terminal.err('There is no webhook endpoint. Add one:\n  filmgate webhooks add https://example.com/hook\n')
    return ''
  }
  const paint = painter(terminal.colour.stdout)
  return table(
    data,
    [
      { title: 'ID', text: ({ id }) => id, paint: (_, text) => paint('bold', text) },
      { title: 'STATE', text: stateOf, paint: (one, text) => paint(one.disabled_at === null ? 'green' : 'red', text) },
      { title: 'NAME', text: ({ name }) => name, least: 8 },
      { title: 'EVENTS', text: ({ event_types: types }) => types.join(' '), extra: true },
      { title: 'URL', text: ({ url }) => url, least: 12, extra: true },
    ],
    { columns: room(terminal), paint },
  )
}

export function showEndpoint(endpoint: Endpoint, terminal: Terminal): string {
  const { disabled_at: disabled, disabled_reason: reason } = endpoint
  const time = (seconds: number) => `${relative(seconds * 1000, terminal.now())} (${isoOf(seconds)})`
  const pairs: [string, string][] = [
    ['id', endpoint.id],
    ['name', endpoint.name],
    ['url', endpoint.url],
    ['events', endpoint.event_types.join(', ')],
    ['secret', endpoint.signing_secret_hint],
    ['created', time(endpoint.created_at)],
    ['changed', time(endpoint.updated_at)],
    ['disabled', disabled === null ? '' : `${time(disabled)}: ${reason ?? ''}`],
  ]
  return facts(
    pairs.filter(([, value]) => value !== ''),
    painter(terminal.colour.stdout),
  )
}

/** The secret alone goes out, so that it can be piped; what it is, a person is told beside it. */
export function showSecret(
  what: string,
  { id, signing_secret: secret }: Read<typeof WebhookEndpointWithSecret>,
  terminal: Terminal,
): string {
  terminal.err(`${printable(`${what} ${id}`)}. Its signing secret is shown this once:\n`)
  return `${printable(secret)}\n`
}

export function showDeliveries({ data, has_more: more }: Read<typeof DeliveryPage>, terminal: Terminal): string {
  if (data.length === 0) terminal.err('There is no delivery.\n')
  if (more) terminal.err('There are more: --limit shows up to 100.\n')
  if (data.length === 0) return ''
  const paint = painter(terminal.colour.stdout)
  const now = terminal.now()
  return table(
    data,
    [
      { title: 'DELIVERY', text: ({ id }) => id, paint: (_, text) => paint('bold', text) },
      { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paintState(state, text, paint) },
      { title: 'EVENT', text: ({ event_type: type }) => type, extra: true },
      { title: 'WHEN', text: ({ created_at: at }) => relative(at * 1000, now) },
      { title: 'TRIES', text: ({ tries }) => String(tries.length), align: 'right', extra: true },
      { title: 'LAST ANSWER', text: lastOf },
      { title: 'NEXT TRY', text: ({ next_try_at: at }) => (at === null ? '' : relative(at * 1000, now)), extra: true },
      { title: 'VIDEO', text: ({ video_id: id }) => id, least: 12, extra: true },
    ],
    { columns: room(terminal), paint },
  )
}

export function showReplayed(replayed: number): string {
  return `${replayed} failed ${replayed === 1 ? 'delivery' : 'deliveries'} will be tried again\n`
}

function stateOf({ disabled_at: disabled }: Endpoint): string {
  return disabled === null ? 'enabled' : 'disabled'
}

function lastOf({ tries }: Delivery): string {
  const last = tries.at(-1)
  return last ? String(last.status_code ?? last.error ?? '') : ''
}

function paintState(state: string, text: string, paint: Paint): string {
  return paint(colours[state] ?? 'yellow', text)
}

/** A server may say anything, also a year that there is not. */
function isoOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString()
}
