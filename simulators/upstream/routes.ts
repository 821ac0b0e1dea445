import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Answer, json, type Silence, sendAnswer } from './answer.ts'
import type { Fault } from './faults.ts'
import { type Accept, cancel, type Job, type Jobs, type JobView, type Submission, viewOf } from './jobs.ts'
import { markFilm } from './marks.ts'
import type { Orders, Plan } from './plan.ts'
import type { Head, Place, Question, Wire, WireRequest } from './wire.ts'

/** What every route works with. */
export interface World {
  readonly wire: Wire
  readonly jobs: Jobs
  readonly plan: Plan
  readonly film: Uint8Array
  readonly log: Log
  /** The origins of the provider and of the host of its films. */
  origin: string
  films: string
  /** Runs the action after so many milliseconds, unless the upstream is closed by then. */
  later(ms: number, action: () => void): void
  /** Refuses connections for a while. */
  refuse(): void
  setFaults(orders: Orders): void
}

/** The ledger without the accepts. */
interface Log {
  /** All requests except those to the ledger and the faults. */
  requests: number
  /** All submits with a key whose head arrived. */
  submits: number
  faults: { fault: string; prompt: string | null; id: string | null; at: number }[]
  /** Each submit that was read, accepted or not, and each lookup or list, in order of arrival. */
  arrivals: Arrival[]
}

export interface Arrival {
  ask: 'submit' | 'find'
  /** When its head arrived, in milliseconds with fractions. */
  at: number
  /** The prompt of a submit. */
  prompt: string | null
  /** The reference of the submit, or of the lookup; null if the wire has none. */
  reference: string | null
  /** The status of its answer; null if it got no complete answer. */
  status: number | null
}

export interface Ledger extends Log {
  accepts: Accept[]
}

export async function handle(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = await answerTo(world, request).catch((error: unknown) => {
    // A client that breaks off its request gets no answer. Any other error is a bug here.
    if (request.complete) throw error
    return 'close' as const
  })
  sendAnswer(response, answer, world.plan.settings.dripMs)
}

async function answerTo(world: World, request: IncomingMessage): Promise<Answer | Silence> {
  const at = exactNow()
  const [path = '', query] = (request.url ?? '').split('?')
  const { method = '', headers } = request
  const head: Head = { method, path, query: new URLSearchParams(query), headers }
  const route = `${method} ${path}`
  if (route === 'GET /ledger') return json(200, { accepts: world.jobs.accepts, ...world.log } satisfies Ledger)
  if (route === 'POST /faults') return order(world, (await buffer(request)).toString())
  world.log.requests += 1
  if (method === 'GET' && path.startsWith('/files/')) return sendFilm(world, head, request.url ?? '')
  const isSubmit = world.wire.isSubmit(head)
  if (isSubmit) world.log.submits += 1
  const unread = isSubmit ? world.plan.takeFirst('unread') : undefined
  if (unread) {
    note(world, unread, null, null)
    return unread.answer(json(200, {}), path)
  }
  const asked = { ...head, body: await buffer(request) }
  const question = await world.wire.read(asked, placeOf(world))
  const answer = answerQuestion(world, asked, question)
  if (question.ask === 'submit') {
    const { prompt, reference = null } = question.submission.body
    noteArrival(world, { ask: 'submit', at, prompt, reference }, answer)
  } else if (question.ask === 'find')
    noteArrival(world, { ask: 'find', at, prompt: null, reference: question.subject || null }, answer)
  return answer
}

function answerQuestion(world: World, asked: WireRequest, question: Question): Answer | Silence {
  if (question.ask === 'nothing') return question.answer
  if (question.ask === 'submit') return submit(world, question.submission, asked)
  if (question.ask === 'find') return find(world, question, asked)
  const { wire, jobs, plan } = world
  const job = jobs.get(question.id)
  if (job === undefined || job.unknownUntil > Date.now()) return wire.unknown(question.id, asked)
  if (question.ask === 'poll') return poll(world, job, asked)
  if (question.ask === 'film') return filmOf(world, job, asked) ?? wire.unknown(question.id, asked)
  const was = viewOf(job, plan.settings.speed)
  return (
    wire.cancelled?.(job, cancel(job, plan.settings.speed), was, placeOf(world)) ?? wire.unknown(question.id, asked)
  )
}

function placeOf(world: World): Place {
  const { origin, films, plan } = world
  const linkTo = ({ id }: Job) => {
    const until = plan.settings.linkMs > 0 ? `?until=${Date.now() + plan.settings.linkMs}` : ''
    return `${films}/files/${encodeURIComponent(id)}.mp4${until}`
  }
  return {
    origin,
    linkTo,
    filmOf: (job) => filmMadeBy(world, job),
    viewOf: (job) => viewOf(job, plan.settings.speed),
  }
}

function order(world: World, body: string): Answer {
  try {
    world.setFaults(JSON.parse(body))
  } catch (thrown) {
    return json(400, { error: String(thrown) })
  }
  // A client that keeps this connection could not be refused a new one.
  return json(200, { seed: world.plan.seed, ...world.plan.settings }, { connection: 'close' })
}

