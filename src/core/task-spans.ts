import type { Attempt } from './attempt.ts'
import type { LedgerEntry } from './ledger.ts'
import { fromMicros } from './money.ts'
import type { TaskEvent } from './task.ts'
import {
  type AccountProviders,
  type Attributes,
  attemptContext,
  type EndedSpan,
  type TaskEnd,
  type TaskTrace,
  type TraceContext,
} from './trace.ts'

/*
 * The spans of a whole task are made of its rows when it ends: its own, the wait in the queue, and one for each attempt.
 * No process has to live as long as they do. Their ids are stored or derived, so the spans of each step name them before
 * they are sent.
 */

/** The rows of a task. */
interface TaskRows {
  attempts: readonly Attempt[]
  events: readonly TaskEvent[]
  entries: readonly LedgerEntry[]
}

interface SpanOptions {
  trace: TaskTrace
  /** The context of the span of its wait. */
  queued: TraceContext
  showsPrompts: boolean
  accounts: AccountProviders
}

/** The spans of a task that has ended. */
export function taskSpans({ attempts, events, entries }: TaskRows, end: TaskEnd, options: SpanOptions): EndedSpan[] {
  const { trace, queued, showsPrompts, accounts } = options
  const sent = [...attempts].sort((one, other) => one.number - other.number)
  return [
    taskSpan(trace, end, { events, entries, prompt: showsPrompts ? end.task.prompt : null }),
    {
      name: 'queue',
      kind: 'internal',
      context: queued,
      parentId: trace.spanId,
      startedAt: end.task.createdAt,
      endedAt: Math.max(end.task.createdAt, sent[0]?.openedAt ?? end.at),
      attributes: { 'filmgate.task.id': end.task.id },
      error: null,
    },
    ...sent.map((attempt) => {
      const provider = accounts.get(attempt.account)?.provider.name
      // Two attempts with one number are two operations of one submit.
      const next = sent.find(({ number }) => number > attempt.number)
      const endedAt = attempt.state === 'refused' ? attempt.settledAt : next?.openedAt
      return attemptSpan(trace, attempt, { end, provider, entries, endedAt: endedAt ?? end.at })
    }),
  ]
}

/** OpenTelemetry's conventions for generative AI have no operation for videos alone. */
const operation = 'generate_content'

interface TaskStory {
  events: readonly TaskEvent[]
  entries: readonly LedgerEntry[]
  /** Null if it is not shown. */
  prompt: string | null
}

function taskSpan(
  trace: TaskTrace,
  { task, at, isDeleted = false }: TaskEnd,
  { events, entries, prompt }: TaskStory,
): EndedSpan {
  return {
    name: `video ${task.card}`,
    kind: 'internal',
    context: trace,
    parentId: trace.parentId,
    startedAt: task.createdAt,
    endedAt: Math.max(task.createdAt, at),
    error: task.error?.code ?? null,
    attributes: {
      'filmgate.task.id': task.id,
      'filmgate.outcome': isDeleted ? 'cancelled' : task.state,
      'filmgate.project': task.owner,
      'filmgate.attempts': task.attempts,
      'filmgate.seconds': task.seconds,
      'filmgate.size': `${task.size.width}x${task.size.height}`,
      'gen_ai.operation.name': operation,
      'gen_ai.output.type': 'video',
      'gen_ai.request.model': task.model,
      'gen_ai.response.model': task.card,
      ...amount('filmgate.charge', entries, ({ account }) => account.startsWith('revenue ')),
      ...amount('filmgate.cost', entries, ({ account }) => account.startsWith('cost ')),
      ...(prompt !== null && { 'gen_ai.input.messages': messageOf(prompt) }),
    },
    // Without their details, which may quote a provider.
    events: events.map((event) => ({ at: event.at, name: event.name })),
  }
}

interface AttemptEnd {
  end: TaskEnd
  provider: string | undefined
  entries: readonly LedgerEntry[]
  endedAt: number
}

function attemptSpan(trace: TaskTrace, attempt: Attempt, { end, provider, entries, endedAt }: AttemptEnd): EndedSpan {
  const isLast = attempt.id === end.task.attempt
  const tokens = isLast ? end.task.usage?.outputTokens : undefined
  return {
    name: `${operation} ${attempt.upstreamModel}`,
    kind: 'client',
    context: attemptContext(trace, attempt.id),
    parentId: trace.spanId,
    startedAt: attempt.openedAt,
    // The clock may have been set back.
    endedAt: Math.max(attempt.openedAt, endedAt),
    error: attempt.problem?.code ?? (isLast ? (end.task.error?.code ?? null) : null),
    attributes: {
      'filmgate.task.id': end.task.id,
      'filmgate.attempt.id': attempt.id,
      'filmgate.attempt.number': attempt.number,
      'filmgate.attempt.state': attempt.state,
      'filmgate.account': attempt.account,
      'gen_ai.operation.name': operation,
      'gen_ai.output.type': 'video',
      'gen_ai.request.model': attempt.upstreamModel,
      ...(provider !== undefined && { 'gen_ai.provider.name': providerNames[provider] ?? provider }),
      ...(tokens !== undefined && { 'gen_ai.usage.output_tokens': tokens }),
      ...amount(
        'filmgate.cost',
        entries,
        ({ step, account }) => step === `cost ${attempt.id}` && account.startsWith('cost '),
      ),
    },
  }
}

/** Providers that the conventions have another name for. */
const providerNames: Readonly<Record<string, string>> = { google: 'gcp.gemini', vertex: 'gcp.vertex_ai' }

/** The sum of some entries, in units of their currency. */
function amount(name: string, entries: readonly LedgerEntry[], isWanted: (entry: LedgerEntry) => boolean): Attributes {
  const wanted = entries.filter(isWanted)
  const [first] = wanted
  if (!first) return {}
  const micros = wanted.reduce((sum, entry) => sum + entry.amount, 0)
  return { [name]: fromMicros(micros), 'filmgate.currency': first.currency }
}

function messageOf(prompt: string): string {
  return JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: prompt }] }])
}
