import { nextPoll } from '../../src/core/timing.ts'
import type { Costs } from '../costs.ts'

/** What can't be measured here: the kind of tasks, and the machines. Change them to your own. */
export interface Assumptions {
  /** The load of the busiest hour, relative to the mean of the day. */
  peak: number
  /** Of a video of 1280x720. */
  videoSeconds: number
  videoBytes: number
  /** How long a provider generates a video, how soon it responds, and how often it may be polled. */
  jobMs: number
  answerMs: number
  cadenceMs: number
  /** How often a client polls its task. */
  clientPollMs: number
  /** Accounts of providers: each has lanes of its own in every worker. */
  accounts: number
  /** No resource should be used more than this. */
  target: number
  /** The largest database machine: its cores, and how fast its disk writes the log. */
  databaseCores: number
  walBytesPerSecond: number
  /** How many connections PostgreSQL serves well by itself, and behind a pooler. */
  connections: { direct: number; pooled: number }
  /** A round trip between a process and the database. In the bench both are on one machine. */
  tripMs: number
  /** How long a response waits in a busy process: this, times use ÷ (1 − use), as in any queue. */
  turnMs: number
  /** How long a worker needs between two claims: for two queries, and the claims of its other lanes. */
  thinkMs: number
}

export const assumptions: Assumptions = {
  peak: 3,
  videoSeconds: 5,
  videoBytes: 5e6,
  jobMs: 60_000,
  answerMs: 300,
  cadenceMs: 5_000,
  clientPollMs: 5_000,
  accounts: 4,
  target: 0.7,
  databaseCores: 64,
  walBytesPerSecond: 400e6,
  connections: { direct: 500, pooled: 10_000 },
  tripMs: 0.3,
  turnMs: 2,
  thinkMs: 5,
}

/** What one task needs in total: seconds of CPU, bytes, and the number of polls and runs. */
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
  const { task, poll, film, bytes } = workers
  const polls = countPolls(given)
  const extraPolls = Math.max(0, polls - task.polls)
  const clientPolls = Math.ceil(given.jobMs / given.clientPollMs) + 1
  return {
    polls,
    clientPolls,
    rowBytes: bytes,
    runs: polls + 2,
    api: api.submit.api + clientPolls * api.poll.api,
    worker: task.worker + extraPolls * poll.worker + (film.worker - task.worker) * (given.videoBytes / film.bytes),
    decoder: verify * given.videoSeconds,
    database: api.submit.database + clientPolls * api.poll.database + task.database + extraPolls * poll.database,
    walBytes: task.walBytes + extraPolls * poll.walBytes,
  }
}

/** By the code that schedules polls, with the mean of its random part. */
function countPolls({ cadenceMs, jobMs }: Assumptions): number {
  let polls = 1
  for (let age = nextPoll(cadenceMs, 0, 0.5); age < jobMs; age += nextPoll(cadenceMs, age, 0.5)) polls += 1
  return polls
}
