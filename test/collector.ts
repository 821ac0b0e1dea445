import { type Received, type Receiver, startReceiver } from './webhook-world.ts'

/** A span as a collector received it. */
export interface CollectedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId: string
  attributes: Record<string, unknown>
  events: string[]
  isError: boolean
  /** The attributes of the process that sent it. */
  resource: Record<string, unknown>
}

/** An OpenTelemetry collector: it keeps what it receives by OTLP over HTTP, as JSON. */
export interface Collector extends AsyncDisposable {
  readonly receiver: Receiver
  readonly url: string
  /** Everything that it has accepted so far, as text. */
  readonly text: string
  spans(traceId?: string): CollectedSpan[]
}

export async function startCollector(): Promise<Collector> {
  const receiver = await startReceiver()
  const accepted: Received[] = []
  receiver.handle = (received, response) => {
    accepted.push(received)
    response.setHeader('content-type', 'application/json').end('{}')
  }
  return {
    receiver,
    url: receiver.url,
    get text() {
      return accepted.map(({ body }) => body).join('\n')
    },
    spans: (traceId) =>
      accepted
        .flatMap(({ body }) => readSpans(JSON.parse(body) as Exported))
        .filter((span) => traceId === undefined || span.traceId === traceId),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

type Pairs = { key: string; value: Record<string, unknown> }[]

/** The part of OTLP's JSON that the tests read. */
interface Exported {
  resourceSpans: {
    resource: { attributes: Pairs }
    scopeSpans: {
      spans: {
        name: string
        traceId: string
        spanId: string
        parentSpanId?: string
        attributes?: Pairs
        events?: { name: string }[]
        status?: { code?: number }
      }[]
    }[]
  }[]
}

function readSpans({ resourceSpans }: Exported): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', attributes = [], events = [], status = {} }) => ({
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: readPairs(attributes),
        events: events.map((event) => event.name),
        isError: status.code === 2,
        resource: readPairs(resource.attributes),
      })),
    ),
  )
}

/** Each value is an object with one field, which names its type. Whole numbers are text, as JSON has no 64 bits. */
function readPairs(pairs: Pairs): Record<string, unknown> {
  const read = ({ intValue, ...other }: Pairs[number]['value']) =>
    intValue === undefined ? Object.values(other)[0] : Number(intValue)
  return Object.fromEntries(pairs.map(({ key, value }) => [key, read(value)]))
}
