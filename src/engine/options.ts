import type { Access } from '../access.ts'
import type { Healths, Presence } from '../core/account.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { AttemptStore, LeaseStore, TaskStore } from '../stores/store.ts'
import type { Telemetry } from '../telemetry/log.ts'
import type { Tools, Worker } from '../workers/worker.ts'
import type { Spill } from './spill.ts'
import type { UnsentNotes } from './unsent.ts'

export interface EngineOptions extends Telemetry {
  store: TaskStore & LeaseStore & AttemptStore
  workers: readonly Worker[]
  /** Takes every task that its owner deleted, whatever its state. */
  discard: Pick<Worker, 'name' | 'run'>
  /** Takes tasks that another process was making itself, once it is gone. */
  rehome: Worker
  tools: Tools
  access: Pick<Access, 'ownerCaps'>
  clock: Clock
  random: Random
  healths: Healths & Presence
  /** Whether this process can open connections, files and children: nothing is claimed where it can't. */
  hasFiles: () => boolean
  /** Where answers are kept that the store can't take. */
  spill: Spill
  /** What an earlier process on this data folder committed and did not send, and then what this one does. */
  unsent: UnsentNotes
}

/** An engine that has nothing to do, or can't do it, looks again after this long even if nothing woke it. */
export const idleMs = 1_000
