import { createHash, randomBytes } from 'node:crypto'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import {
  type Fields,
  isObject,
  type Place,
  parsed,
  type Question,
  respond,
  type Wire,
  type WireRequest,
} from './upstream/wire.ts'

/** Replicate's HTTP API below /v1, with a few of its official models. */
export function replicateWire({ perPage = 100 } = {}): Wire {
  const files = new Map<string, object>()
  return {
    mode: 'list',
    filmsApart: true,
    newId,
    isSubmit: ({ method, path }) => method === 'POST' && submitPath.test(path),
    read: (asked, at) => read(asked, at, files),
    accepted: (job, at) => json(201, predictionOf(job, { status: 'waiting' }, at)),
    polled: (job, claim, at) => json(200, predictionOf(job, claim, at)),
    found: (jobs, at) => found(jobs, at, perPage),
    cancelled: (job, _done, _was, at) => json(200, truthOf(job, at)),
    unknown: () => notFound,
  }
}

const submitPath = /^\/v1\/models\/([^/]+\/[^/]+)\/predictions$/
const notFound = problem(404, { detail: 'The requested resource could not be found.' })

/** Letters and digits that are not easily confused. */
function newId(): string {
  return [...randomBytes(26)].map((byte) => '0123456789abcdefghjkmnpqrstvwxyz'[byte % 32]).join('')
}

function problem(status: number, fields: Record<string, unknown>): Answer {
  return json(status, { ...fields, status })
}

async function read(asked: WireRequest, at: Place, files: Map<string, object>): Promise<Question> {
  const { method, path, headers } = asked
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  const detail = `You did not pass ${headers.authorization === undefined ? 'an' : 'a valid'} authentication token`
  if (bearer === undefined) return respond(problem(401, { title: 'Unauthenticated', detail }))
  const account = { type: 'organization', username: 'acme', name: 'Acme', github_url: null, avatar_url: null }
  if (method === 'GET' && path === '/v1/account') return respond(json(200, account))
  if (method === 'POST' && path === '/v1/files') return respond(await upload(asked, at, files))
  const [, , folder, id, action] = path.split('/')
  if (folder === 'files' && id !== undefined) return respond(files.has(id) ? json(200, files.get(id)) : notFound)
  const model = submitPath.exec(path)?.[1]
  if (method === 'POST' && model !== undefined) return submit(asked, model, bearer, at, files)
  if (folder !== 'predictions') return respond(notFound)
  if (method === 'POST' && id !== undefined && action === 'cancel') return { ask: 'cancel', id }
  if (method === 'GET' && id !== undefined && action === undefined) return { ask: 'poll', id }
  if (method === 'GET' && id === undefined) return find(asked.query)
  if (method !== 'POST' || id !== undefined) return respond(notFound)
  const words = "The specified version does not exist (or perhaps you don't have permission to use it?)"
  return respond(problem(422, { title: 'Invalid version or not permitted', detail: words }))
}

/** The cursor of a page is its oldest prediction: the next page has those before it. */
function find(query: URLSearchParams): Question {
  const [after, before] = ['created_after', 'created_before'].map((name) => Date.parse(query.get(name) ?? ''))
  const cursor = Buffer.from(query.get('cursor') ?? '', 'base64url').toString()
  let isOlder = true
  const matches = ({ id, acceptedAt }: Job) => {
    if (id === cursor) isOlder = false
    return isOlder && !(acceptedAt < Number(after)) && !(acceptedAt >= Number(before))
  }
  return { ask: 'find', subject: '', matches }
}

function found(jobs: readonly Job[], at: Place, perPage: number): Answer {
  const page = jobs.toReversed().slice(0, perPage)
  const cursor = Buffer.from(page.at(-1)?.id ?? '').toString('base64url')
  const next = jobs.length > perPage ? `${at.origin}/v1/predictions?cursor=${cursor}` : null
  return json(200, { previous: null, next, results: page.map((job) => truthOf(job, at)) })
}

