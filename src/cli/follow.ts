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

/** Asks for a task until it is finished, as often as the server likes; else each second, then ever less often. */
export async function follow(client: Client, id: string, watch: Watch): Promise<Task> {
  const { terminal, signal, onTask } = watch
  let waitMs = 1_000
  for (;;) {
    const { task, pollAfterMs } = await patiently(() => client.retrieve(id, signal), watch)
    onTask(task)
    if (task.status === 'completed' || task.status === 'failed') return task
    await terminal.sleep(pollAfterMs === null ? waitMs : Math.min(60_000, Math.max(100, pollAfterMs)), signal)
    signal.throwIfAborted()
    waitMs = Math.min(5_000, waitMs * 1.25)
  }
}
