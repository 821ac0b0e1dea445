import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type ReadableSpan,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { Clock } from '../core/clock.ts'
import { openOutage } from '../core/outage.ts'
import type { EndedSpan, TraceSettings } from '../core/trace.ts'
import type { Log } from './log.ts'

/*
 * Spans to a collector, by the exporter of OpenTelemetry (OTLP over HTTP, as JSON). This file alone loads these libraries.
 * They are used without a global provider and without instrumentation: spans come from `core/trace.ts`.
 */

interface ExporterOptions {
  log: Log
  clock: Pick<Clock, 'now'>
  /** Identifies this process among others of the service. */
  instance: string
}

interface Exporter {
  /** Adds a span to the queue. If the queue is full, the span is dropped. */
  send(span: EndedSpan): void
  samples(traceId: string): boolean
  /** Sends what is in the queue. */
  close(): Promise<void>
}

export function openExporter(settings: TraceSettings, { log, clock, instance }: ExporterOptions): Exporter {
  const { url, headers, sampler, ratio } = settings
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers } })
  const processor = new BatchSpanProcessor(reportOutages(exporter, { log, clock }))
  const resource = resourceFromAttributes({ 'service.instance.id': instance, ...settings.resource })
  const byRatio = new TraceIdRatioBasedSampler(ratio)
  return {
    send: (span) => processor.onEnd(toReadable(span, resource)),
    samples: (traceId) =>
      sampler === 'traceidratio'
        ? byRatio.shouldSample(undefined, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
        : sampler === 'always_on',
    // A collector that is down has been reported.
    close: () => processor.shutdown().catch(() => {}),
  }
}

/** A collector that is down does not log a line for each batch. */
function reportOutages(exporter: SpanExporter, { log, clock }: Pick<ExporterOptions, 'log' | 'clock'>): SpanExporter {
  const outage = openOutage({ log, clock, down: "traces can't be sent to the collector", up: 'traces are sent again' })
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        // The code of a success. Its name is in a package that would be needed only for this.
        if (result.code === 0) outage.worked()
        else outage.failed({ error: result.error, spans: spans.length })
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT }
const scope = { name: 'filmgate' }

function toReadable(span: EndedSpan, resource: ReadableSpan['resource']): ReadableSpan {
  const { name, kind, context, parentId, startedAt, endedAt, attributes, error, events = [] } = span
  const { traceId, spanId } = context
  const spanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
  return {
    name,
    kind: kinds[kind],
    spanContext: () => spanContext,
    ...(parentId !== null && { parentSpanContext: { ...spanContext, spanId: parentId } }),
    startTime: toHrTime(startedAt),
    endTime: toHrTime(endedAt),
    duration: toHrTime(endedAt - startedAt),
    status: { code: error === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: { ...attributes, ...(error !== null && { 'error.type': error }) },
    links: [],
    events: events.map((event) => ({ name: event.name, time: toHrTime(event.at) })),
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): [number, number] {
  return [Math.trunc(ms / 1000), Math.round((ms % 1000) * 1_000_000)]
}
