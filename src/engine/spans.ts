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
      return traces.isOn && !isFinished(task) ? traces.start(readTaskTrace(task.trace), worker.name) : noSpan
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
    /** Before the rows of a deleted task are removed. */
    async taskRemoved(task: Task): Promise<void> {
      if (isFinished(task)) return
      await traces.recordTask(records, { task, at: clock.now(), isDeleted: true }).catch(() => {})
    },
  }
}

/** The attempt that the task is in, or the task itself. */
function parentOf({ trace: text, state, attempt }: Task): TraceContext | undefined {
  const trace = readTaskTrace(text)
  const isWaiting = state === 'queued' || state === 'fetching'
  return trace && attempt !== null && !isWaiting ? attemptContext(trace, attempt) : trace
}

function errorOf(decision: Decision): string | null {
  return 'change' in decision ? (decision.change.error?.code ?? null) : null
}
