import type { Access } from '../access.ts'
import type { Healths, Presence } from '../core/account.ts'
import type { Spacing } from '../core/bell.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { Traces } from '../core/trace.ts'
import type { AttemptStore, LeaseStore, TaskStore } from '../stores/store.ts'
import type { Telemetry } from '../telemetry/log.ts'
import type { TaskMeter } from '../telemetry/tasks.ts'
import type { Tools, Worker } from '../workers/worker.ts'
import type { Spill } from './spill.ts'
import type { UnsentNotes } from './unsent.ts'

export interface EngineOptions extends Telemetry {
  store: TaskStore & LeaseStore & AttemptStore
  workers: readonly Worker[]
  /** Runs for every task that its owner deleted, in any state. */
  discard: Pick<Worker, 'name' | 'run'>
  /** Runs for tasks that another process was generating itself, once that process is gone. */
  rehome: Worker
  tools: Tools
  access: Pick<Access, 'ownerCaps'>
  /** Off if it is left out. */
  traces?: Traces
  clock: Clock
  random: Random
  healths: Healths & Presence
  /** Whether this process can open connections, files and child processes. If not, it claims nothing. */
  hasFiles: () => boolean
  /**
   * The time from one round of claims to the next. On a database that processes share each round takes several statements,
   * and every end of a task anywhere would cause one in each process. None if it is left out.
   */
  spacing?: Spacing
  /** Keeps responses that the store can't accept now. */
  spill: Spill
  /** Counts what happens to tasks, if there are metrics. */
  meter?: TaskMeter
  /** Attempts that are committed and not sent: first those of an earlier process on this data folder, then our own. */
  unsent: UnsentNotes
}

/** How long an idle or blocked engine waits before it looks again, if nothing wakes it earlier. */
export const idleMs = 1_000
