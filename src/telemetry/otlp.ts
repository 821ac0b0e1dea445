import { type Clock, waitAtMost } from '../core/clock.ts'
import { openOutage } from '../core/outage.ts'
import { parseRetryAfter } from '../core/retry-after.ts'
import type { Attributes, EndedSpan, TraceSettings } from '../core/trace.ts'
import type { Outbound } from '../outbound.ts'
import type { Log } from './log.ts'

/*
 * Spans to a collector: OpenTelemetry's protocol (OTLP) over HTTP, as JSON. A span becomes text as soon as it ends: that is
 * the smallest form in which it can wait.
 */

interface ExporterOptions {
  log: Log
  clock: Clock
  outbound: Pick<Outbound, 'postTrusted'>
  /** Identifies this process among others of the service. */
  instance: string
}

interface Exporter extends AsyncDisposable {
  /** Adds a span to the queue. If the queue is full, the span is dropped. */
  send(span: EndedSpan): void
  samples(traceId: string): boolean
}

/** The most spans in one request. So many are sent without waiting for more. */
const batchSpans = 512
/** About the largest request, in characters: collectors refuse large ones. */
const batchLength = 4 * 2 ** 20
/** How long to wait after a failure: at least, and at most if the collector asks for longer. */
const [leastPauseMs, mostPauseMs] = [1_000, 60_000]
/** How long disposing waits for the collector. */
const flushMs = 5_000

/** Disposing sends what is in the queue. */
export function openExporter(settings: TraceSettings, { log, clock, outbound, instance }: ExporterOptions): Exporter {
  const { url, sampler, ratio, delayMs, mostWaiting } = settings
  const headers = { ...settings.headers, 'content-type': 'application/json' }
  const bodyStart = bodyStartOf({ 'service.instance.id': instance, ...settings.resource })
  const outage = openOutage({ log, clock, down: "traces can't be sent to the collector", up: 'traces are sent again' })
  const waiting: string[] = []
  const giveUp = new AbortController()
  /** Ends the wait for more spans. */
  let wake = new AbortController()
  /** How long to wait before the next request, if the last one is to be repeated; otherwise 0. */
  let pauseMs = 0
  let isClosing = false

  const isFull = () => waiting.length >= Math.min(batchSpans, mostWaiting)

  async function sendBatch(): Promise<void> {
    const spans = batchOf(waiting)
    const body = `${bodyStart}${waiting.slice(0, spans).join(',')}${bodyEnd}`
    const posted = await outbound.postTrusted(url, { headers, body }, giveUp.signal)
    const isAccepted = 'status' in posted && posted.status >= 200 && posted.status < 300
    if (isAccepted) outage.worked()
    else outage.failed({ ...posted, spans }, 'error' in posted ? posted.error : String(posted.status))
    const isRepeated = 'error' in posted || [429, 502, 503, 504].includes(posted.status)
    const retryAfterMs = 'error' in posted ? undefined : parseRetryAfter(posted.retryAfter, clock.now())
    pauseMs = isRepeated ? Math.max(delayMs, leastPauseMs, Math.min(retryAfterMs ?? 0, mostPauseMs)) : 0
    // A batch that always fails must not block the later ones.
    if (!isRepeated || waiting.length >= mostWaiting) waiting.splice(0, spans)
  }

  async function run(): Promise<void> {
    while (!isClosing) {
      wake = new AbortController()
      if (pauseMs > 0 || !isFull()) await clock.sleep(pauseMs || delayMs, wake.signal)
      if (waiting.length > 0) await sendBatch()
    }
    while (waiting.length > 0 && pauseMs === 0) await sendBatch()
  }

  const running = run().catch((error) => {
    if (!giveUp.signal.aborted) log.error('traces are no longer sent', { error })
  })
  return {
    send(span) {
      if (waiting.length >= mostWaiting) return
      waiting.push(toText(span))
      if (isFull() && pauseMs === 0) wake.abort()
    },
    samples: (traceId) => sampler === 'always_on' || (sampler === 'traceidratio' && isInShare(traceId, ratio)),
    async [Symbol.asyncDispose]() {
      isClosing = true
      wake.abort()
      await waitAtMost(flushMs, running, clock)
      giveUp.abort()
    },
  }
}

/** How many spans the next request has. */
function batchOf(waiting: readonly string[]): number {
  let length = 0
  const end = waiting.findIndex((text, at) => {
    length += text.length
    return at === batchSpans || (at > 0 && length > batchLength)
  })
  return end === -1 ? waiting.length : end
}

/**
 * By the last 14 digits of the id, which are random: every service that follows OpenTelemetry's probability sampling keeps
 * the same traces. The very last digit is left out, because a number is not exact enough.
 */
function isInShare(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-14, -1), 16) >= (1 - ratio) * 16 ** 13
}

function bodyStartOf(resource: Attributes): string {
  const described = JSON.stringify({ attributes: pairsOf(resource) })
  return `{"resourceSpans":[{"resource":${described},"scopeSpans":[{"scope":{"name":"filmgate"},"spans":[`
}

const bodyEnd = ']}]}]}'

/** The numbers of the protocol. */
const kinds = { internal: 1, server: 2, client: 3 }
const errorStatus = { code: 2 }
const sampledFlag = 1

function toText({ name, kind, context, parentId, startedAt, endedAt, attributes, error, events }: EndedSpan): string {
  return JSON.stringify({
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId !== null && { parentSpanId: parentId }),
    flags: sampledFlag,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanosecondsOf(startedAt),
    endTimeUnixNano: nanosecondsOf(endedAt),
    attributes: pairsOf(error === null ? attributes : { ...attributes, 'error.type': error }),
    ...(events && { events: events.map((event) => ({ name: event.name, timeUnixNano: nanosecondsOf(event.at) })) }),
    ...(error !== null && { status: errorStatus }),
  })
}

/** As text: a number of JavaScript is not exact enough. */
function nanosecondsOf(ms: number): string {
  return `${Math.round(ms)}000000`
}

function pairsOf(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }))
}

function toValue(value: Attributes[string]) {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
