import { anyModel, toCards } from './cards/openai.ts'
import {
  bearer,
  clockSlackMs,
  createClient,
  downloadFrom,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  type Json,
  type Likeness,
  listOf,
  Problem,
  percentOf,
  plainPrompt,
  problems,
  type RefusalDetails,
  readAnswer,
  readFields,
  readSubmitted,
  refused,
  textOf,
  toForm,
  tookCancel,
  toSegment,
  tryFields,
  unclear,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest, Refusal } from './provider.ts'

/*
 * Whoever speaks OpenAI's Videos API: another Filmgate, vLLM-Omni, SGLang, FastVideo, gateways. They differ in small
 * things, which are told from what they answer, so that nobody has to configure them:
 *   vLLM-Omni  takes forms only; answers a poll of a failed video with its error as the HTTP status, and a DELETE that
 *              takes longer than 2 s with 409; serves no videos where it was started in the wrong way
 *   SGLang     may be `queued` until the end; a DELETE forgets the video, but the GPU goes on with it
 *   gateways   say pending, processing, cancelled; count milliseconds; give a `url` in place of /content
 */

export const openai: Member = {
  // They are read from it.
  cards: [],
  unlisted: anyModel,
  create: async () => provider,
}

const api = createClient(bearer)

const provider: Provider = {
  name: 'openai',
  cadenceMs: 3_000,
  recovery: 'list',
  operations: { example: '"video_…"', fits: isSegment },
  async submit({ model, prompt, seconds, size, parameters, image }, call) {
    // A form, with the image as a file: the one encoding that all of them take.
    const fields = { ...parameters, model, prompt, seconds, size: formatSize(size) }
    const response = await api.send('/videos', await toForm(fields, 'input_reference', image), call)
    const fault = await setupFaultOf(response)
    if (!fault) return readSubmitted(response, call, { accepts: [200, 201, 202], refusal: readRefusal })
    const problem = problems.refused(`a submit got ${response.status}: ${fault.why}`)
    return refused(response, call, { blame: fault.blame, problem })
  },
  poll: async (operation, call) => readProgress(await api.get(pathOf(operation), call), String(operation)),
  async download(output, call) {
    const { id, url } = fieldsOf(output)
    const own = api.download(`/videos/${id}/content`, call)
    if (typeof url !== 'string') return own
    // Where it keeps its films elsewhere, only the link of the poll leads there.
    return own.catch((error: unknown) => {
      if (Problem.from(error).code !== 'output_unavailable') throw error
      return downloadFrom(url, call)
    })
  },
  async find(request, openedAt, call) {
    const { videos, span, isPartial } = await listSince(openedAt, call)
    return foundIn(videos, (video) => likenessOf(video, request, span), isPartial)
  },
  listedAs: ({ prompt }) => plainPrompt(prompt),
  async cancel(operation, call) {
    const response = await api.request('DELETE', pathOf(operation), call)
    if (response.status === 409 && isPostponed(await tryFields(response))) throw unclear('a cancel got 409: not yet')
    // It has ended, can't be stopped now, or never can.
    if (!tookCancel(response, [400, 404, 405, 409])) return 'too_late'
    return (await tryFields(response)).deleted === true ? 'cancelled' : 'too_late'
  },
  async check(call) {
    const models = await api.get('/models', call)
    const fault = models.ok && (await setupFaultOf(await api.get('/videos?limit=1', call)))
    if (fault) throw problems.refused(fault.why)
    return models
  },
  discover: async (call) => toCards(await readAnswer(await api.get('/models', call), 'the question for models')),
}

function pathOf(operation: Json): string {
  return `/videos/${toSegment(operation)}`
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const answer = await tryFields(response)
  const code = wordOf(fieldsOf(answer.error).code)
  const isPolicy = policies.has(code) || (response.status === 400 && isGuardrail(messageOf(answer)))
  return isPolicy ? { blame: 'request', problem: problems.policy(code) } : {}
}

interface SetupFault {
  status: number
  said: RegExp
  blame: Refusal['blame']
  /** For the operator. */
  why: string
}

