import { randomUUID } from 'node:crypto'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import { type Place, parsed, type Question, type Wire, type WireRequest } from './upstream/wire.ts'

/** What a field accepts: one of these texts, or a value of this type. */
type Rule = readonly string[] | 'text' | 'boolean' | 'integer' | 'number' | 'url'
type Rules = Readonly<Record<string, Rule>>
interface Schema {
  fields: Rules
  required: readonly string[]
}

const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => String(first + at))
const schema = (fields: Rules, ...required: string[]): Schema => ({
  fields: { ...fields, prompt: 'text' },
  required: ['prompt', ...required],
})

const sized: Rules = { resolution: ['720p', '1080p'], seed: 'integer', negative_prompt: 'text' }
const veo: Rules = {
  ...sized,
  resolution: ['720p', '1080p', '4k'],
  duration: ['4s', '6s', '8s'],
  generate_audio: 'boolean',
  auto_fix: 'boolean',
  safety_tolerance: upTo(1, 6),
  aspect_ratio: ['16:9', '9:16'],
}
const veoOfImage: Rules = { ...veo, aspect_ratio: ['auto', '16:9', '9:16'] }
const frames: Rules = { first_frame_url: 'url', last_frame_url: 'url' }
const kling: Rules = {
  duration: upTo(3, 15),
  generate_audio: 'boolean',
  negative_prompt: 'text',
  cfg_scale: 'number',
}
const wan: Rules = {
  ...sized,
  duration: upTo(2, 15),
  enable_prompt_expansion: 'boolean',
  enable_safety_checker: 'boolean',
  audio_url: 'url',
}
const seedance: Rules = {
  aspect_ratio: ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16', 'auto'],
  resolution: ['480p', '720p', '1080p'],
  generate_audio: 'boolean',
  seed: 'integer',
}
const seedance1: Rules = { ...seedance, duration: upTo(4, 12), camera_fixed: 'boolean' }
const seedance2: Rules = { ...seedance, duration: ['auto', ...upTo(4, 15)], end_user_id: 'text' }
const seedanceFast: Rules = { ...seedance2, resolution: ['480p', '720p'] }
const grokRatios = ['16:9', '4:3', '3:2', '1:1', '2:3', '3:4', '9:16']
const grok: Rules = { duration: 'integer', resolution: ['480p', '720p'], aspect_ratio: grokRatios }
const hailuo: Rules = { duration: ['6', '10'], prompt_optimizer: 'boolean' }
const ltx: Rules = {
  duration: ['6', '8', '10'],
  resolution: ['1080p', '1440p', '2160p'],
  fps: ['24', '25', '48', '50'],
  generate_audio: 'boolean',
  aspect_ratio: ['16:9', '9:16'],
}
const pikaRatios = ['16:9', '9:16', '1:1', '4:5', '5:4', '3:2', '2:3']
const pika: Rules = { ...sized, duration: ['5', '10'] }
const image: Rules = { image_url: 'url' }
const images: Rules = { ...image, end_image_url: 'url' }

/** The endpoints by id, as in the types of @fal-ai/client and on the model pages. */
const schemas: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(
    ['fal-ai/veo3.1', 'fal-ai/veo3.1/fast'].flatMap((id) => [
      [id, schema(veo)],
      [`${id}/image-to-video`, schema({ ...veoOfImage, ...image }, 'image_url')],
      [`${id}/first-last-frame-to-video`, schema({ ...veoOfImage, ...frames }, ...Object.keys(frames))],
    ]),
  ),
  ...Object.fromEntries(
    ['standard', 'pro'].flatMap((tier) => [
      [`fal-ai/kling-video/v3/${tier}/text-to-video`, schema({ ...kling, aspect_ratio: ['16:9', '9:16', '1:1'] })],
      [
        `fal-ai/kling-video/v3/${tier}/image-to-video`,
        schema({ ...kling, start_image_url: 'url', end_image_url: 'url' }, 'start_image_url'),
      ],
    ]),
  ),
  'fal-ai/wan/v2.7/text-to-video': schema({ ...wan, aspect_ratio: ['16:9', '9:16', '1:1', '4:3', '3:4'] }),
  'fal-ai/wan/v2.7/image-to-video': schema({ ...wan, ...images }),
  'fal-ai/bytedance/seedance/v1.5/pro/text-to-video': schema(seedance1),
  'fal-ai/bytedance/seedance/v1.5/pro/image-to-video': schema({ ...seedance1, ...images }, 'image_url'),
  'bytedance/seedance-2.0/text-to-video': schema(seedance2),
  'bytedance/seedance-2.0/image-to-video': schema({ ...seedance2, ...images }, 'image_url'),
  'bytedance/seedance-2.0/fast/text-to-video': schema(seedanceFast),
  'bytedance/seedance-2.0/fast/image-to-video': schema({ ...seedanceFast, ...images }, 'image_url'),
  'xai/grok-imagine-video/text-to-video': schema(grok),
  'xai/grok-imagine-video/image-to-video': schema(
    { ...grok, ...image, aspect_ratio: ['auto', ...grokRatios] },
    'image_url',
  ),
  'fal-ai/minimax/hailuo-2.3/standard/text-to-video': schema(hailuo),
  'fal-ai/minimax/hailuo-2.3/standard/image-to-video': schema({ ...hailuo, ...image }, 'image_url'),
  'fal-ai/ltx-2.3/text-to-video': schema(ltx),
  'fal-ai/ltx-2.3/image-to-video': schema({ ...ltx, ...images, aspect_ratio: ['auto', '16:9', '9:16'] }, 'image_url'),
  'fal-ai/pika/v2.2/text-to-video': schema({ ...pika, aspect_ratio: pikaRatios }),
  'fal-ai/pika/v2.2/image-to-video': schema({ ...pika, ...image }, 'image_url'),
}

