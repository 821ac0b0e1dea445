import { collect } from './collect.ts'
import { discard } from './discard.ts'
import { expire } from './expire.ts'
import { fetch } from './fetch.ts'
import { poll } from './poll.ts'
import { submit } from './submit.ts'
import type { Worker } from './worker.ts'

/** Who moves a task on, each for its states; and who takes it, whatever its state, once it is deleted. */
export const workers: readonly Worker[] = [fetch, submit, poll, collect, expire]
export { discard }
