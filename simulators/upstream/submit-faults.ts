import { type Answer, json, type Silence } from './answer.ts'
import type { Fault } from './faults.ts'
import { failing, silences, spoilt } from './spoilt.ts'

export interface SubmitFault extends Fault {
  /**
   * true   the job is accepted before the answer
   * false  the job is never accepted
   * maybe  the job is accepted a while after the answer
   */
  accepted: boolean | 'maybe'
  /** Gets the answer to an accepted job, also if the job is not accepted. */
  answer(truth: Answer, path: string): Answer | Silence
  /** Answers after the head of the request, so that its body stays unread. */
  unread?: true
  /** Connections are refused for a while. */
  refuses?: true
}

type Shape = [name: string, description: string, answer: SubmitFault['answer']]

/** After these, a client can't know whether the job was accepted. Each exists with and without an accepted job. */
const unclear: Shape[] = [
  ...silences.map(({ name, description }): Shape => [name, description, () => name]),
  ...[500, 502, 503, 504, 408, 409].map((status): Shape => [`${status}`, `answers ${status}`, () => failing(status)]),
  [
    'redirect',
    'redirects to the same path: a client that follows submits again',
    (_truth, path) => json(307, { error: 'moved' }, { location: path }),
  ],
  ['204', 'answers 204 without content', () => ({ status: 204 })],
  ['200-no-id', '200 with an object without an id', () => json(200, { state: 'ok' })],
  ['200-id-number', '200 with an id that is a number', () => json(200, { id: 7 })],
  [
    '200-id-in-proto',
    '200 with an id only for clients that let JSON set a prototype',
    ({ body }) => ({ status: 200, body: `{"__proto__":${body}}` }),
  ],
  ...spoilt
    .filter(({ carries }) => !carries)
    .map(({ name, description, answer }): Shape => [`200-${name}`, description, ({ body }) => answer(String(body))]),
]

/** Real refusals: the job is never accepted. */
const refusals: Shape[] = [
  ...[400, 401, 402, 403, 404, 413, 415, 422].map(
    (status): Shape => [`${status}`, `refuses with ${status}`, () => failing(status)],
  ),
  ['401-cut', 'refuses with 401, and breaks off', () => ({ ...failing(401), length: 1_000, ending: 'close' })],
  ['429', 'busy, without Retry-After', () => failing(429)],
  ['429-huge', 'busy, with 5 MiB of reasons', () => ({ status: 429, body: ' '.repeat(5 * 2 ** 20) })],
  ['429-seconds', 'busy for a second', () => busy('1')],
  ['429-date', 'busy until an HTTP date, two seconds from now', () => busy(httpDate(2_000))],
  ['429-past', 'busy until an HTTP date of an hour ago', () => busy(httpDate(-3_600_000))],
  ['429-absurd', 'busy for three thousand years', () => busy('99999999999')],
  ['429-negative', 'busy for minus a second', () => busy('-1')],
  ['429-words', 'busy, with a Retry-After of words', () => busy('soon')],
  ['200-unknown', '200 with the id of a job that does not exist', (truth) => truth],
]

/** These answers have the id of the job, so the job must exist. */
const promises: Shape[] = spoilt
  .filter(({ carries }) => carries)
  .map(({ name, description, answer }) => [`200-${name}`, description, ({ body }) => answer(String(body))])

const late: Shape[] = [
  ['hang-then-late', 'never answers, and accepts the job a while later', () => 'hang'],
  ['reset-then-late', 'resets the connection, and accepts the job a while later', () => 'reset'],
]

export const submitFaults: readonly SubmitFault[] = [
  {
    name: 'submit-refuse-connection-before-accept',
    accepted: false,
    description:
      'connections are refused for a while, as soon as it is first in line; by rate or prompt, the submit is reset instead',
    answer: () => 'reset',
    refuses: true,
  },
  {
    name: 'submit-hang-unread-before-accept',
    accepted: false,
    description: 'never reads the body; by rate or prompt, the body is read first, because it has the prompt',
    answer: () => 'hang',
    unread: true,
  },
  ...[...unclear, ...refusals].map((shape) => fault(shape, false)),
  ...[...unclear, ...promises].map((shape) => fault(shape, true)),
  ...late.map((shape) => fault(shape, 'maybe')),
]

function fault([name, description, answer]: Shape, accepted: SubmitFault['accepted']): SubmitFault {
  const ending = accepted === 'maybe' ? 'accept' : accepted ? 'after-accept' : 'before-accept'
  return { name: `submit-${name}-${ending}`, accepted, description, answer }
}

function busy(retryAfter: string): Answer {
  return json(429, { error: 'simulated 429' }, { 'retry-after': retryAfter })
}

function httpDate(fromNowMs: number): string {
  return new Date(Date.now() + fromNowMs).toUTCString()
}