async function upload({ headers, body }: WireRequest, at: Place, files: Map<string, object>): Promise<Answer> {
  const type = headers['content-type'] ?? ''
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } })
    .formData()
    .catch(() => undefined)
  const content = form?.get('content')
  if (!(content instanceof File)) return problem(400, { detail: 'Missing content' })
  const id = Buffer.from(newId()).toString('base64url')
  const sha256 = createHash('sha256')
    .update(new Uint8Array(await content.arrayBuffer()))
    .digest('hex')
  const file = {
    id,
    name: content.name,
    content_type: content.type,
    size: content.size,
    checksums: { sha256 },
    metadata: {},
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 24 * 3_600_000).toISOString(),
    urls: { get: `${at.origin}/v1/files/${id}` },
  }
  files.set(id, file)
  return json(201, file)
}

function submit(
  asked: WireRequest,
  model: string,
  bearer: string,
  at: Place,
  files: ReadonlyMap<string, object>,
): Question {
  const rules = Object.hasOwn(models, model) ? models[model] : undefined
  if (rules === undefined) return respond(notFound)
  const body = parsed(asked.body)
  if (body === undefined) return respond(problem(400, { detail: 'Request body is not valid JSON' }))
  const input = body.input
  if (!isObject(input))
    return respond(invalid([{ type: 'required', field: 'input', description: 'input is required' }]))
  const here = `${at.origin}/v1/files/`
  const isLost = (uri: string) => uri.startsWith(here) && !files.has(uri.slice(here.length))
  const mistakes = mistakesIn(input, rules, isLost)
  if (mistakes.length > 0) return respond(invalid(mistakes))
  const { prompt, duration, size, resolution } = input
  const more = { input, webhook: body.webhook }
  const job = { model, prompt: String(prompt), seconds: duration, size: size ?? resolution, more }
  return { ask: 'submit', submission: { body: job, key: null, bearer } }
}

type Mistake = { type: string; field: string; description: string }
interface Rule {
  type: 'string' | 'uri' | 'uris' | 'integer' | 'boolean'
  of?: readonly unknown[]
  range?: [number, number]
  required?: true
}

const prompt: Rule = { type: 'string', required: true }
const text: Rule = { type: 'string' }
const uri: Rule = { type: 'uri' }
const flag: Rule = { type: 'boolean' }
const whole: Rule = { type: 'integer' }
const oneOf = (type: 'string' | 'integer', ...of: unknown[]): Rule => ({ type, of })
const sizes = ['832*480', '480*832', '1280*720', '720*1280', '1920*1080', '1080*1920']
const shared = { prompt, negative_prompt: text, seed: whole, enable_prompt_expansion: flag, audio: uri }

/** The accepted fields of each model. */
const models: Readonly<Record<string, Record<string, Rule>>> = {
  'google/veo-3.1': {
    prompt,
    image: uri,
    last_frame: uri,
    reference_images: { type: 'uris' },
    duration: oneOf('integer', 4, 6, 8),
    resolution: oneOf('string', '720p', '1080p'),
    aspect_ratio: oneOf('string', '16:9', '9:16'),
    generate_audio: flag,
    negative_prompt: text,
    seed: whole,
  },
  'bytedance/seedance-1-pro': {
    prompt,
    image: uri,
    last_frame_image: uri,
    duration: { type: 'integer', range: [2, 12] },
    resolution: oneOf('string', '480p', '720p', '1080p'),
    aspect_ratio: oneOf('string', '16:9', '4:3', '1:1', '3:4', '9:16', '21:9', '9:21'),
    fps: oneOf('integer', 24),
    camera_fixed: flag,
    seed: whole,
  },
  'kwaivgi/kling-v2.5-turbo-pro': {
    prompt,
    start_image: uri,
    image: uri,
    negative_prompt: text,
    duration: oneOf('integer', 5, 10),
    aspect_ratio: oneOf('string', '16:9', '9:16', '1:1'),
  },
  'wan-video/wan-2.5-t2v': { ...shared, size: oneOf('string', ...sizes), duration: oneOf('integer', 5, 10) },
  'wan-video/wan-2.5-i2v': {
    ...shared,
    image: { ...uri, required: true },
    duration: oneOf('integer', 5, 10),
    resolution: oneOf('string', '480p', '720p', '1080p'),
  },
  'minimax/hailuo-2.3': {
    prompt,
    first_frame_image: uri,
    duration: oneOf('integer', 6, 10),
    prompt_optimizer: flag,
    resolution: oneOf('string', '768p', '1080p'),
  },
}

