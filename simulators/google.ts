import { randomBytes } from 'node:crypto'
import { json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import {
  type Fields,
  objectOf,
  type Place,
  parsed,
  type Question,
  respond,
  type Wire,
  type WireRequest,
} from './upstream/wire.ts'

/**
 * Gemini Omni through the Interactions API of the Gemini API. `always inline`: a poll contains the film itself, even if the
 * request asked for a link. Google's guide says so; others have seen the link.
 */
export function googleWire(films: 'as asked' | 'always inline' = 'as asked'): Wire {
  /** Files that were requested before: the first request finds a file in process. */
  const known = new Set<string>()
  return {
    mode: 'none',
    filmsApart: false,
    newId: () => `v1_${randomBytes(16).toString('hex')}`,
    isSubmit: ({ method, path }) => method === 'POST' && path === '/v1beta/interactions',
    read: (asked, at) => read(asked, at, known),
    // Without `background`, the request waits for the end, which takes no time here.
    accepted: (job, at) =>
      objectOf(job.body.more).background === true
        ? json(200, interactionOf(job, 'in_progress'))
        : json(200, polled(job, { status: 'done', url: at.linkTo(job) }, at, films)),
    polled: (job, claim, at) => json(200, polled(job, claim, at, films)),
    cancelled: (job, done) => (done ? json(200, interactionOf(job, 'cancelled')) : notRunning),
    unknown: (id) => invalid(`Invalid interaction name: ${id}`),
  }
}

const failure = (status: number, code: string, message: string) => json(status, { error: { code, message } })
const invalid = (message: string) => failure(400, 'invalid_request', message)
const notRunning = invalid('Only an interaction that is running can be cancelled.')
/** Errors of the front end, which have another form than those of the API. */
const frontEnd = (code: number, status: string, message: string) => json(code, { error: { code, message, status } })

const jobIdOf = (file: string) => `v1_${file}`
const fileOf = (job: string) => job.slice('v1_'.length)

function read(asked: WireRequest, at: Place, known: Set<string>): Question {
  const { method, path, query, headers } = asked
  const key = headers['x-goog-api-key'] ?? query.get('key')
  if (typeof key !== 'string' || key === '')
    return respond(
      headers.authorization === undefined
        ? frontEnd(403, 'PERMISSION_DENIED', "Method doesn't allow unregistered callers.")
        : frontEnd(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'),
    )
  if (!/^[\w.-]{10,}$/.test(key)) return respond(badKey)
  const [, , kind, name = '', action] = path.split('/')
  if (!path.startsWith('/v1beta/')) return respond(frontEnd(404, 'NOT_FOUND', 'Requested entity was not found.'))
  if (kind === 'models' && method === 'GET')
    return respond(json(200, { models: Object.keys(longest).map((model) => ({ name: `models/${model}` })) }))
  if (kind === 'files' && method === 'GET') return readFile(name, query, at, known)
  if (kind !== 'interactions') return respond(frontEnd(404, 'NOT_FOUND', 'Requested entity was not found.'))
  if (method === 'GET' && name !== '') return { ask: 'poll', id: name }
  if (method === 'POST' && action === 'cancel') return { ask: 'cancel', id: name }
  if (method !== 'POST' || name !== '') return respond(failure(404, 'not_found', 'Not found.'))
  return readSubmit(asked, key)
}

const badKey = json(400, [
  {
    error: {
      code: 400,
      message: 'API key not valid. Please pass a valid API key.',
      status: 'INVALID_ARGUMENT',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
    },
  },
])

function readFile(name: string, query: URLSearchParams, at: Place, known: Set<string>): Question {
  const [file = '', action] = name.split(':')
  if (action === 'download' && query.get('alt') === 'media') return { ask: 'film', id: jobIdOf(file) }
  const state = known.has(file) ? 'ACTIVE' : 'PROCESSING'
  known.add(file)
  return respond(
    json(200, { name: `files/${file}`, mimeType: 'video/mp4', state, uri: `${at.origin}/v1beta/files/${file}` }),
  )
}

function readSubmit({ body }: WireRequest, key: string): Question {
  const fields = parsed(body)
  if (fields === undefined) return respond(invalid('The body is not a JSON object.'))
  const { model, input } = fields
  if (!Object.hasOwn(longest, String(model)))
    return respond(failure(404, 'not_found', 'The model is no longer available.'))
  const blocks = blocksOf(input)
  const prompt = blocks.find(({ type }) => type === 'text')?.text
  const formats = [fields.response_format].flat()
  const [format] = formats.map(objectOf)
  const wrong =
    mistakeIn(fields) ??
    blocks.map(mistakeInBlock).find(Boolean) ??
    (typeof prompt === 'string' && prompt !== '' ? undefined : 'The input has no text.') ??
    (format?.type === 'video' ? mistakeInFormat(format, String(model)) : 'A response_format of video is required.')
  if (wrong !== undefined || format === undefined) return respond(invalid(wrong ?? ''))
  const size = { resolution: format.resolution ?? '720p', ratio: format.aspect_ratio ?? '16:9' }
  const more = { delivery: format.delivery ?? 'inline', background: fields.background }
  const job = { model, prompt: String(prompt), seconds: format.duration ?? '10s', size, more }
  return { ask: 'submit', submission: { body: job, key: null, bearer: key } }
}

/** A text, a list of content, or a list of steps with content. */
function blocksOf(input: unknown): Fields[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  const list = Array.isArray(input) ? input.map(objectOf) : []
  return list.flatMap((item) =>
    item.type === 'user_input' && Array.isArray(item.content) ? item.content.map(objectOf) : [item],
  )
}

/** The maximum seconds of each model. */
const longest: Record<string, number> = { 'gemini-omni-1.1-flash': 10, 'gemini-omni-1.2-flash': 15 }
const fields = [
  'model',
  'input',
  'response_modalities',
  'response_format',
  'generation_config',
  'background',
  'store',
  'stream',
  'previous_interaction_id',
  'webhook_config',
  'labels',
  'service_tier',
  'system_instruction',
  'safety_settings',
]
const tasks = ['text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend', 'upscale']

function mistakeIn(given: Fields): string | undefined {
  const { generation_config: config = {}, background = false, store = true, response_modalities: modalities } = given
  const strange = Object.keys(given).find((name) => !fields.includes(name))
  if (strange !== undefined) return `Unknown name "${strange}": Cannot find field.`
  if (typeof background !== 'boolean' || typeof store !== 'boolean') return 'Invalid value (TYPE_BOOL).'
  if (background && !store) return 'An interaction in the background has to be stored.'
  if (given.stream === true) return 'There are no streams here.'
  if (modalities !== undefined && !(Array.isArray(modalities) && modalities.includes('video')))
    return 'Invalid response_modalities.'
  const { seed, video_config: video } = objectOf(config)
  if (seed !== undefined && !Number.isInteger(seed)) return 'Invalid value at generation_config.seed (TYPE_INT32).'
  const { task = tasks[0] } = objectOf(video)
  return tasks.includes(String(task)) ? undefined : 'Invalid value at generation_config.video_config.task.'
}

function mistakeInBlock({ type, text, data, uri, mime_type: mime }: Fields): string | undefined {
  if (type === 'text') return typeof text === 'string' ? undefined : 'Invalid text.'
  if (type !== 'image' && type !== 'video') return 'Unknown type of content.'
  if (typeof mime !== 'string' || !mime.startsWith(`${type}/`)) return `Invalid mime_type of the ${type}.`
  const isData = typeof data === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
  return isData || typeof uri === 'string' ? undefined : `The ${type} has neither data nor uri.`
}

function mistakeInFormat(format: Fields, model: string): string | undefined {
  const { aspect_ratio: ratio = '16:9', resolution = '720p', duration = '10s', delivery = 'inline' } = format
  if (ratio !== '16:9' && ratio !== '9:16') return 'Invalid aspect_ratio.'
  if (!['360p', '720p', '1080p', '4k'].includes(String(resolution))) return 'Invalid resolution.'
  if (delivery !== 'inline' && delivery !== 'uri') return 'Invalid delivery.'
  if (typeof duration !== 'string' || !/^\d+(\.\d+)?s$/.test(duration))
    return 'Illegal duration format; must end with s'
  const seconds = Number.parseFloat(duration)
  if (seconds < 3) return 'The duration is too short, minimum allowed 3s.'
  return seconds > (longest[model] ?? 0) ? `The duration is too long, maximum allowed ${longest[model]}s.` : undefined
}

const words: Record<string, string> = { waiting: 'queued', running: 'in_progress', done: 'completed' }

function interactionOf({ id, body, acceptedAt }: Job, status: unknown): Fields {
  const created = new Date(acceptedAt).toISOString()
  return { id, status, model: body.model, created, updated: created }
}

function polled(job: Job, claim: Claim, at: Place, films: string): Fields {
  const { status, error } = claim
  if (status === 'failed' && error === 'policy') {
    const content = [{ type: 'text', text: "I can't make that." }]
    return { ...interactionOf(job, 'completed'), steps: [{ type: 'model_output', content }], usage: usage(0) }
  }
  if (status === 'failed' && error === 'cancelled') return interactionOf(job, 'cancelled')
  if (status === 'failed')
    return { ...interactionOf(job, 'failed'), errors: [{ code: 'internal', message: 'simulated' }] }
  const said = interactionOf(job, words[String(status)] ?? status)
  if (status !== 'done') return said
  const video = { type: 'video', mime_type: 'video/mp4', ...placeOfFilm(job, claim.url, at, films) }
  const steps = [
    { type: 'thought', signature: 'c2ltdWxhdGVk' },
    { type: 'model_output', content: [video] },
  ]
  return { ...said, steps, usage: usage(28_900) }
}

/** A claim may have no url or a wrong one: then there is no film either. */
function placeOfFilm(job: Job, url: unknown, at: Place, films: string): Fields {
  const name = films === 'always inline' || objectOf(job.body.more).delivery === 'inline' ? 'data' : 'uri'
  if (typeof url !== 'string') return url === undefined ? {} : { [name]: url }
  if (name === 'data') return { data: Buffer.from(at.filmOf(job)).toString('base64') }
  return { uri: `${at.origin}/v1beta/files/${fileOf(job.id)}:download?alt=media` }
}

function usage(tokens: number): Fields {
  return { total_input_tokens: 12, total_output_tokens: tokens }
}
