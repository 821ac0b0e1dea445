import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import type { Change } from '../core/states.ts'
import type { State, Task } from '../core/task.ts'
import type { Media } from '../media/media.ts'
import type { Outbound } from '../outbound.ts'
import type { ProviderAccount } from '../providers/provider.ts'

/**
 * Who moves a task on. A worker takes a leased task of its states, acts, and says what should become of it; the engine
 * records that if the lease still holds. It throws a Problem where it can't say: the engine decides on another try.
 */
export interface Worker {
  readonly name: string
  readonly states: readonly State[]
  /** How many of its tasks this process moves at once. */
  readonly limit: number
  run(task: Task, tools: Tools, signal: AbortSignal): Promise<Decision>
}

export type Decision =
  | {
      change: Change
      /** Done after the change is recorded, at most once; its failure changes nothing. */
      afterwards?: () => Promise<void>
    }
  | { remove: true }

export interface Tools {
  clock: Clock
  bucket: Bucket
  media: Media
  outbound: Outbound
  providers: ReadonlyMap<string, ProviderAccount>
  /** A folder for files that need not survive the process. */
  scratch: string
  retentionMs: number
}
