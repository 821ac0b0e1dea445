import { isAccepted } from '../core/webhook.ts'
import { pick, type Read } from '../wire/schema.ts'
import {
  DeletedWebhookEndpoint,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookReplay,
  WebhookTest,
} from '../wire/webhooks.ts'
import { type Command, findVerb, limitOf, readArguments, type Values } from './arguments.ts'
import { type Filmgate, openFilmgate } from './client.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { facts, lookOf, roomOf, table } from './screen/table.ts'
import { jsonLine, type Paint, painter, printable } from './screen/text.ts'
import { relative } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { timeBefore } from './times.ts'

const help = `Usage: filmgate webhooks list                list your endpoints
       filmgate webhooks add URL             add one for finished videos
       filmgate webhooks show ID             show one endpoint
       filmgate webhooks enable ID           enable a disabled endpoint
       filmgate webhooks remove ID           remove it and its deliveries
       filmgate webhooks rotate ID           replace its signing secret
       filmgate webhooks test ID             send a sample event now
       filmgate webhooks deliveries ID       list what was sent to it
       filmgate webhooks replay ID DELIVERY  send a delivery again
       filmgate webhooks replay ID --failed-since TIME

A delivery without a 2xx response is tried ten times in about 75 hours.
\`add\` and \`rotate\` print the signing secret. It is shown only once.

Examples:
  filmgate webhooks add https://example.com/hook > secret
  filmgate webhooks add https://example.com/hook --events video.failed
  filmgate webhooks deliveries whe_0193… --state failed
  filmgate webhooks replay whe_0193… --failed-since 24h

Options:
  --name NAME         for add: the name of the endpoint (the host)
  --events LIST       for add: video.completed, video.failed or both, with a
                      comma between them (both)
  --now               for rotate: the old secret ends at once, not in 24 hours
  --event TYPE        for test: the type of the event (video.completed)
  --state STATE       for deliveries: only pending, delivered or failed
  --limit N           for deliveries: how many, up to 100 (20)
  --failed-since TIME for replay: 90m, 24h, 3d, or a time such as
                      2026-11-15T09:00Z
  --json              the response of the server; times are Unix seconds

${connectionHelp}`

const options = {
  ...connectionOptions,
  name: { type: 'string' },
  events: { type: 'string' },
  event: { type: 'string' },
  now: { type: 'boolean' },
  state: { type: 'string' },
  limit: { type: 'string' },
  'failed-since': { type: 'string' },
} as const

type Given = Values<typeof options>

interface Invocation {
  filmgate: Filmgate
  operands: string[]
  values: Given
  terminal: Terminal
}

interface Shown {
  response: object
  show(): string
  /** The exit code; 0 by default. */
  code?: number
}

/** A word after `webhooks`: its request, and how to show the response. */
interface Verb {
  operands: readonly string[]
  run(invocation: Invocation): Promise<Shown>
}

const EndpointPage = pick(WebhookEndpointList, ['data', 'has_more'])
const DeliveryPage = pick(WebhookDeliveryList, ['data', 'has_more'])
type Endpoint = Read<typeof WebhookEndpoint>
type Delivery = Read<typeof WebhookDelivery>
const Tested = pick(WebhookTest, ['event_type', 'status_code'])
const Replayed = pick(WebhookReplay, ['replayed'])

const all = '/webhook_endpoints'
const pathOf = (id = '') => `${all}/${encodeURIComponent(id)}`
const theId = 'the id of the endpoint'