/*
 * vLLM-Omni says these before it reads a request, so nothing was accepted. Only its words tell: another 409 or 503 may
 * come from a proxy that had passed the request on. A server without a handler never gets one.
 */
const setupFaults: readonly SetupFault[] = [
  {
    ...{ status: 409, said: /^[\w ]{1,60} not supported with --api-server-count > 1/, blame: 'account' },
    why: 'vLLM-Omni takes no videos with several API servers; start it with --api-server-count 1',
  },
  {
    ...{ status: 503, said: /^Video generation handler not initialized/, blame: 'account' },
    why: 'vLLM-Omni serves a model that makes no videos; start it with a video model',
  },
  {
    ...{ status: 503, said: /^API worker topology is not initialized/, blame: 'busy' },
    why: 'vLLM-Omni has not finished its start',
  },
]

async function setupFaultOf(response: Response): Promise<SetupFault | undefined> {
  const possible = setupFaults.filter(({ status }) => status === response.status)
  const message = possible.length > 0 ? messageOf(await tryFields(response)) : ''
  return possible.find(({ said }) => said.test(message))
}

/** FastAPI says `detail`; vLLM puts it into OpenAI's envelope. */
function messageOf({ detail, error }: Fields): string {
  return textOf(detail) ?? textOf(fieldsOf(error).message) ?? ''
}

/** "Cancellation in progress. Please try again later." */
function isPostponed(answer: Fields): boolean {
  return /try again/i.test(messageOf(answer))
}

/** "Guardrail blocked prompt: …". A 400 alone is any bad request; other mentions are of the setting `guardrails`. */
function isGuardrail(message: string): boolean {
  return /\bguardrail\b/i.test(message)
}

const policies = new Set([
  ...['moderation_blocked', 'content_policy', 'content_policy_violation', 'content_filter', 'contentFilter'],
])

const ended: Record<string, 'succeeded' | 'failed'> = {
  ...{ completed: 'succeeded', succeeded: 'succeeded', success: 'succeeded' },
  ...{ failed: 'failed', cancelled: 'failed', canceled: 'failed', expired: 'failed', error: 'failed' },
}

async function readProgress(response: Response, id: string): Promise<Progress> {
  const isFine = response.status === 200
  const video = isFine ? await readFields(response) : await tryFields(response)
  const end = typeof video.status === 'string' && Object.hasOwn(ended, video.status) ? ended[video.status] : undefined
  // Before the status: a failed video comes with its error as the status, which may be 404. Only a video is one, and only ours.
  const isOurs = video.id === id || (video.id === undefined && video.object === 'video')
  if (end === 'failed' && (isOurs || (isFine && video.id === undefined && video.status !== 'error')))
    return failureOf(fieldsOf(video.error))
  if (end === 'failed' && isFine) throw unclear('a poll got a failure that is not of its video')
  if (response.status === 404 || video.status === 'deleted') return { status: 'missing' }
  if (!isFine) throw unclear(`a poll got ${response.status}`)
  if (end !== 'succeeded') return { status: 'running', progress: percentOf(video.progress) }
  const url = textOf(video.url) ?? textOf(fieldsOf(video.metadata).url)
  return { status: 'succeeded', output: { id, ...(url !== undefined && { url }) } }
}

function failureOf(error: Fields): Progress {
  const code = wordOf(error.code)
  return failed(policies.has(code) || (error.code === 400 && isGuardrail(textOf(error.message) ?? '')), code)
}

/* `find` looks for the video of an attempt in what an upstream lists, and says what that proves: docs/decisions/0016. */

/** The most that all of them list at once, and the fewest that one lists at a time. */
const [mostListed, fewestPerPage] = [100, 20]
const mostPages = 10

/** In seconds, in milliseconds, or as a date. What can't be the time of a video is not told. */
function createdAt({ created_at: created }: Fields): number | undefined {
  const at = typeof created === 'number' ? created * (created > 1e11 ? 1 : 1_000) : Date.parse(String(created))
  return at > 1e12 && at < 1e13 ? at : undefined
}

interface Listed {
  videos: Fields[]
  span: Span
  /** There may be more that are as young as the attempt. */
  isPartial: boolean
}

