import { randomBytes } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job, JobView } from './upstream/jobs.ts'
import { type Head, type Question, respond, type Wire, type WireRequest } from './upstream/wire.ts'

/** How the engines differ from OpenAI's own API: see src/providers/openai.ts. */
export type Dialect = 'openai' | 'vllm-omni' | 'sglang' | 'fastvideo'

const listings: Record<Dialect, Listing> = {
  openai: { defaultLimit: 20, limits: [1, 100], hasCursors: true },
  'vllm-omni': { defaultLimit: Number.POSITIVE_INFINITY, limits: [0, 100], hasCursors: true },
  sglang: { defaultLimit: 20, limits: [1, 100], hasCursors: true },
  fastvideo: { defaultLimit: Number.POSITIVE_INFINITY, limits: [1, 100], hasCursors: false },
}

/**
 * vLLM-Omni's answers to every request for videos if it was started with the wrong options, and to a DELETE whose abort
 * takes longer than 2 s.
 */
const troubles = {
  'several-api-servers': [
    409,
    'Asynchronous video jobs is not supported with --api-server-count > 1 because the operation uses process-local frontend state',
  ],
  'no-topology': [503, 'API worker topology is not initialized.'],
  'no-handler': [503, 'Video generation handler not initialized.'],
  'slow-abort': [409, 'Cancellation in progress. Please try again later.'],
} as const

export type Trouble = keyof typeof troubles

/** OpenAI's Videos API below /v1, as its SDKs know it. Only vLLM-Omni has a trouble. */
export function openaiWire(dialect: Dialect = 'openai', trouble?: Trouble): Wire {
  const error = errors[dialect]
  return {
    mode: 'list',
    filmsApart: false,
    newId: () => `video_${randomBytes(16).toString('hex')}`,
    isSubmit: ({ method, path }) => method === 'POST' && path === '/v1/videos',
    read: async (asked) => troubleAt(asked, trouble) ?? read(dialect, asked, error),
    accepted: (job) => json(200, videoOf(job, { status: 'waiting', progress: 0 }, dialect)),
    polled: (job, claim) => polled(job, claim, dialect),
    found: (jobs, at, head) => {
      const videos = jobs.map((job) => videoOf(job, at.viewOf(job), dialect))
      return listPage(videos, head, listings[dialect])
    },
    cancelled: (job, done, was) => cancelled(job, { done, was, trouble }, dialect),
    unknown: () => error(404, 'Video not found'),
  }
}

type Refuse = (status: number, message: string, code?: string) => Answer

const openaiError: Refuse = (status, message, code) =>
  json(status, { error: { message, type: 'invalid_request_error', param: null, code: code ?? null } })

/** FastAPI's own form, or OpenAI's error object, which vLLM uses. */
const errors: Record<Dialect, Refuse> = {
  openai: openaiError,
  sglang: (status, message) => json(status, { detail: message }),
  fastvideo: (status, message) => json(status, { detail: message }),
  'vllm-omni': (status, message) => {
    const type = STATUS_CODES[status]
    return json(status, { error: { message, type, param: null, code: status } })
  },
}

function troubleAt({ path }: WireRequest, trouble: Trouble | undefined): Question | undefined {
  if (trouble === undefined || trouble === 'slow-abort' || !path.startsWith('/v1/videos')) return undefined
  const [status, message] = troubles[trouble]
  return { ask: 'nothing', answer: errors['vllm-omni'](status, message) }
}

async function read(dialect: Dialect, asked: WireRequest, error: Refuse): Promise<Question> {
  const { method, path, headers } = asked
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  // A self-hosted engine needs no key.
  if (dialect === 'openai' && bearer === undefined)
    return respond(error(401, 'No API key was given.', 'invalid_api_key'))
  if (path === '/v1/models')
    return respond(json(200, { object: 'list', data: [{ id: 'film', object: 'model', owned_by: dialect }] }))
  const [, , , id, action] = path.split('/')
  if (id !== undefined && action === 'content') return { ask: 'film', id }
  if (id !== undefined && method === 'GET') return { ask: 'poll', id }
  if (id !== undefined && method === 'DELETE') return { ask: 'cancel', id }
  if (path === '/v1/videos' && method === 'GET') {
    const mistake = mistakeInQuery(asked, listings[dialect])
    if (mistake) return respond(error(dialect === 'openai' ? 400 : 422, mistake, 'invalid_value'))
    return { ask: 'find', subject: '', matches: () => true }
  }
  if (path !== '/v1/videos' || method !== 'POST') return respond(error(404, 'Not Found'))
  const fields = await fieldsOf(asked)
  if (fields === undefined || (dialect === 'vllm-omni' && !isForm(asked)))
    return respond(error(422, 'the body is no form'))
  const wrong = mistakeIn(fields)
  if (wrong) return respond(error(dialect === 'openai' ? 400 : 422, wrong, 'invalid_value'))
  const { model, prompt, ...asIs } = fields
  const { seconds = '4', size = '720x1280' } = dialect === 'sglang' ? adjusted(asIs) : asIs
  const body = { model, prompt: String(prompt), seconds, size, more: { image: fields.input_reference !== undefined } }
  return { ask: 'submit', submission: { body, key: null, bearer: bearer ?? '' } }
}

/** SGLang shares frames among eight GPUs, and shows the adjusted length and size. */
const [gpus, framesPerSecond, framesPerLatent, sizeStep] = [8, 24, 4, 16]

function adjusted({ seconds = '4', size = '720x1280' }: Record<string, unknown>) {
  const latents = Math.floor((Number(seconds) * framesPerSecond) / framesPerLatent) + 1
  const shared = Math.max(1, Math.floor(latents / gpus)) * gpus
  const frames = (shared - 1) * framesPerLatent + 1
  const sides = String(size)
    .split('x')
    .map((side) => Math.max(1, Math.floor(Number(side) / sizeStep)) * sizeStep)
  return { seconds: String(Math.round(frames / framesPerSecond)), size: sides.join('x') }
}

