import { gzipSync } from 'node:zlib'
import { type Answer, html, json, type Silence } from './answer.ts'
import type { Claim, Job, JobView } from './jobs.ts'

/* Everything that can go wrong on demand. Faults are data, so that a test can run all of them. */

export interface Fault {
  /** Begins with the kind of request. For a submit, it ends with what happens to the job. */
  readonly name: string
  /** Whether the job is accepted. True for everything but submits. */
  readonly accepted: boolean | 'maybe'
  readonly description: string
}

/** A fault of a table: its name without the kind, its description, and its answer. */
type Row<Kind extends FaultKind> = [name: string, description: string, answer: FaultsByKind[Kind]['answer']]

/** A fault that requests of every kind can have. */
type AnyRow = [name: string, description: string, answer: () => Answer | Silence]

/** A way in which a JSON answer can be damaged between the server and the client. */
interface Spoilt {
  name: string
  description: string
  /** Whether it contains the true answer. */
  carries: boolean
  answer(text: string): Answer
}

const lost = (name: string, description: string, answer: () => Answer): Spoilt => ({
  name,
  description,
  carries: false,
  answer,
})
const kept = (name: string, description: string, answer: (text: string) => Answer): Spoilt => ({
  name,
  description,
  carries: true,
  answer,
})

const ok = (body: string | Uint8Array, more: Omit<Answer, 'status' | 'body'> = {}): Answer => ({
  status: 200,
  body,
  ...more,
})
/** The same object with one more member, built as text. */
const extended = (text: string, member: string) => `${text.slice(0, -1)},${member}}`

const spoilt: readonly Spoilt[] = [
  lost('garbage', '200 with bytes that are not JSON', () => ok('\u0000}{"id"::')),
  lost('html', '200 with an HTML page, as a proxy in between would send', () => html(200, 'Sign in to continue')),
  lost('empty', '200 with no bytes', () => ok('')),
  lost('null', '200 with the JSON value null', () => json(200, null)),
  lost('list', '200 with a JSON list', () => json(200, [])),
  kept('truncated', '200 with the first half of the JSON, with a true length', (text) =>
    ok(text.slice(0, text.length / 2)),
  ),
  kept('deep', '200 with lists 100 000 deep beside the true answer', (text) =>
    ok(extended(text, `"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}`)),
  ),
  kept('huge', '200 with 2 MiB beside the true answer', (text) =>
    ok(extended(text, `"more":"${'x'.repeat(2 ** 21)}"`)),
  ),
  kept('endless', '200 with the true answer and then spaces for ever', (text) =>
    ok(text, { length: 'none', ending: 'endless' }),
  ),
  kept('drip', '200 with the true answer, a byte at a time', (text) => ok(text, { ending: 'drip' })),
  kept('hang-in-body', '200, half of the true answer, then nothing', (text) =>
    ok(text.slice(0, text.length / 2), { length: text.length, ending: 'hang' }),
  ),
  kept(
    'length-too-long',
    '200 with the true answer, but Content-Length promises more, and the connection closes',
    (text) => ok(text, { length: text.length + 10, ending: 'close' }),
  ),
  kept('length-too-short', '200 with the true answer, but Content-Length promises less', (text) =>
    ok(text, { length: text.length - 5, ending: 'close' }),
  ),
]

const silences: AnyRow[] = [
  ['hang', 'never answers', () => 'hang'],
  ['close', 'closes the connection without an answer', () => 'close'],
  ['reset', 'resets the connection without an answer', () => 'reset'],
  ['noise', 'answers in another protocol', () => 'noise'],
]

function statuses(...all: readonly number[]): AnyRow[] {
  return all.map((status) => [`${status}`, `answers ${status}`, () => failing(status)])
}

/** An error status. 502 and 504 come from a proxy, which sends HTML. */
function failing(status: number): Answer {
  return status === 502 || status === 504 ? html(status, 'Bad gateway') : json(status, { error: `simulated ${status}` })
}

