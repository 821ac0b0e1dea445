import { hash } from 'node:crypto'
import type { Attempt } from './attempt.ts'
import type { LedgerEntry } from './ledger.ts'
import type { Task, TaskEvent } from './task.ts'

/*
 * Traces, as parts of the service see them. A span is one piece of work; its context names the trace that it belongs to.
 * Spans have explicit parents: the context of a task is stored with the task, so every process continues the same trace.
 */

export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  /** Whether the spans of this trace are sent to the collector. */
  readonly isSampled: boolean
}

/** The span of a task, as it is stored with the task. */
export interface TaskTrace extends TraceContext {
  /** The span before it: the request that created the task. */
  readonly parentId: string | null
}

const header = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined if it is missing or malformed: then a new trace begins, as W3C's Trace Context says. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = header.exec(text ?? '') ?? []
  // A later version may have more fields; version 00 may not.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function toTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** A `traceparent`, and the span before it after a space. */
export function toTaskTrace(trace: TaskTrace): string {
  return trace.parentId === null ? toTraceparent(trace) : `${toTraceparent(trace)} ${trace.parentId}`
}

/** Undefined if the task has no trace. */
export function readTaskTrace(text: string | null | undefined): TaskTrace | undefined {
  if (!text) return undefined
  const [traceparent, parentId = null] = text.split(' ')
  const context = readTraceparent(traceparent)
  return context && { ...context, parentId }
}

/** Derived from the id of the attempt: every process that works on the attempt names the same span. */
export function attemptContext({ traceId, isSampled }: TraceContext, attempt: string): TraceContext {
  return { traceId, isSampled, spanId: hash('sha256', attempt, 'hex').slice(0, 16) }
}

/** The task and its trace, for a line of the log. */
export function taskFields({ id, trace }: { id: string; trace: string | null }): { task: string; trace_id?: string } {
  const traceId = readTaskTrace(trace)?.traceId
  return { task: id, ...(traceId !== undefined && { trace_id: traceId }) }
}

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** `server`: we serve a request. `client`: we wait for another service. */
export type SpanKind = 'internal' | 'server' | 'client'

/** A span that has ended. Times are milliseconds since the epoch. */
export interface EndedSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly context: TraceContext
  readonly parentId: string | null
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  /** The code of its failure. Messages are left out: they may repeat what a client or a provider wrote. */
  readonly error: string | null
  readonly events?: readonly { readonly at: number; readonly name: string }[]
}

/** A span that has not ended. It is sent when it ends: a span of a process that is killed is lost. */
export interface Span {
  /** Undefined if there is no trace. */
  readonly context: TraceContext | undefined
  set(attributes: Attributes): void
  /** Does a part of the work in a span of its own. */
  within<T>(name: string, work: () => Promise<T>): Promise<T>
  end(parent: TraceContext | undefined, error?: string | null): void
}

/** The rows that are read for the spans of a task. */
interface TaskRecords {
  store: {
    attempts(task: string): Promise<readonly Attempt[]>
    events(task: string): Promise<readonly TaskEvent[]>
    entries(task: string): Promise<readonly LedgerEntry[]>
  }
  accounts: AccountProviders
}

/** The provider of each account that exists. */
export type AccountProviders = ReadonlyMap<string, { readonly provider: { readonly name: string } }>

export interface TaskEnd {
  task: Task
  at: number
  /** Its owner deleted it before it ended. */
  isDeleted?: boolean
}

/** Where spans go. Nothing that it does delays or fails the caller. */
export interface Traces {
  readonly isOn: boolean
  /** The context for the span of a request with this `traceparent` header, and the span before it. */
  receive(traceparent: string | undefined): TaskTrace
  /** The context of another span of the same trace. */
  another(trace: TraceContext): TraceContext
  /** Without a trace this is `noSpan`. */
  start(trace: TraceContext | undefined, name: string, kind?: SpanKind): Span
  record(span: EndedSpan): void
  /** Sends the spans of a task that has ended. */
  recordTask(records: TaskRecords, end: TaskEnd): Promise<void>
  /** For spans that need a read first. Failures are ignored. The end of the service waits for it. */
  later(work: () => Promise<void>): void
}

export const noSpan: Span = {
  context: undefined,
  set() {},
  within: (_name, work) => work(),
  end() {},
}

const noContext: TaskTrace = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), isSampled: false, parentId: null }

/** Tracing is off. */
export const noTraces: Traces = {
  isOn: false,
  receive: () => noContext,
  another: (trace) => trace,
  start: () => noSpan,
  record() {},
  async recordTask() {},
  later() {},
}

export const traceSamplers = ['always_on', 'always_off', 'traceidratio'] as const

/** Where traces are sent, and which. */
export interface TraceSettings {
  readonly url: string
  /** Their values are secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** What describes this service, such as `service.name`. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: (typeof traceSamplers)[number]
  /** The share of traces that `traceidratio` samples. */
  readonly ratio: number
  /** A trace that a client began is sampled if the client samples it. */
  readonly isParentBased: boolean
  readonly showsPrompts: boolean
  /** How long spans wait for others before they are sent. */
  readonly delayMs: number
  /** How many spans wait at most: more are dropped. */
  readonly mostWaiting: number
}
