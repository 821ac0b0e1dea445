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

/** No longer than this in one answer: a proxy may take a silent connection for dead. */
const longestWaitMs = 30_000

/**
 * Asks for a task until it is finished, as often as the server likes; else each second, then ever less often. A server
 * that can wait does so in our place: then it tells of the end when it comes.
 */
export async function follow(client: Client, id: string, watch: Watch): Promise<Task> {
  const { terminal, signal, onTask } = watch
  let waitMs = 1_000
  let waitSeconds = 0
  let status: string | undefined
  for (;;) {
    const asked = terminal.now()
    const { task, pollAfterMs, waits } = await patiently(() => client.retrieve(id, signal, waitSeconds), watch)
    onTask(task)
    if (task.status === 'completed' || task.status === 'failed') return task
    const pauseMs = pollAfterMs === null ? waitMs : Math.min(60_000, Math.max(100, pollAfterMs))
    // An answer that came early without any news would come early again.
    const isEarly = terminal.now() - asked < waitSeconds * 500
    const isIdle = !waits || (isEarly && task.status === status)
    if (isIdle) await terminal.sleep(pauseMs, signal)
    signal.throwIfAborted()
    waitSeconds = waits && !isIdle ? Math.ceil(Math.min(longestWaitMs, pauseMs) / 1_000) : 0
    status = task.status
    waitMs = Math.min(5_000, waitMs * 1.25)
  }
}
