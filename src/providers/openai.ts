import { anyModel, toCards } from './cards/openai.ts'
import {
  acceptedCancel,
  bearer,
  clockSlackMs,
  createClient,
  downloadFrom,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  type Json,
  type Likeness,
  Problem,
  percentOf,
  plainPrompt,
  problems,
  type RefusalDetails,
  readJsonFields,
  readResponse,
  readSubmitted,
  refused,
  textOf,
  toForm,
  toSegment,
  tryFields,
  unclear,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest, Refusal } from './provider.ts'

/*
 * Servers with OpenAI's Videos API: another Filmgate, vLLM-Omni, SGLang, FastVideo, gateways. Their small differences show
 * in their responses, so they need no configuration:
 *   vLLM-Omni  accepts forms only; responds to a poll of a failed video with its error as the HTTP status, and to a DELETE
 *              that takes longer than 2 s with 409; generates no videos if it was started with the wrong options
 *   SGLang     may be `queued` until the end; a DELETE forgets the video, but the GPU continues with it
 *   gateways   say pending, processing, cancelled; count milliseconds; return a `url` instead of /content
 */

export const openai: Member = {
  // `discover` reads them.
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
    // A form with the image as a file is the only encoding that all of them accept.
    const fields = { ...parameters, model, prompt, seconds, size: formatSize(size) }
    const response = await api.send('/videos', await toForm(fields, 'input_reference', image), call)
    const fault = await setupFaultOf(response)
    if (!fault) return readSubmitted(response, call, { accepts: [200, 201, 202], refusal: readRefusal })
    const problem = problems.refused(`a submit got ${response.status}: ${fault.fix}`)
    return refused(response, call, { blame: fault.blame, problem })
  },
  poll: async (operation, call) => readProgress(await api.get(pathOf(operation), call), String(operation)),
  async download(output, call) {
    const { id, url } = fieldsOf(output)
    const own = api.download(`/videos/${id}/content`, call)
    if (typeof url !== 'string') return own
    // A server that keeps its videos elsewhere has only the link from the poll.
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
    // It has ended, or can't be stopped.
    if (!acceptedCancel(response, [400, 404, 405, 409])) return 'too_late'
    return (await tryFields(response)).deleted === true ? 'cancelled' : 'too_late'
  },
  async check(call) {
    const models = await api.get('/models', call)
    const fault = models.ok && (await setupFaultOf(await api.get('/videos?limit=1', call)))
    if (fault) throw problems.refused(fault.fix)
    return models
  },
  discover: async (call) => toCards(await readResponse(await api.get('/models', call), 'listing models')),
}

function pathOf(operation: Json): string {
  return `/videos/${toSegment(operation)}`
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const body = await tryFields(response)
  const code = wordOf(fieldsOf(body.error).code)
  const isPolicy = policies.has(code) || (response.status === 400 && isGuardrail(errorTextOf(body)))
  return isPolicy ? { blame: 'request', problem: problems.policy(code) } : {}
}

interface SetupFault {
  status: number
  message: RegExp
  blame: Refusal['blame']
  /** What is wrong and what to do, for the operator. */
  fix: string
}

/*
 * vLLM-Omni responds with these before it reads a request, so nothing was accepted. Only the message proves that: another
 * 409 or 503 may come from a proxy that had passed the request on.
 */
const setupFaults: readonly SetupFault[] = [
  {
    status: 409,
    message: /^[\w ]{1,60} not supported with --api-server-count > 1/,
    blame: 'account',
    fix: 'vLLM-Omni generates no videos with several API servers; start it with --api-server-count 1',
  },
  {
    status: 503,
    message: /^Video generation handler not initialized/,
    blame: 'account',
    fix: 'vLLM-Omni serves a model that generates no videos; start it with a video model',
  },
  {
    status: 503,
    message: /^API worker topology is not initialized/,
    blame: 'busy',
    fix: 'vLLM-Omni is still starting; wait until it is ready',
  },
]

async function setupFaultOf(response: Response): Promise<SetupFault | undefined> {
  const possible = setupFaults.filter(({ status }) => status === response.status)
  const text = possible.length > 0 ? errorTextOf(await tryFields(response)) : ''
  return possible.find(({ message }) => message.test(text))
}

/** FastAPI has `detail`; vLLM uses OpenAI's error object. */
function errorTextOf({ detail, error }: Fields): string {
  return textOf(detail) ?? textOf(fieldsOf(error).message) ?? ''
}

/** "Cancellation in progress. Please try again later." */
function isPostponed(body: Fields): boolean {
  return /try again/i.test(errorTextOf(body))
}

/** "Guardrail blocked prompt: …". A 400 alone is any bad request; `guardrails` in other messages is a setting. */
function isGuardrail(message: string): boolean {
  return /\bguardrail\b/i.test(message)
}

const policies = new Set([
  'moderation_blocked',
  'content_policy',
  'content_policy_violation',
  'content_filter',
  'contentFilter',
])

const successes: readonly unknown[] = ['completed', 'succeeded', 'success']
const failures: readonly unknown[] = ['failed', 'cancelled', 'canceled', 'expired', 'error']