function isForm({ headers }: WireRequest): boolean {
  return /^multipart\/form-data\b/.test(headers['content-type'] ?? '')
}

async function fieldsOf(asked: WireRequest): Promise<Record<string, unknown> | undefined> {
  try {
    if (!isForm(asked)) return JSON.parse(asked.body.toString()) as Record<string, unknown>
    const type = asked.headers['content-type'] ?? ''
    const form = await new Response(new Uint8Array(asked.body), { headers: { 'content-type': type } }).formData()
    return Object.fromEntries(form)
  } catch {
    return undefined
  }
}

function mistakeIn({
  model,
  prompt,
  seconds = '4',
  size = '720x1280',
  input_reference: image,
}: Record<string, unknown>) {
  if (typeof prompt !== 'string' || prompt === '') return "Missing required parameter: 'prompt'."
  if (typeof model !== 'string') return "Missing required parameter: 'model'."
  if (!/^[1-9]\d*$/.test(String(seconds))) return "Invalid value for 'seconds'."
  if (!/^\d+x\d+$/.test(String(size))) return "Invalid value for 'size'."
  if (image !== undefined && !(image instanceof File && image.size > 0)) return "Invalid 'input_reference'."
  return undefined
}

const words: Record<string, string> = { waiting: 'queued', running: 'in_progress', done: 'completed', failed: 'failed' }

interface Video extends Record<string, unknown> {
  id: string
  created_at: number
}

function videoOf({ id, body, acceptedAt }: Job, claim: Claim, dialect: Dialect): Video {
  const { model, prompt, seconds, size } = body
  const word = words[String(claim.status)] ?? claim.status
  const isAlike = dialect === 'sglang' || dialect === 'fastvideo'
  return {
    id,
    object: 'video',
    model,
    ...(!isAlike && { prompt }),
    seconds: String(seconds),
    size,
    // FastVideo is never `in_progress`.
    status: dialect === 'fastvideo' && word === 'in_progress' ? 'queued' : word,
    progress: claim.progress,
    created_at: Math.floor(acceptedAt / 1_000),
    completed_at: null,
    expires_at: null,
    remixed_from_video_id: null,
    error: word === 'failed' ? errorOf(claim, dialect) : null,
    ...(isAlike && { quality: 'standard', file_path: `/outputs/${id}.mp4` }),
  }
}

function errorOf({ error }: Claim, dialect: Dialect): Record<string, unknown> {
  const isPolicy = error === 'policy'
  const message = 'simulated'
  if (dialect === 'sglang' || dialect === 'fastvideo') return { message }
  if (dialect === 'openai') return { code: isPolicy ? 'moderation_blocked' : 'server_error', message }
  return isPolicy ? { code: 400, message: 'Guardrail blocked prompt: simulated' } : { code: 500, message }
}

/** vLLM-Omni uses the error of a failed video as the HTTP status. */
function polled(job: Job, claim: Claim, dialect: Dialect): Answer {
  const isOdd = dialect === 'vllm-omni' && claim.status === 'failed'
  return json(isOdd ? Number(errorOf(claim, dialect).code) : 200, videoOf(job, claim, dialect))
}

/** Engines forget a video, finished or not. vLLM-Omni stops it first; SGLang and FastVideo continue with it. */
function cancelled(
  job: Job,
  { done, was, trouble }: { done: boolean; was: JobView; trouble: Trouble | undefined },
  dialect: Dialect,
): Answer {
  const { id } = job
  const deleted = json(200, { id, object: 'video.deleted', deleted: true })
  if (dialect === 'openai') return done ? deleted : openaiError(400, 'It has ended.')
  const isRunning = was.status === 'waiting' || was.status === 'running'
  if (trouble === 'slow-abort' && isRunning) return errors['vllm-omni'](...troubles[trouble])
  job.unknownUntil = Number.POSITIVE_INFINITY
  return dialect === 'vllm-omni' ? deleted : json(200, { id, object: 'video', status: 'deleted' })
}

/** How a server lists its videos. */
interface Listing {
  /** The length of a page without `limit`. */
  defaultLimit: number
  limits: readonly [least: number, most: number]
  /** Whether a page has `first_id`, `last_id` and `has_more`. */
  hasCursors: boolean
}

/** The mistake in a request for the list, if there is one. */
function mistakeInQuery({ query }: Pick<Head, 'query'>, { limits: [least, most] }: Listing): string | undefined {
  const limit = query.get('limit')
  const isFine = limit === null || (/^\d+$/.test(limit) && Number(limit) >= least && Number(limit) <= most)
  return isFine ? undefined : `Invalid value for 'limit': it must be from ${least} to ${most}.`
}

interface Listed {
  id: string
  created_at: number
}

/** One page of videos, which are given in order of creation. A page after an unknown id is empty. */
function listPage(videos: readonly Listed[], { query }: Pick<Head, 'query'>, listing: Listing): Answer {
  const turn = query.get('order') === 'asc' ? 1 : -1
  // By whole seconds. Within a second, the order is that of creation in both directions.
  const sorted = videos.toSorted((one, other) => turn * (one.created_at - other.created_at))
  const after = query.get('after')
  const last = after === null ? -1 : sorted.findIndex(({ id }) => id === after)
  const rest = after !== null && last < 0 ? [] : sorted.slice(last + 1)
  const data = rest.slice(0, Number(query.get('limit') ?? listing.defaultLimit))
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: rest.length > data.length }
  return json(200, { object: 'list', data, ...(listing.hasCursors && ends) })
}