const appOf = (endpoint: string) => endpoint.split('/').slice(0, 2).join('/')
const apps = new Set(Object.keys(schemas).map(appOf))

/** What is known about a run from the beginning. */
interface More {
  app: string
  /** Fields that its endpoint silently ignores. */
  overlooked: string[]
  mistake: { status: number; detail: unknown } | null
}

/** fal's queue, at the root path. */
export function falWire(): Wire {
  return {
    mode: 'none',
    filmsApart: true,
    newId: () => randomUUID(),
    isSubmit: ({ method, path }) => method === 'POST' && !path.includes('/requests/'),
    read,
    accepted: (job, at) => json(200, { ...placed(job, at), status: 'IN_QUEUE', queue_position: 0 }),
    // A poll asks for the status or for the result.
    polled: (job, claim, at, { path, query }) =>
      path.endsWith('/status') ? statusOf(job, claim, at, query.get('logs') === '1') : resultOf(job, claim, at),
    cancelled: (_job, done) =>
      done ? json(202, { status: 'CANCELLATION_REQUESTED' }) : json(400, { status: 'ALREADY_COMPLETED' }),
    unknown: (_id, { path }) =>
      json(404, path.endsWith('/cancel') ? { status: 'NOT_FOUND' } : { detail: 'Request not found' }),
  }
}

