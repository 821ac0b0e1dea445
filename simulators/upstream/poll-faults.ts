import { type Answer, json, type Silence } from './answer.ts'
import type { Fault } from './faults.ts'
import type { Job, JobView } from './jobs.ts'
import { failing, silences, spoilt } from './spoilt.ts'

export interface PollFault extends Fault {
  /** Gets what the job truly is, and may change its fate. */
  answer(view: JobView, job: Job, until: number): Answer | Silence
}

export interface FindFault extends Fault {
  /** Gets what was truly found. */
  answer(found: { jobs: object[] }): Answer | Silence
}

type PollShape = [name: string, description: string, answer: PollFault['answer']]

const running = (view: JobView, more: object): Answer => json(200, { id: view.id, status: 'running', ...more })

const untrue: PollShape[] = [
  ...['THROTTLED', 'SUCCEED', 'expired', ''].map(
    (status): PollShape => [
      `status-${status.toLowerCase() || 'blank'}`,
      `a status that nobody documented: ${JSON.stringify(status)}`,
      ({ id, progress }) => json(200, { id, status, progress }),
    ],
  ),
  ['status-number', 'a status that is a number', ({ id, progress }) => json(200, { id, status: 3, progress })],
  ['status-missing', 'no status', ({ id, progress }) => json(200, { id, progress })],
  ['progress-101', 'progress 101', (view) => running(view, { progress: 101 })],
  ['progress-minus-1', 'progress -1', (view) => running(view, { progress: -1 })],
  ['progress-string', 'progress in words', (view) => running(view, { progress: '50%' })],
  ['progress-null', 'progress null', (view) => running(view, { progress: null })],
  [
    'progress-nan',
    'progress NaN, which is no JSON',
    ({ id }) => ({ status: 200, body: `{"id":"${id}","status":"running","progress":NaN}` }),
  ],
  ['back', 'waiting at 0, however far it was', ({ id }) => json(200, { id, status: 'waiting', progress: 0 })],
  ['done-without-url', 'done, but without a url', ({ id }) => json(200, { id, status: 'done', progress: 100 })],
  ['done-url-number', 'done, with a url that is a number', ({ id }) => json(200, { id, status: 'done', url: 7 })],
]

const fates: PollShape[] = [
  [
    'failed',
    'the job fails for good, whatever it was',
    (view, job) => {
      job.end = 'failed'
      return json(200, { id: view.id, status: 'failed', progress: view.progress, error: 'simulated failure' })
    },
  ],
  [
    '404-for-a-while',
    'the job is unknown for a while',
    (_view, job, until) => {
      job.unknownUntil = until
      return json(404, { error: 'unknown job' })
    },
  ],
]

export const pollFaults: readonly PollFault[] = [
  ...[500, 502, 503, 504, 429, 401, 404, 408].map(
    (status): PollShape => [`${status}`, `answers ${status}, which says nothing about the job`, () => failing(status)],
  ),
  ...silences.map(({ name, description }): PollShape => [name, description, () => name]),
  ...spoilt.map(({ name, description, answer }): PollShape => [name, description, (view) => answer(view)]),
  ...untrue,
  ...fates,
].map(([name, description, answer]) => ({ name: `poll-${name}`, accepted: true, description, answer }))

type FindShape = [name: string, description: string, answer: FindFault['answer']]

export const findFaults: readonly FindFault[] = [
  ...[500, 502, 429, 404].map((status): FindShape => [`${status}`, `answers ${status}`, () => failing(status)]),
  ...silences.map(({ name, description }): FindShape => [name, description, () => name]),
  ...spoilt.map(({ name, description, answer }): FindShape => [name, description, answer]),
  ['no-jobs' as const, 'an object without jobs', () => json(200, {})] satisfies FindShape,
  ['nothing' as const, 'finds nothing, whatever there is', () => json(200, { jobs: [] })] satisfies FindShape,
].map(([name, description, answer]) => ({ name: `find-${name}`, accepted: true, description, answer }))