/** The newest videos, page by page, as far back as the attempt. */
async function listSince(openedAt: number, call: Call): Promise<Listed> {
  const videos: Fields[] = []
  for (let pages = 1; ; pages += 1) {
    const last = videos.at(-1)?.id
    const after = last === undefined ? '' : `&after=${encodeURIComponent(String(last))}`
    const response = await api.get(`/videos?limit=${mostListed}&order=desc${after}`, call)
    const list = await readAnswer(response, 'the question for videos')
    if (!Array.isArray(list.data) || list.error) throw unclear('a list of videos without data')
    const page = listOf(list.data)
    const span = spanOf(openedAt, response, call)
    // One that knows no pages tells the same ones again.
    const isRepeated = page.length > 0 && videos.some(({ id }) => id === page[0]?.id)
    if (!isRepeated) videos.push(...page)
    const isPartial = isRepeated || !isWhole(list, videos, span)
    const goesOn = isPartial && !isRepeated && page.length > 0 && pages < mostPages && isSegment(page.at(-1)?.id)
    if (!goesOn) return { videos, span, isPartial }
  }
}

/** Whether a video that is not in the list does not exist: there are no more, or the last one is older than the attempt. */
function isWhole(list: Fields, videos: readonly Fields[], { since }: Span): boolean {
  const times = videos.map(createdAt)
  const isSorted = times.every((at, index) => at !== undefined && at <= (times[index - 1] ?? at))
  if ((isSorted && (times.at(-1) ?? since) < since) || list.has_more === false) return true
  const marks = [list.has_more, list.next, list.next_page, list.last_id]
  return marks.every((mark) => mark === undefined || mark === null) && videos.length < fewestPerPage
}

/** By its own clock. */
interface Span {
  since: number
  until: number
}

/** No engine takes longer to register what it got, however busy it is. */
const arrivalMs = 5 * 60_000

/**
 * When the video of an attempt must have been created. The date of the answer tells how far its clock is from ours now;
 * where that is far, our own may have been changed since the attempt was opened, so both times are allowed for.
 */
function spanOf(openedAt: number, { headers }: Response, call: Pick<Call, 'now'>): Span {
  const date = Date.parse(headers.get('date') ?? '')
  const skewMs = Number.isNaN(date) ? 0 : date - call.now()
  return {
    since: openedAt + Math.min(0, skewMs) - clockSlackMs,
    until: openedAt + Math.max(0, skewMs) + clockSlackMs + arrivalMs,
  }
}

/**
 * What a list does not tell proves nothing: without a prompt (SGLang, FastVideo), or without a time, a video may be
 * anybody's. Seconds and sizes may be those that the engine adjusted to its model, so they are compared with a tolerance.
 */
function likenessOf(video: Fields, { prompt, seconds, size }: ProviderRequest, { since, until }: Span): Likeness {
  const at = createdAt(video)
  if (at !== undefined && (at < since || at > until)) return 'other'
  const [told, ours] = [plainPrompt(textOf(video.prompt) ?? ''), plainPrompt(prompt)]
  if (told === '') return 'possible'
  const isTold = at !== undefined && areClose(video.seconds, seconds) && isCloseSize(video.size, size)
  if (told === ours) return isTold ? 'match' : 'possible'
  // It may be cut off, or embellished.
  const [theirs, wanted] = [told.replace(/(…|\.{3})$/, '').toLowerCase(), ours.toLowerCase()]
  return theirs.includes(wanted) || wanted.includes(theirs) ? 'possible' : 'other'
}

/** Engines align frames to their model and their GPUs. What is not told as a number may be anything. */
function areClose(told: unknown, wanted: number): boolean {
  const seconds = Number.parseFloat(String(told))
  return Number.isNaN(seconds) || Math.abs(seconds - wanted) <= Math.max(1, wanted / 4)
}

function isCloseSize(told: unknown, { width, height }: ProviderRequest['size']): boolean {
  const sides = /^(\d+)x(\d+)$/
    .exec(String(told ?? ''))
    ?.slice(1)
    .map(Number)
  const near = (side = 0, wanted: number) => Math.abs(side - wanted) <= Math.max(64, wanted / 10)
  return sides === undefined || (near(sides[0], width) && near(sides[1], height))
}