function submit(world: World, submission: Submission, asked: WireRequest): Answer | Silence {
  const { jobs, plan, wire } = world
  const { prompt } = submission.body
  const fault = plan.take('submit', prompt)
  if (fault === undefined || fault.accepted === true) {
    const outcome = jobs.accept(submission)
    // A duplicate is not accepted, so it gets no fault.
    if ('duplicate' in outcome) return wire.refused?.('duplicate', outcome.duplicate) ?? wire.unknown('', asked)
    if ('keyReused' in outcome) return wire.refused?.('keyReused', '') ?? wire.unknown('', asked)
    const truth = wire.accepted(outcome.job, placeOf(world))
    if (fault === undefined) return truth
    note(world, fault, prompt, outcome.job.id)
    return fault.answer(truth, asked.path)
  }
  note(world, fault, prompt, null)
  if (fault.refuses) world.refuse()
  if (fault.accepted === 'maybe') world.later(plan.settings.lateMs, () => jobs.accept(submission))
  return fault.answer(wire.accepted(jobs.neverAccepted(submission), placeOf(world)), asked.path)
}

function poll(world: World, job: Job, asked: WireRequest): Answer | Silence {
  const { plan, wire } = world
  const place = placeOf(world)
  const view: JobView = viewOf(job, plan.settings.speed)
  if (view.status === 'done') view.url = place.linkTo(job)
  const fault = plan.take('poll', job.body.prompt)
  if (fault === undefined) return wire.polled(job, view, place, asked)
  note(world, fault, job.body.prompt, job.id)
  return fault.answer({
    view,
    job,
    until: Date.now() + plan.settings.unknownMs,
    say: (claim) => wire.polled(job, claim, place, asked),
    unknown: () => wire.unknown(job.id, asked),
  })
}

function find(
  world: World,
  { subject, matches }: Extract<Question, { ask: 'find' }>,
  asked: WireRequest,
): Answer | Silence {
  const { jobs, plan, wire } = world
  const found = jobs.visible(plan.settings.lagMs).filter(matches)
  const say = (some: readonly Job[]) => wire.found?.(some, placeOf(world), asked) ?? wire.unknown('', asked)
  const fault = plan.take('find', subject)
  if (fault === undefined) return say(found)
  note(world, fault, null, null)
  return fault.answer(say(found), say([]))
}

/** A film by its link, from the host of results. */
function sendFilm(world: World, head: Head, url: string): Answer | Silence {
  const { path, query, headers } = head
  // A host of results is not the provider: it refuses a key.
  if (headers.authorization !== undefined) return json(400, { error: 'this host accepts no Authorization header' })
  const job = world.jobs.get(decodeURIComponent(path.slice('/files/'.length)).replace(/\.mp4$/, ''))
  if (job === undefined) return gone
  if (query.has('until') && Number(query.get('until')) <= Date.now())
    return json(403, { error: 'this link has expired' })
  return filmOf(world, job, { ...head, path: url }) ?? gone
}

const gone = json(404, { error: 'no such file' })

/** The film or its fault; undefined until the job is done. */
function filmOf(world: World, job: Job, { path, headers }: Head): Answer | Silence | undefined {
  const { plan } = world
  if (viewOf(job, plan.settings.speed).status !== 'done') return undefined
  const film = filmMadeBy(world, job)
  const fault = plan.take('download', job.body.prompt)
  if (fault === undefined) return partOf(film, headers.range)
  note(world, fault, job.body.prompt, job.id)
  return fault.answer(film, path)
}

/** All jobs have the same film, except for its mark. */
function filmMadeBy({ film }: World, { id, body }: Job): Uint8Array {
  const { prompt, reference = null } = body
  return markFilm(film, { id, prompt, reference })
}

function partOf(film: Uint8Array, range = ''): Answer {
  const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', etag: `"${film.length}"` }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? []
  if (first === undefined) return { status: 200, headers, body: film }
  const start = Number(first)
  const end = Math.min(last ? Number(last) : film.length - 1, film.length - 1)
  if (start > end) return { status: 416, headers: { ...headers, 'content-range': `bytes */${film.length}` } }
  const contentRange = `bytes ${start}-${end}/${film.length}`
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body: film.subarray(start, end + 1) }
}

/** The status counts only if the body was complete. */
function noteArrival(world: World, arrival: Omit<Arrival, 'status'>, answer: Answer | Silence): void {
  const isWhole = typeof answer !== 'string' && (answer.ending === undefined || answer.ending === 'drip')
  world.log.arrivals.push({ ...arrival, status: isWhole ? answer.status : null })
}

/** A time that several processes on one machine can compare. */
function exactNow(): number {
  return performance.timeOrigin + performance.now()
}

export function note(world: World, { name }: Fault, prompt: string | null, id: string | null): void {
  world.log.faults.push({ fault: name, prompt, id, at: Date.now() })
}
