import { pick } from '../wire/schema.ts'
import {
  DeletedWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookReplay,
  WebhookTest,
} from '../wire/webhooks.ts'
import { readArguments, suggestion, type Values } from './arguments.ts'
import { type Filmgate, openFilmgate } from './client/filmgate.ts'
import type { Command } from './command.ts'
import { connectionHelp, connectionOptions, findConnection } from './connection.ts'
import { UsageFailure } from './failure.ts'
import { jsonLine, printable } from './screen/text.ts'
import type { Terminal } from './terminal.ts'
import {
  DeliveryPage,
  EndpointPage,
  showDeliveries,
  showEndpoint,
  showEndpoints,
  showReplayed,
  showSecret,
} from './webhooks/show.ts'

const help = `Usage: filmgate webhooks list                your endpoints
       filmgate webhooks add URL             be told there of finished videos
       filmgate webhooks show ID             one endpoint
       filmgate webhooks enable ID           one that was disabled
       filmgate webhooks remove ID           with all its deliveries
       filmgate webhooks rotate ID           a new signing secret
       filmgate webhooks test ID             send a sample now
       filmgate webhooks deliveries ID       what was sent, and how it went
       filmgate webhooks replay ID DELIVERY  send it again
       filmgate webhooks replay ID --failed-since TIME

A delivery that is not answered with 2xx is tried ten times in about 75 hours.
What add and rotate print is the signing secret, shown this once.

Examples:
  filmgate webhooks add https://example.com/hook > secret
  filmgate webhooks add https://example.com/hook --events video.failed
  filmgate webhooks deliveries whe_0193… --state failed
  filmgate webhooks replay whe_0193… --failed-since 24h

Options:
  --name NAME         of add: what it is called (the host)
  --events LIST       of add: video.completed, video.failed or both, with a
                      comma between them (both)
  --now               of rotate: the old secret ends at once, not in 24 hours
  --event TYPE        of test: of which event (video.completed)
  --state STATE       of deliveries: only pending, delivered or failed
  --limit N           of deliveries: how many, up to 100 (20)
  --failed-since TIME of replay: 90m, 24h, 3d, or a time such as
                      2026-11-15T09:00Z
  --json              the server's own answer; times are Unix seconds

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

interface Asked {
  filmgate: Filmgate
  operands: string[]
  values: Given
  terminal: Terminal
}

interface Shown {
  answer: object
  show(): string
  /** What the command is worth to a script. */
  code?: number
}

/** What a word after `webhooks` does: it asks the server, and knows how the answer looks to a person. */
interface Verb {
  operands: readonly string[]
  run(asked: Asked): Promise<Shown>
}

const Tested = pick(WebhookTest, ['event_type', 'status_code'])
const Replayed = pick(WebhookReplay, ['replayed'])

const all = '/webhook_endpoints'
const pathOf = (id = '') => `${all}/${encodeURIComponent(id)}`
const theId = 'the id of the endpoint'

const verbs: Record<string, Verb> = {
  list: {
    operands: [],
    async run({ filmgate, terminal }) {
      const answer = await filmgate.get(`${all}?limit=100`, EndpointPage)
      return { answer, show: () => showEndpoints(answer, terminal) }
    },
  },
  add: {
    operands: ['the URL'],
    async run({ filmgate, operands: [url = ''], values, terminal }) {
      const { name = URL.parse(url)?.host || url, events = 'video.completed,video.failed' } = values
      const types = events.split(',').map((type) => type.trim())
      const answer = await filmgate.post(all, WebhookEndpointWithSecret, { name, url, event_types: types })
      return { answer, show: () => showSecret('added', answer, terminal) }
    },
  },
  show: {
    operands: [theId],
    async run({ filmgate, operands: [id], terminal }) {
      const answer = await filmgate.get(pathOf(id), WebhookEndpoint)
      return { answer, show: () => showEndpoint(answer, terminal) }
    },
  },
  enable: {
    operands: [theId],
    async run({ filmgate, operands: [id] }) {
      const answer = await filmgate.post(pathOf(id), WebhookEndpoint, {})
      return { answer, show: () => `${printable(answer.id)} is enabled\n` }
    },
  },
  remove: {
    operands: [theId],
    async run({ filmgate, operands: [id] }) {
      const answer = await filmgate.remove(pathOf(id), DeletedWebhookEndpoint)
      return { answer, show: () => `removed ${printable(answer.id)}\n` }
    },
  },
  rotate: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { now = false }, terminal }) {
      const body = { keep_old_secret_active_for_24_hours: !now }
      const answer = await filmgate.post(`${pathOf(id)}/rotate_secret`, WebhookEndpointWithSecret, body)
      const what = now ? 'the old secret has ended for' : 'both secrets sign for 24 hours for'
      return { answer, show: () => showSecret(what, answer, terminal) }
    },
  },
  test: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { event = 'video.completed' } }) {
      const answer = await filmgate.post(`${pathOf(id)}/test`, Tested, { event_type: event })
      const isTaken = answer.status_code >= 200 && answer.status_code < 300
      const verdict = isTaken ? '' : ', which counts as a failure'
      const show = () => `${printable(answer.event_type)}: the endpoint answered ${answer.status_code}${verdict}\n`
      return { answer, show, code: isTaken ? 0 : 1 }
    },
  },
  deliveries: {
    operands: [theId],
    async run({ filmgate, operands: [id], values: { limit = '20', state }, terminal }) {
      if (!/^([1-9]\d?|100)$/.test(limit)) throw new UsageFailure(`--limit ${limit}: use a number from 1 to 100`)
      const query = new URLSearchParams({ limit, ...(state !== undefined && { state }) })
      const answer = await filmgate.get(`${pathOf(id)}/deliveries?${query}`, DeliveryPage)
      return { answer, show: () => showDeliveries(answer, terminal) }
    },
  },
  replay: {
    operands: [theId, 'the delivery, or --failed-since,'],
    async run({ filmgate, operands: [id, delivery = ''] }) {
      const path = `${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/replay`
      const answer = await filmgate.post(path, WebhookDelivery)
      return { answer, show: () => `${printable(answer.id)} will be sent again\n` }
    },
  },
}

const replayFailed: Verb = {
  operands: [theId],
  async run({ filmgate, operands: [id], values, terminal }) {
    const since = readSince(values['failed-since'] ?? '', terminal.now())
    const answer = await filmgate.post(`${pathOf(id)}/replay`, Replayed, { since })
    return { answer, show: () => showReplayed(answer.replayed) }
  },
}

export const command: Command = {
  help,
  async run([word = '', ...args], terminal) {
    const verb = word === 'replay' && args.some((arg) => arg.startsWith('--failed-since')) ? replayFailed : verbOf(word)
    const { values, operands } = readArguments(args, { options, operands: verb.operands })
    const filmgate = openFilmgate(findConnection(values, terminal.env))
    const { answer, show, code = 0 } = await verb.run({ filmgate, operands, values, terminal })
    terminal.out(values.json ? jsonLine(answer) : show())
    return code
  },
}

function verbOf(word: string): Verb {
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (verb) return verb
  const known = Object.keys(verbs)
  const advice = suggestion(word, known) || `; say one of: ${known.join(', ')}`
  throw new UsageFailure(
    word === '' ? `what about webhooks?${advice.slice(1)}` : `there is no 'webhooks ${word}'${advice}`,
  )
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time in Unix seconds, of a time or of how long ago it was. */
function readSince(text: string, now: number): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at = amount === undefined ? Date.parse(text) : now - Number(amount) * (unitMs[unit] ?? 0)
  if (!Number.isNaN(at)) return Math.max(0, Math.floor(at / 1000))
  throw new UsageFailure(`--failed-since ${text}: use 90m, 24h, 3d, or a time such as 2026-11-15T09:00Z`)
}