async function readProgress(response: Response, id: string): Promise<Progress> {
  const isOk = response.status === 200
  const video = isOk ? await readJsonFields(response) : await tryFields(response)
  const hasFailed = failures.includes(video.status)
  // Read before the HTTP status, which may be the error of the failed video, even 404. The body must be our video.
  const isOurs = video.id === id || (video.id === undefined && video.object === 'video')
  if (hasFailed && (isOurs || (isOk && video.id === undefined && video.status !== 'error')))
    return failureOf(fieldsOf(video.error))
  if (hasFailed && isOk) throw unclear('a poll got the failure of another video')
  if (response.status === 404 || video.status === 'deleted') return { status: 'missing' }
  if (!isOk) throw unclear(`a poll got ${response.status}`)
  if (video.id !== undefined && video.id !== id) throw unclear('a poll got the status of another video')
  if (!successes.includes(video.status)) return { status: 'running', progress: percentOf(video.progress) }
  const url = textOf(video.url) ?? textOf(fieldsOf(video.metadata).url)
  return { status: 'succeeded', output: { id, ...(url !== undefined && { url }) } }
}

function failureOf(error: Fields): Progress {
  const code = wordOf(error.code)
  return failed(policies.has(code) || (error.code === 400 && isGuardrail(textOf(error.message) ?? '')), code)
}

/* `find` looks for the video of an attempt in the upstream's list, and says what the list proves: docs/decisions/0016. */

/** The longest page that all of them accept, and the shortest page that one of them returns. */
const [mostListed, fewestPerPage] = [100, 20]
const mostPages = 10

/** In seconds, in milliseconds, or as a date. Undefined if it can't be the time of a video. */
function createdAt({ created_at: created }: Fields): number | undefined {
  const at = typeof created === 'number' ? created * (created > 1e11 ? 1 : 1_000) : Date.parse(String(created))
  return at > 1e12 && at < 1e13 ? at : undefined
}

interface Listed {
  videos: Fields[]
  span: Span
  /** There may be more videos since the attempt. */
  isPartial: boolean
}

/** The newest videos, page by page, as far back as the attempt. */
async function listSince(openedAt: number, call: Call): Promise<Listed> {
  const videos: Fields[] = []
  for (let pages = 1; ; pages += 1) {
    const last = videos.at(-1)?.id
    const after = last === undefined ? '' : `&after=${encodeURIComponent(String(last))}`
    const response = await api.get(`/videos?limit=${mostListed}&order=desc${after}`, call)
    const list = await readResponse(response, 'listing videos')
    if (!Array.isArray(list.data) || list.error) throw unclear('a list of videos without data')
    const page = entriesOf(list.data)
    const span = spanOf(openedAt, response, call)
    // A server without pages lists the same videos again.
    const isRepeated = page.length > 0 && videos.some(({ id }) => id === page[0]?.id)
    if (!isRepeated) videos.push(...page)
    const isPartial = isRepeated || !isWhole(list, videos, span)
    const hasNext = isPartial && !isRepeated && page.length > 0 && pages < mostPages && isSegment(page.at(-1)?.id)
    if (!hasNext) return { videos, span, isPartial }
  }
}

/** Whether the list has all videos since the attempt: there are no more, or the last one is older. */
function isWhole(list: Fields, videos: readonly Fields[], { since }: Span): boolean {
  const times = videos.map(createdAt)
  const isSorted = times.every((at, index) => at !== undefined && at <= (times[index - 1] ?? at))
  if ((isSorted && (times.at(-1) ?? since) < since) || list.has_more === false) return true
  const marks = [list.has_more, list.next, list.next_page, list.last_id]
  return marks.every((mark) => mark === undefined || mark === null) && videos.length < fewestPerPage
}

/** By the upstream's clock. */
interface Span {
  since: number
  until: number
}

/** No engine takes longer to register a request, however busy it is. */
const arrivalMs = 5 * 60_000

/**
 * When the video of an attempt must have been created. The date of the response shows how far its clock is from ours now.
 * Our own clock may have been changed since the attempt was opened, so both times are allowed.
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
 * A missing field proves nothing: without a prompt (SGLang, FastVideo) or a time, a video may be another client's. An engine
 * may adjust seconds and size to its model, so they are compared with a tolerance.
 */
function likenessOf(video: Fields, { prompt, seconds, size }: ProviderRequest, { since, until }: Span): Likeness {
  const at = createdAt(video)
  if (at !== undefined && (at < since || at > until)) return 'other'
  const [listed, ours] = [plainPrompt(textOf(video.prompt) ?? ''), plainPrompt(prompt)]
  if (listed === '') return 'possible'
  const isClose = at !== undefined && areClose(video.seconds, seconds) && isCloseSize(video.size, size)
  if (listed === ours) return isClose ? 'match' : 'possible'
  // The engine may have cut the prompt off, or added to it.
  const [shown, wanted] = [listed.replace(/(…|\.{3})$/, '').toLowerCase(), ours.toLowerCase()]
  return shown.includes(wanted) || wanted.includes(shown) ? 'possible' : 'other'
}

/** Engines align frames to their model and their GPUs. A value that is not a number proves nothing. */
function areClose(listed: unknown, wanted: number): boolean {
  const seconds = Number.parseFloat(String(listed))
  return Number.isNaN(seconds) || Math.abs(seconds - wanted) <= Math.max(1, wanted / 4)
}

function isCloseSize(listed: unknown, { width, height }: ProviderRequest['size']): boolean {
  const sides = /^(\d+)x(\d+)$/
    .exec(String(listed ?? ''))
    ?.slice(1)
    .map(Number)
  const near = (side = 0, wanted: number) => Math.abs(side - wanted) <= Math.max(64, wanted / 10)
  return sides === undefined || (near(sides[0], width) && near(sides[1], height))
}