function mistakesIn(input: Fields, rules: Record<string, Rule>, isLost: (uri: string) => boolean) {
  const missing = Object.keys(rules).filter((name) => rules[name]?.required && input[name] === undefined)
  const required = missing.map((name) => ({ type: 'required', field: 'input', description: `${name} is required` }))
  const wrong = Object.entries(input).map(([name, value]) => mistakeIn(name, value, rules[name], isLost))
  return [...required, ...wrong].filter((mistake) => mistake !== undefined)
}

function mistakeIn(name: string, value: unknown, rule: Rule | undefined, isLost: (uri: string) => boolean) {
  const say = (type: string, description: string): Mistake => ({ type, field: `input.${name}`, description })
  if (!rule) return say('additional_property_not_allowed', `Additional property ${name} is not allowed`)
  const { type, of, range } = rule
  const isUri = (one: unknown) => typeof one === 'string' && /^(https?:\/\/|data:[\w/+.-]+;base64,)./.test(one)
  const given = Array.isArray(value) ? 'array' : typeof value
  const expected = { uri: 'string', uris: 'array' }[String(type)] ?? type
  if (type === 'integer' ? !Number.isInteger(value) : given !== expected)
    return say('invalid_type', `Invalid type. Expected: ${expected}, given: ${given}`)
  const uris = type === 'uri' ? [value] : type === 'uris' ? (value as unknown[]) : []
  if (!uris.every((one) => isUri(one) && !isLost(String(one)))) return say('format', "Does not match format 'uri'")
  if (of && !of.includes(value)) return say('enum', `input.${name} must be one of the following: ${of.join(', ')}`)
  if (range && !(Number(value) >= range[0] && Number(value) <= range[1]))
    return say('number_range', `Must be from ${range[0]} to ${range[1]}`)
  return undefined
}

function invalid(mistakes: readonly Mistake[]): Answer {
  const detail = mistakes.map(({ field, description }) => `- ${field}: ${description}\n`).join('')
  return problem(422, { title: 'Input validation failed', detail, invalid_fields: mistakes })
}

const words: Record<string, string> = { waiting: 'starting', running: 'processing', done: 'succeeded' }
const errors: Record<string, string> = {
  policy: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
}

function predictionOf({ id, body, acceptedAt }: Job, claim: Claim, at: Place): Record<string, unknown> {
  const { input, webhook } = body.more as { input: unknown; webhook: unknown }
  const isFailed = claim.status === 'failed'
  const isCancelled = isFailed && claim.error === 'cancelled'
  const isOver = isFailed || claim.status === 'done'
  const time = new Date(acceptedAt).toISOString()
  const { progress } = claim
  return {
    id,
    model: body.model,
    version: 'hidden',
    input,
    // As tqdm draws it.
    logs: progress === undefined ? '' : `Running\n ${progress}%|####      | ${progress}/100 [00:01<00:01, 1.00it/s]\n`,
    output: claim.url ?? null,
    error: isFailed && !isCancelled ? (errors[String(claim.error)] ?? 'Something went wrong. (E004)') : null,
    status: isCancelled ? 'canceled' : (words[String(claim.status)] ?? claim.status),
    source: 'api',
    data_removed: false,
    created_at: time,
    webhook,
    ...(isOver && { started_at: time, completed_at: time, metrics: { predict_time: 1, total_time: 1 } }),
    urls: {
      get: `${at.origin}/v1/predictions/${id}`,
      cancel: `${at.origin}/v1/predictions/${id}/cancel`,
      web: `https://replicate.com/p/${id}`,
    },
  }
}

function truthOf(job: Job, at: Place): Record<string, unknown> {
  const view = at.viewOf(job)
  return predictionOf(job, view.status === 'done' ? { ...view, url: at.linkTo(job) } : view, at)
}
