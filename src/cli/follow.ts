import type { Client } from './client.ts'
import { patiently, type Trouble } from './patience.ts'
import type { Terminal } from './terminal.ts'
import type { Task } from './video.ts'

export interface Watch {
  terminal: Terminal
  signal: AbortSignal
  onTask(task: Task): void
  onTrouble(trouble: Trouble | null): void
}

/** The longest wait of one request: a proxy may close a silent connection. */
const longestWaitMs = 30_000

/**
 * Polls a task until it is finished, at the interval that the server asks for; else each second at first, then less
 * often. A server that supports waiting responds as soon as the task changes.
 */
export async function follow(client: Client, id: string, watch: Watch): Promise<Task> {
  const { terminal, signal, onTask } = watch
  let waitMs = 1_000
  let waitSeconds = 0
  let status: string | undefined
  for (;;) {
    const sentAt = terminal.now()
    const { task, pollAfterMs, waits } = await patiently(() => client.retrieve(id, signal, waitSeconds), watch)
    onTask(task)
    if (task.status === 'completed' || task.status === 'failed') return task
    const pauseMs = pollAfterMs === null ? waitMs : Math.min(60_000, Math.max(100, pollAfterMs))
    // An early response without a change would come early again.
    const isEarly = terminal.now() - sentAt < waitSeconds * 500
    const isIdle = !waits || (isEarly && task.status === status)
    if (isIdle) await terminal.sleep(pauseMs, signal)
    signal.throwIfAborted()
    waitSeconds = waits && !isIdle ? Math.ceil(Math.min(longestWaitMs, pauseMs) / 1_000) : 0
    status = task.status
    waitMs = Math.min(5_000, waitMs * 1.25)
  }
}
