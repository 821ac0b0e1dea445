import type { State, Task, TaskView } from '../core/task.ts'
import type { Token } from '../core/token.ts'

/**
 * Where rows live. A promise of a write resolves after the durable commit, never before. A write that the database
 * can't take now (disk full, gone) throws `storage_unavailable`, and then nothing of it happened.
 */
export interface Store extends AsyncDisposable {
  insert(task: Task): Promise<void>
  /** The task if it is this owner's; another's, or a deleted one, is as absent as one that never was. */
  read(owner: string, id: string): TaskView | undefined | Promise<TaskView | undefined>
  /** This owner's tasks by id, which is by age. `after` need not be a task: it is only a place in that order. */
  list(owner: string, page: Page): Promise<TaskView[]>
  /** The whole task, whoever owns it, deleted or not: not for clients. */
  find(id: string): Promise<Task | undefined>
  /** Hides the task from its owner and makes it due. False if there is none to hide. */
  delete(owner: string, id: string, now: number): Promise<boolean>

  /** Takes up to `limit` due tasks under a lease: their `fence` grows, and nobody else gets them until it ends. */
  claim(wanted: Claim): Promise<Task[]>
  /** Extends leases. Returns those that were lost, whose holders can write nothing any more. */
  renew(leases: readonly Lease[], leaseUntil: number): Promise<Lease[]>
  /** Writes a decision and gives the lease back. False, and nothing written, if the lease was lost meanwhile. */
  record(task: Task): Promise<boolean>
  /** Deletes the row, under the same condition. */
  remove(lease: Lease): Promise<boolean>

  /**
   * Makes unfinished tasks due that nobody holds and that are due later than any delay of ours: the clock was set back.
   */
  recover(now: number): Promise<void>
  /** When the next task of this state (and provider) is due, if any is. Leased ones count when their lease ends. */
  nextDue(lane: Lane): Promise<number | undefined>
  /** Calls back, soon and not too often, when a task may have become due. Returns how to stop that. */
  onDue(listener: () => void): () => void

  tokens(): Promise<Token[]>
  insertToken(token: Token, createdAt: number): Promise<void>
  /** What is not there is no error. */
  deleteToken(name: string): Promise<void>
}

export interface Page {
  after?: string
  limit: number
  order: 'asc' | 'desc'
}

/** A task under lease is known by its id and the fence of that lease. */
export type Lease = Pick<Task, 'id' | 'fence'>

export interface Lane {
  state: State
  provider?: string
}

export interface Claim extends Lane {
  limit: number
  /** With a provider: claim no more than leaves this many of its tasks running at most. */
  cap?: number
  now: number
  leaseUntil: number
}
