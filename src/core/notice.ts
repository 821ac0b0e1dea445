import { type Status, type Task, type TaskEvent, wireStatus } from './task.ts'

/** What a client is told of a task: that it has another status, or that it is gone. */
export type NoticeKind = Exclude<Status, 'queued'> | 'deleted'

/** By its number a client says what it has seen. Numbers grow, but one may become visible after a greater one. */
export interface Notice {
  number: number
  owner: string
  task: string
  at: number
  kind: NoticeKind
}

/** The store numbers it. */
export type NewNotice = Omit<Notice, 'number'>

/** When a decision was made: what it writes into the timeline says so. */
export function decidedAt({ events, task }: { events?: readonly TaskEvent[]; task: Task }): number {
  return events?.at(-1)?.at ?? task.completedAt ?? task.startedAt ?? task.createdAt
}

/** What is told where a decision changes a task from one to the other; of a task that its owner deleted, nothing. */
export function noticeOf(
  before: Pick<Task, 'state' | 'startedAt' | 'deletedAt'>,
  after: Pick<Task, 'state' | 'startedAt'>,
): NoticeKind | null {
  const status = wireStatus(after)
  return before.deletedAt !== null || status === 'queued' || status === wireStatus(before) ? null : status
}

/** Whether a decision may be one: what changes the state of a task stands in its timeline, too. */
export function isNews({ events = [] }: { events?: readonly TaskEvent[] }): boolean {
  return events.length > 0
}
