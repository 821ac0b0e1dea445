import { collect } from './collect.ts'
import { discard } from './discard.ts'
import { expire } from './expire.ts'
import { fetch } from './fetch.ts'
import { poll } from './poll.ts'
import { rehome } from './rehome.ts'
import { submit } from './submit.ts'
import type { Worker } from './worker.ts'

/** One worker for each state; `discard` is for deleted tasks, and `rehome` for tasks of a process that is gone. */
export const workers: readonly Worker[] = [fetch, submit, poll, collect, expire]
export { discard, rehome }