interface SubmitFault extends Fault {
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

/** After these, a client can't know whether the job was accepted. Each exists with and without an accepted job. */
const unclear: Row<'submit'>[] = [
  ...silences,
  ...statuses(500, 502, 503, 504, 408, 409),
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
    .map(
      ({ name, description, answer }): Row<'submit'> => [
        `200-${name}`,
        description,
        ({ body }) => answer(String(body)),
      ],
    ),
]

/** Real refusals: the job is never accepted. */
const refusals: Row<'submit'>[] = [
  ...[400, 401, 402, 403, 404, 413, 415, 422].map(
    (status): Row<'submit'> => [`${status}`, `refuses with ${status}`, () => failing(status)],
  ),
  ['401-cut', 'refuses with 401, and breaks off', () => ({ ...failing(401), length: 1_000, ending: 'close' })],
  ['429', 'busy, without Retry-After', () => failing(429)],
  ['429-huge', 'busy, with 5 MiB of reasons', () => ({ status: 429, body: ' '.repeat(5 * 2 ** 20) })],
  ['429-seconds', 'busy for a second', () => busy('1')],
  ['429-date', 'busy until an HTTP date, two seconds from now', () => busy(httpDate(2_000))],
  ['429-past', 'busy until an HTTP date of an hour ago', () => busy(httpDate(-3_600_000))],
  ['429-absurd', 'busy for three thousand years', () => busy('99999999999')],
  ['429-negative', 'busy for minus a second', () => busy('-1')],
  ['429-words', 'busy, with a word in Retry-After', () => busy('soon')],
  ['200-unknown', '200 with the id of a job that does not exist', (truth) => truth],
]

/** These answers have the id of the job, so the job must exist. */
const promises: Row<'submit'>[] = spoilt
  .filter(({ carries }) => carries)
  .map(({ name, description, answer }) => [`200-${name}`, description, ({ body }) => answer(String(body))])

const late: Row<'submit'>[] = [
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
  ...[...unclear, ...refusals].map((shape) => submitFault(shape, false)),
  ...[...unclear, ...promises].map((shape) => submitFault(shape, true)),
  ...late.map((shape) => submitFault(shape, 'maybe')),
]

function submitFault([name, description, answer]: Row<'submit'>, accepted: SubmitFault['accepted']): SubmitFault {
  const ending = accepted === 'maybe' ? 'accept' : accepted ? 'after-accept' : 'before-accept'
  return { name: `submit-${name}-${ending}`, accepted, description, answer }
}

function busy(retryAfter: string): Answer {
  return json(429, { error: 'simulated 429' }, { 'retry-after': retryAfter })
}

function httpDate(fromNowMs: number): string {
  return new Date(Date.now() + fromNowMs).toUTCString()
}

interface PollFault extends Fault {
  answer(poll: Poll): Answer | Silence
}

interface Poll {
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

interface FindFault extends Fault {
  /** Gets the true answer, and the answer if nothing were found. */
  answer(truth: Answer, nothing: Answer): Answer | Silence
}

const running = ({ view, say }: Poll, progress: unknown): Answer => say({ id: view.id, status: 'running', progress })

const untrue: Row<'poll'>[] = [
  ...['THROTTLED', 'SUCCEED', 'expired', ''].map(
    (status): Row<'poll'> => [
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

/** These last longer than one answer. */
const endings: Row<'poll'>[] = [
  [
    'failed',
    'the job fails for good',
    ({ view: { id, progress }, job, say }) => {
      job.end = 'failed'
      return say({ id, status: 'failed', progress, error: 'simulated failure' })
    },
  ],
  [
    'policy',
    'the job fails for good, because of its content',
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

const pollRows: Row<'poll'>[] = [
  ...statuses(500, 502, 503, 504, 429, 401, 404, 408),
  ...silences,
  ...spoilt.map(
    ({ name, description, answer }): Row<'poll'> => [
      name,
      description,
      ({ view, say }) => answer(String(say(view).body)),
    ],
  ),
  ...untrue,
  ...endings,
]

export const pollFaults: readonly PollFault[] = pollRows.map(([name, description, answer]) => ({
  name: `poll-${name}`,
  accepted: true,
  description,
  answer,
}))

const findRows: Row<'find'>[] = [
  ...statuses(500, 502, 429, 404),
  ...silences,
  ...spoilt.map(
    ({ name, description, answer }): Row<'find'> => [name, description, ({ body }) => answer(String(body))],
  ),
  ['no-jobs', 'an object without jobs', () => json(200, {})],
  ['nothing', 'finds nothing, although there are jobs', (_truth, nothing) => nothing],
]

export const findFaults: readonly FindFault[] = findRows.map(([name, description, answer]) => ({
  name: `find-${name}`,
  accepted: true,
  description,
  answer,
}))

interface DownloadFault extends Fault {
  answer(film: Uint8Array, path: string): Answer | Silence
}

const mp4 = { 'content-type': 'video/mp4' }
const mp4Answer = (bytes: Uint8Array, more: Omit<Answer, 'status' | 'body'> = {}) =>
  ok(bytes, { headers: mp4, ...more })
const half = (film: Uint8Array) => film.subarray(0, film.length / 2)

const downloadRows: Row<'download'>[] = [
  ['403', 'the link has expired: 403', () => failing(403)],
  ...statuses(404),
  ['410', 'the link has expired: 410', () => failing(410)],
  ...statuses(401, 429, 500, 503),
  ...silences,
  ['truncated', 'the first half of the film, with a true length', (film) => mp4Answer(half(film))],
  [
    'length-too-long',
    'the whole film, but Content-Length promises more, and the connection closes',
    (film) => mp4Answer(film, { length: film.length + 100, ending: 'close' }),
  ],
  [
    'length-too-short',
    'the whole film, but Content-Length promises less',
    (film) => mp4Answer(film, { length: film.length - 100, ending: 'close' }),
  ],
  [
    'cut',
    'half of the film, then the connection closes',
    (film) => mp4Answer(half(film), { length: film.length, ending: 'close' }),
  ],
  [
    'cut-chunks',
    'half of the film in chunks, and no last chunk',
    (film) => mp4Answer(half(film), { length: 'none', ending: 'close' }),
  ],
  [
    'reset-in-body',
    'half of the film, then a reset',
    (film) => mp4Answer(half(film), { length: film.length, ending: 'reset' }),
  ],
  [
    'hang-in-body',
    'half of the film, then nothing',
    (film) => mp4Answer(half(film), { length: film.length, ending: 'hang' }),
  ],
  ['drip', 'the film, a byte at a time', (film) => mp4Answer(film, { ending: 'drip' })],
  ['endless', 'the film and then spaces for ever', (film) => mp4Answer(film, { length: 'none', ending: 'endless' })],
  ['empty', 'a film of 0 bytes', () => mp4Answer(new Uint8Array())],
  [
    'html',
    'an HTML page with the content type of a film',
    () => ({ ...html(200, 'This link has expired'), headers: mp4 }),
  ],
  ['json', 'a JSON object in place of the film', () => json(200, { error: 'gone' })],
  ['damaged', 'a film with zeros where its pictures are', (film) => mp4Answer(damaged(film))],
  [
    'gzip',
    'the film, compressed although the client did not accept that',
    (film) => mp4Answer(gzipSync(film), { headers: { ...mp4, 'content-encoding': 'gzip' } }),
  ],
  ['redirect-to-itself', 'redirects to itself', (_film, path) => json(302, {}, { location: path })],
  ['ignores-range', 'the whole film, whatever range was requested', (film) => mp4Answer(film)],
]

export const downloadFaults: readonly DownloadFault[] = downloadRows.map(([name, description, answer]) => ({
  name: `download-${name}`,
  accepted: true,
  description,
  answer,
}))

function damaged(film: Uint8Array): Uint8Array {
  return Uint8Array.from(film).fill(0, Buffer.from(film).indexOf('mdat') + 4)
}

export interface FaultsByKind {
  submit: SubmitFault
  poll: PollFault
  find: FindFault
  download: DownloadFault
}
export type FaultKind = keyof FaultsByKind

export const faultsByKind: { readonly [Kind in FaultKind]: readonly FaultsByKind[Kind][] } = {
  submit: submitFaults,
  poll: pollFaults,
  find: findFaults,
  download: downloadFaults,
}

const kinds = new Map<string, FaultKind>()
for (const kind of ['submit', 'poll', 'find', 'download'] as const)
  for (const { name } of faultsByKind[kind]) kinds.set(name, kind)

export function kindOf(name: string): FaultKind | undefined {
  return kinds.get(name)
}

export function faultNamed<Kind extends FaultKind>(kind: Kind, name: string): FaultsByKind[Kind] | undefined {
  return faultsByKind[kind].find((fault) => fault.name === name)
}
