import type { Status } from './task.ts'

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
