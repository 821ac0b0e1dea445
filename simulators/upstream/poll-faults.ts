import { type Answer, json, type Silence } from './answer.ts'
import type { Fault } from './faults.ts'
import type { Claim, Job, JobView } from './jobs.ts'
import { failing, silences, spoilt } from './spoilt.ts'

export interface PollFault extends Fault {
  answer(poll: Poll): Answer | Silence
}

export interface Poll {
  /** The true state of the job. */
  view: JobView
  /** A fault may change its end. */
  job: Job
  /** Until when the job is unknown, if the fault makes it so. */
  until: number
  /** Words a claim as the wire does. */
  say(claim: Claim): Answer
  unknown(): Answer
}

export interface FindFault extends Fault {
  /** Gets the true answer, and the answer if nothing were found. */
  answer(truth: Answer, nothing: Answer): Answer | Silence
}

type PollShape = [name: string, description: string, answer: PollFault['answer']]

const running = ({ view, say }: Poll, progress: unknown): Answer => say({ id: view.id, status: 'running', progress })

const untrue: PollShape[] = [
  ...['THROTTLED', 'SUCCEED', 'expired', ''].map(
    (status): PollShape => [
      `status-${status.toLowerCase() || 'blank'}`,
      `an undocumented status: ${JSON.stringify(status)}`,
      ({ view: { id, progress }, say }) => say({ id, status, progress }),
    ],
  ),
  ['status-number', 'a status that is a number', ({ view: { id, progress }, say }) => say({ id, status: 3, progress })],
  ['status-missing', 'no status', ({ view: { id, progress }, say }) => say({ id, progress })],
  ['progress-101', 'progress 101', (poll) => running(poll, 101)],
  ['progress-minus-1', 'progress -1', (poll) => running(poll, -1)],
  ['progress-string', 'progress in words', (poll) => running(poll, '50%')],
  ['progress-null', 'progress null', (poll) => running(poll, null)],
  [
    'progress-nan',
    'progress NaN, which is not JSON',
    (poll) => {
      const answer = running(poll, 'NaN')
      return { ...answer, body: String(answer.body).replace('"NaN"', 'NaN') }
    },
  ],
  ['back', 'waiting at 0, however far it was', ({ view: { id }, say }) => say({ id, status: 'waiting', progress: 0 })],
  [
    'done-without-url',
    'done, but without a url',
    ({ view: { id }, say }) => say({ id, status: 'done', progress: 100 }),
  ],
  [
    'done-url-number',
    'done, with a url that is a number',
    ({ view: { id }, say }) => say({ id, status: 'done', url: 7 }),
  ],
]

const fates: PollShape[] = [
  [
    'failed',
    'the job fails for good, whatever it was',
    ({ view: { id, progress }, job, say }) => {
      job.end = 'failed'
      return say({ id, status: 'failed', progress, error: 'simulated failure' })
    },
  ],
  [
    'policy',
    'the job fails for good, for what it shows',
    ({ view: { id, progress }, job, say }) => {
      job.end = 'policy'
      return say({ id, status: 'failed', progress, error: 'policy' })
    },
  ],
  [
    '404-for-a-while',
    'the job is unknown for a while',
    ({ job, until, unknown }) => {
      job.unknownUntil = until
      return unknown()
    },
  ],
]

export const pollFaults: readonly PollFault[] = [
  ...[500, 502, 503, 504, 429, 401, 404, 408].map(
    (status): PollShape => [`${status}`, `answers ${status}, which says nothing about the job`, () => failing(status)],
  ),
  ...silences.map(({ name, description }): PollShape => [name, description, () => name]),
  ...spoilt.map(
    ({ name, description, answer }): PollShape => [
      name,
      description,
      ({ view, say }) => answer(String(say(view).body)),
    ],
  ),
  ...untrue,
  ...fates,
].map(([name, description, answer]) => ({ name: `poll-${name}`, accepted: true, description, answer }))

type FindShape = [name: string, description: string, answer: FindFault['answer']]

export const findFaults: readonly FindFault[] = [
  ...[500, 502, 429, 404].map((status): FindShape => [`${status}`, `answers ${status}`, () => failing(status)]),
  ...silences.map(({ name, description }): FindShape => [name, description, () => name]),
  ...spoilt.map(({ name, description, answer }): FindShape => [name, description, ({ body }) => answer(String(body))]),
  ['no-jobs' as const, 'an object without jobs', () => json(200, {})] satisfies FindShape,
  ['nothing' as const, 'finds nothing, whatever there is', (_truth, nothing) => nothing] satisfies FindShape,
].map(([name, description, answer]) => ({ name: `find-${name}`, accepted: true, description, answer }))