const verbs: Record<string, Verb> = {
  list: {
    operands: [],
    async run({ filmgate, terminal }) {
      const response = await filmgate.get(`${all}?limit=100`, EndpointPage)
      return { response, show: () => showEndpoints(response, terminal) }
    },
  },
  add: {
    operands: ['the URL'],
    async run({ filmgate, operands: [url = ''], values, terminal }) {
      const { name = URL.parse(url)?.host || url, events = 'video.completed,video.failed' } = values
      const types = events.split(',').map((type) => type.trim())
      const response = await filmgate.post(all, WebhookEndpointWithSecret, { name, url, event_types: types })
      return { response, show: () => showSecret('added', response, terminal) }
    },
  },
  show: {
    operands: [theId],
    async run({ filmgate, operands: [id], terminal }) {
      const response = await filmgate.get(pathOf(id), WebhookEndpoint)
      return { response, show: () => showEndpoint(response, terminal) }
    },
  },
  enable: {
    operands: [theId],
    async run({ filmgate, operands: [id] }) {
      const response = await filmgate.post(pathOf(id), WebhookEndpoint, {})
      return { response, show: () => `${printable(response.id)} is enabled\n` }
    },
  },
  remove: {
    operands: [theId],
    async run({ filmgate, operands: [id] }) {
      const response = await filmgate.remove(pathOf(id), DeletedWebhookEndpoint)
      return { response, show: () => `removed ${printable(response.id)}\n` }
    },
  },
  rotate: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { now = false }, terminal }) {
      const body = { keep_old_secret_active_for_24_hours: !now }
      const response = await filmgate.post(`${pathOf(id)}/rotate_secret`, WebhookEndpointWithSecret, body)
      const what = now ? 'the old secret has ended for' : 'both secrets sign for 24 hours for'
      return { response, show: () => showSecret(what, response, terminal) }
    },
  },
  test: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { event = 'video.completed' } }) {
      const response = await filmgate.post(`${pathOf(id)}/test`, Tested, { event_type: event })
      const isSuccess = isAccepted(response.status_code)
      const verdict = isSuccess ? '' : ', which counts as a failure'
      const show = () =>
        `${printable(response.event_type)}: the endpoint responded with ${response.status_code}${verdict}\n`
      return { response, show, code: isSuccess ? 0 : 1 }
    },
  },
  deliveries: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { limit = '20', state }, terminal }) {
      const query = new URLSearchParams({ limit: String(limitOf(limit, 100)), ...(state !== undefined && { state }) })
      const response = await filmgate.get(`${pathOf(id)}/deliveries?${query}`, DeliveryPage)
      return { response, show: () => showDeliveries(response, terminal) }
    },
  },
  replay: {
    operands: [theId, 'the delivery, or --failed-since,'],
    async run({ filmgate, operands: [id, delivery = ''] }) {
      const path = `${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/replay`
      const response = await filmgate.post(path, WebhookDelivery)
      return { response, show: () => `${printable(response.id)} will be sent again\n` }
    },
  },
}

const replayFailed: Verb = {
  operands: [theId],
  async run({ filmgate, operands: [id], values, terminal }) {
    const since = Math.floor(timeBefore('failed-since', values['failed-since'] ?? '', terminal.now()) / 1000)
    const response = await filmgate.post(`${pathOf(id)}/replay`, Replayed, { since })
    return { response, show: () => showReplayed(response.replayed) }
  },
}

export const command: Command = {
  help,
  async run([word = '', ...args], terminal) {
    const replaysFailed = word === 'replay' && args.some((arg) => arg.startsWith('--failed-since'))
    const verb = replaysFailed ? replayFailed : findVerb('webhooks', word, verbs)
    const { values, operands } = readArguments(args, { options, operands: verb.operands })
    const filmgate = openFilmgate(findConnection(values, terminal.env))
    const { response, show, code = 0 } = await verb.run({ filmgate, operands, values, terminal })
    terminal.out(values.json ? jsonLine(response) : show())
    return code
  },
}

const colours: Record<string, 'green' | 'red' | 'yellow'> = { delivered: 'green', failed: 'red', pending: 'yellow' }

function showEndpoints({ data }: Read<typeof EndpointPage>, terminal: Terminal): string {
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
    { columns: roomOf(terminal), paint },
  )
}

function showEndpoint(endpoint: Endpoint, terminal: Terminal): string {
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
  return facts(pairs, lookOf(terminal))
}

/** Only the secret goes to stdout, so that it can be piped. The rest goes to stderr. */
function showSecret(
  what: string,
  { id, signing_secret: secret }: Read<typeof WebhookEndpointWithSecret>,
  terminal: Terminal,
): string {
  terminal.err(`${printable(`${what} ${id}`)}. Its signing secret is shown only once:\n`)
  return `${printable(secret)}\n`
}

function showDeliveries({ data, has_more: more }: Read<typeof DeliveryPage>, terminal: Terminal): string {
  if (data.length === 0) terminal.err('There are no deliveries.\n')
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
      { title: 'LAST RESPONSE', text: lastOf },
      { title: 'NEXT TRY', text: ({ next_try_at: at }) => (at === null ? '' : relative(at * 1000, now)), extra: true },
      { title: 'VIDEO', text: ({ video_id: id }) => id, least: 12, extra: true },
    ],
    { columns: roomOf(terminal), paint },
  )
}

function showReplayed(replayed: number): string {
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

/** A server may send a time that `Date` can't represent. */
function isoOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString()
}
