import { collect } from './collect.ts'
import { expire } from './expire.ts'
import { poll } from './poll.ts'
import { submit } from './submit.ts'
import type { Worker } from './worker.ts'

export const workers: readonly Worker[] = [submit, poll, collect, expire]
