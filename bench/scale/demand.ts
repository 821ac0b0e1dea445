import { nextPoll } from '../../src/core/timing.ts'
import type { Costs } from '../costs.ts'

/** What nobody can measure here: what the tasks are like, and what machines there are. Change them to your own. */
export interface Assumptions {
  /** The busiest hour, against the mean of the day. */
  peak: number
  /** Of a film of 1280x720. */
  filmSeconds: number
  filmBytes: number
  /** How long a provider makes a film, how long it takes to answer, and how often it wants to be asked at most. */
  jobMs: number
  answerMs: number
  cadenceMs: number
  /** How often a client asks for its task. */
  clientPollMs: number
  /** Of providers: each has lanes of its own in every worker. */
  accounts: number
  /** Of (model, token) pairs that have something queued when there is a queue at all. */
  queues: number
  /** No resource should be used more than this. */
  target: number
  /** The largest database machine: its cores, and what its disk takes of the log. */
  databaseCores: number
  walBytesPerSecond: number
  /** What PostgreSQL serves well by itself, and what a pooler before it does. */
  connections: { direct: number; pooled: number }
  /** There and back between a process and the database: in the bench both are on one machine. */
  tripMs: number
  /** How long a busy process lets an answer wait: so much, times its use over what is left of it, as in any queue. */
  turnMs: number
  /** What a worker does between two claims: two questions, and the claims of its other lanes. */
  thinkMs: number
  /** From the claim of a task until its attempt is committed. */
  openMs: number
  /** A worker polls nobody while it waits for the claim; so long is as late as its own timer is anyway. */
  longestWaitMs: number
}

export const assumptions: Assumptions = {
  peak: 3, filmSeconds: 5, filmBytes: 5e6, jobMs: 60_000, answerMs: 300, cadenceMs: 5_000, clientPollMs: 5_000,
  accounts: 4, queues: 150, target: 0.7, databaseCores: 64, walBytesPerSecond: 400e6,
  connections: { direct: 500, pooled: 10_000 },
    tripMs: 0.3,
    turnMs: 2,
    thinkMs: 5,
    openMs: 10,
    longestWaitMs: 1_000,
}

/** What one task needs in its life: CPU in seconds, bytes, and how often somebody does something. */
export interface Demand {
  polls: number
  clientPolls: number
  api: number
  worker: number
  decoder: number
  database: number
  walBytes: number
  rowBytes: number
  /** Runs of a worker: each wakes it when it ends. */
  runs: number
}

export function demandOf({ api, workers, verify }: Costs, given: Assumptions): Demand {
  const { task, poll, bytes } = workers
  const polls = countPolls(given)
  const more = Math.max(0, polls - task.polls)
  const clientPolls = Math.ceil(given.jobMs / given.clientPollMs) + 1
  return {
    polls, clientPolls, rowBytes: bytes, runs: polls + 2,
    api: api.submit.api + clientPolls * api.poll.api,
    worker: task.worker + more * poll.worker,
    decoder: verify * given.filmSeconds,
    database: api.submit.database + clientPolls * api.poll.database + task.database + more * poll.database,
    walBytes: task.walBytes + more * poll.walBytes,
  }
}

/** By the code that decides it, with the mean of its chance. */
function countPolls({ cadenceMs, jobMs }: Assumptions): number {
  let polls = 1
  for (let age = nextPoll(cadenceMs, 0, 0.5); age < jobMs; age += nextPoll(cadenceMs, age, 0.5)) polls += 1
  return polls
}