function read({ method, path, headers, body }: WireRequest): Question {
  const refuse = (status: number, detail: string): Question => ({ ask: 'nothing', answer: json(status, { detail }) })
  const key = /^Key (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (key === undefined) return refuse(401, 'Authentication is required to access this application.')
  const [app = '', rest] = path.slice(1).split('/requests/')
  if (!apps.has(appOf(app))) return refuse(404, `Application "${appOf(app)}" not found`)
  if (rest === undefined && method === 'POST') return submitOf(app, body, key)
  // A run is polled below its app, not below its endpoint.
  if (rest === undefined || app !== appOf(app)) return refuse(405, 'Method Not Allowed')
  const [id = ''] = rest.split('/', 1)
  const ask = questions[`${method} ${rest.slice(id.length)}`]
  return ask === undefined ? refuse(404, 'Not Found') : { ask, id }
}

const questions: Readonly<Record<string, 'poll' | 'cancel'>> = {
  'GET /status': 'poll',
  'GET ': 'poll',
  'PUT /cancel': 'cancel',
}

/** The queue accepts every request to an app. A mistake shows only in the result. */
function submitOf(endpoint: string, body: Buffer, bearer: string): Question {
  const input = parsed(body)
  const known = schemas[endpoint]?.fields ?? {}
  const overlooked = Object.keys(input ?? {}).filter((name) => !Object.hasOwn(known, name))
  const more: More = { app: appOf(endpoint), overlooked, mistake: mistakeIn(endpoint, input) }
  const { prompt, duration, aspect_ratio: size } = input ?? {}
  const job = { model: endpoint, prompt: String(prompt ?? ''), seconds: duration, size, more }
  return { ask: 'submit', submission: { body: job, key: null, bearer } }
}

function mistakeIn(endpoint: string, input: Record<string, unknown> | undefined): More['mistake'] {
  const known = schemas[endpoint]
  const path = endpoint.slice(appOf(endpoint).length)
  if (known === undefined) return { status: 404, detail: `Path ${path || '/'} not found` }
  if (input === undefined)
    return { status: 422, detail: [{ loc: ['body'], msg: 'Input should be a valid dictionary', type: 'dict_type' }] }
  const missing = known.required
    .filter((name) => input[name] === undefined)
    .map((name) => ({ loc: ['body', name], msg: 'Field required', type: 'missing', input }))
  const wrong = Object.entries(input).flatMap(([name, value]) => {
    const rule = Object.hasOwn(known.fields, name) ? known.fields[name] : undefined
    const fault = rule === undefined ? undefined : faultOf(rule, value)
    return fault === undefined ? [] : [{ loc: ['body', name], ...fault, input: value }]
  })
  const detail = [...missing, ...wrong]
  return detail.length > 0 ? { status: 422, detail } : null
}

function faultOf(rule: Rule, value: unknown): { msg: string; type: string } | undefined {
  if (typeof rule !== 'string')
    return rule.some((one) => one === value)
      ? undefined
      : { msg: `Input should be ${rule.map((one) => `'${one}'`).join(', ')}`, type: 'literal_error' }
  const types = { text: 'string', boolean: 'boolean', integer: 'number', number: 'number', url: 'string' } as const
  const names = { text: 'string', boolean: 'bool', integer: 'int', number: 'float', url: 'string' } as const
  if (typeof value !== types[rule] || (rule === 'integer' && !Number.isInteger(value)))
    return { msg: `Input should be a valid ${names[rule]}`, type: `${names[rule]}_type` }
  return rule === 'url' && !/^(https:\/\/|data:image\/[a-z]+;base64,.)/.test(String(value))
    ? { msg: 'Failed to load the image.', type: 'image_load_error' }
    : undefined
}

const moreOf = ({ body }: Job) => body.more as More

function placed(job: Job, { origin }: Place): Record<string, unknown> {
  const url = `${origin}/${moreOf(job).app}/requests/${job.id}`
  return { request_id: job.id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` }
}

const words: Record<string, string> = {
  waiting: 'IN_QUEUE',
  running: 'IN_PROGRESS',
  done: 'COMPLETED',
  failed: 'COMPLETED',
}

/** Only COMPLETED has status 200. */
function statusOf(job: Job, claim: Claim, at: Place, withLogs: boolean): Answer {
  const failure = failureOf(job, claim)
  const status = failure ? 'COMPLETED' : (words[String(claim.status)] ?? claim.status)
  const timestamp = new Date(job.acceptedAt).toISOString()
  const logs = withLogs ? [{ message: 'step 10/50', level: 'INFO', source: 'USER', timestamp }] : []
  return json(status === 'COMPLETED' ? 200 : 202, {
    ...placed(job, at),
    status,
    ...(status === 'IN_QUEUE' ? { queue_position: 0 } : { logs }),
    ...(status === 'COMPLETED' && { metrics: { inference_time: 61.2 } }),
    ...(failure && { error: failure.error, error_type: failure.type }),
  })
}

/** The result of a failed run has the HTTP status of the run. */
function resultOf(job: Job, claim: Claim, at: Place): Answer {
  const headers = { 'x-fal-request-id': job.id }
  const failure = failureOf(job, claim)
  if (failure) return json(failure.status, failure.body, { ...headers, ...failure.headers })
  if (claim.status !== 'done') return json(400, { detail: 'Request is still in progress' }, headers)
  const file = {
    url: claim.url,
    content_type: 'video/mp4',
    file_name: `${job.id}.mp4`,
    file_size: at.filmOf(job).length,
  }
  return json(200, { video: file, seed: 7 }, { ...headers, 'x-fal-billable-units': '5' })
}

interface Failure {
  error: string
  type: string
  status: number
  body: unknown
  headers?: Record<string, string>
}

function failureOf(job: Job, claim: Claim): Failure | undefined {
  const { mistake } = moreOf(job)
  if (mistake) {
    const { status, detail } = mistake
    return { error: `Invalid status code: ${status}`, type: 'bad_request', status, ...ofModel(detail) }
  }
  if (claim.status !== 'failed') return undefined
  const msg = 'The content could not be processed because it was flagged.'
  const detail = [{ loc: ['body', 'prompt'], msg, type: 'content_policy_violation', input: job.body.prompt }]
  if (claim.error === 'policy')
    return { error: 'Invalid status code: 422', type: 'bad_request', status: 422, ...ofModel(detail) }
  return claim.error === 'cancelled'
    ? ofPlatform(499, 'client_cancelled', 'Request was cancelled')
    : ofPlatform(500, 'runner_server_error', 'Internal Server Error')
}

function ofModel(detail: unknown) {
  return { body: { detail }, headers: { 'x-fal-retryable': 'false' } }
}

function ofPlatform(status: number, type: string, detail: string): Failure {
  const headers = { 'x-fal-error-type': type }
  return { error: detail, type, status, body: { detail, error_type: type }, headers }
}
