import type { Clock, Random } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { taskSpans } from '../core/task-spans.ts'
import {
  type Attributes,
  type EndedSpan,
  noSpan,
  noTraces,
  readTaskTrace,
  readTraceparent,
  type Span,
  type SpanKind,
  type TraceContext,
  type TraceSettings,
  type Traces,
} from '../core/trace.ts'
import type { Outbound } from '../outbound.ts'
import type { Log } from './log.ts'
import { openExporter } from './otlp.ts'

interface TraceOptions {
  settings: TraceSettings | null
  clock: Clock
  random: Random
  log: Log
  outbound: Pick<Outbound, 'postTrusted'>
}

/** Sends spans to the collector of the operator. Disposing sends what is left. */
export function openTraces(options: TraceOptions): { traces: Traces } & AsyncDisposable {
  const { settings, clock, random } = options
  if (settings === null) return { traces: noTraces, async [Symbol.asyncDispose]() {} }
  const exporter = openExporter(settings, { ...options, instance: hexOf(random, 8) })
  const pending = new Set<Promise<void>>()

  const record = (span: EndedSpan): void => {
    if (span.context.isSampled) exporter.send(span)
  }
  const another = ({ traceId, isSampled }: TraceContext): TraceContext => ({
    traceId,
    isSampled,
    spanId: hexOf(random, 8),
  })
  const start = (trace: TraceContext | undefined, name: string, kind: SpanKind = 'internal'): Span =>
    trace ? startSpan({ name, kind, context: another(trace) }, { now: () => clock.now(), record, start }) : noSpan

  return {
    traces: {
      isOn: true,
      receive(traceparent) {
        const parent = readTraceparent(traceparent)
        const traceId = parent?.traceId ?? hexOf(random, 16)
        const isSampled = parent && settings.isParentBased ? parent.isSampled : exporter.samples(traceId)
        return { traceId, isSampled, spanId: hexOf(random, 8), parentId: parent?.spanId ?? null }
      },
      another,
      start,
      record,
      async recordTask({ store, accounts }, end) {
        const { id, trace: text } = end.task
        const trace = readTaskTrace(text)
        if (!trace?.isSampled) return
        const [attempts, events, entries] = await Promise.all([store.attempts(id), store.events(id), store.entries(id)])
        const options = { trace, queued: another(trace), showsPrompts: settings.showsPrompts, accounts }
        for (const span of taskSpans({ attempts, events, entries }, end, options)) record(span)
      },
      later(work) {
        const done = work()
          .catch(() => {})
          .finally(() => {
            pending.delete(done)
          })
        pending.add(done)
      },
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(pending)
      await exporter[Symbol.asyncDispose]()
    },
  }
}

interface SpanTools {
  now: () => number
  record: Traces['record']
  start: Traces['start']
}

function startSpan(
  { name, kind, context }: Pick<EndedSpan, 'name' | 'kind' | 'context'>,
  { now, record, start }: SpanTools,
): Span {
  const startedAt = now()
  let attributes: Attributes = {}
  return {
    context,
    set(more) {
      attributes = { ...attributes, ...more }
    },
    async within(part, work) {
      const inner = start(context, part)
      try {
        const result = await work()
        inner.end(context)
        return result
      } catch (thrown) {
        inner.end(context, Problem.from(thrown).code)
        throw thrown
      }
    },
    end(parent, error = null) {
      const parentId = parent?.spanId ?? null
      // The clock may have been set back.
      const endedAt = Math.max(startedAt, now())
      record({ name, kind, context, parentId, startedAt, endedAt, attributes, error })
    },
  }
}

function hexOf(random: Random, bytes: number): string {
  return Buffer.from(random(bytes)).toString('hex')
}
