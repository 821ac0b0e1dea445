import { isFinished, type Task } from '../core/task.ts'
import { attemptContext, noSpan, noTraces, readTaskTrace, type Span, type TraceContext } from '../core/trace.ts'
import type { Decision, Worker } from '../workers/worker.ts'
import type { EngineOptions } from './options.ts'

/** The spans of tasks that this process works on: one for each run of a worker, and those of a whole task at its end. */
export function openTaskSpans({ store, clock, tools, traces = noTraces }: EngineOptions) {
  const records = { store, accounts: tools.accounts }
  return {
    /** A task that has ended is only tidied up: its trace is complete. */
    start(task: Task, worker: Pick<Worker, 'name'>): Span {
      return traces.isOn && !isFinished(task) ? traces.start(readTaskTrace(task.trace), nameOf(task, worker)) : noSpan
    },
    /** `task` is as the run left it: a submit has opened its attempt by then. */
    end(span: Span, task: Task, result: { decision: Decision } | { error: string }): void {
      if (span === noSpan) return
      span.set({
        'filmgate.task.id': task.id,
        ...(task.account !== null && { 'filmgate.account': task.account }),
        ...(task.attempt !== null && { 'filmgate.attempt.id': task.attempt }),
      })
      span.end(parentOf(task), 'error' in result ? result.error : errorOf(result.decision))
    },
    taskEnded(task: Task): void {
      const at = task.completedAt ?? clock.now()
      traces.later(() => traces.recordTask(records, { task, at }))
    },
    /**
     * Before the rows of a deleted task are removed. The result is called afterwards: what the task cost is written with the
     * removal.
     */
    async removing(task: Task): Promise<() => void> {
      if (!traces.isOn || isFinished(task)) return () => {}
      const read = Promise.all([store.attempts(task.id), store.events(task.id)])
      const [attempts, events] = await read.catch(() => [[], []])
      const rows = { attempts: async () => attempts, events: async () => events, entries: store.entries.bind(store) }
      const end = { task, at: clock.now(), isDeleted: true }
      return () => traces.later(() => traces.recordTask({ ...records, store: rows }, end))
    },
  }
}

/** The attempt that the task is in, or the task itself. */
function parentOf({ trace: text, state, attempt }: Task): TraceContext | undefined {
  const trace = readTaskTrace(text)
  const isWaiting = state === 'queued' || state === 'fetching'
  return trace && attempt !== null && !isWaiting ? attemptContext(trace, attempt) : trace
}

/** A held task is not sent again: its attempt is looked for. */
function nameOf({ state }: Task, { name }: Pick<Worker, 'name'>): string {
  return state === 'held' ? 'recover' : name
}

function errorOf(decision: Decision): string | null {
  if (!('change' in decision)) return null
  return decision.change.error?.code ?? decision.met?.problem.code ?? null
}
