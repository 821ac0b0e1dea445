import { randomInt } from 'node:crypto'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import { type Fields, isObject, parsed, type Question, respond, type Wire, type WireRequest } from './upstream/wire.ts'

const tasks = '/api/v3/contents/generations/tasks'

/** Content generation tasks of BytePlus ModelArk and Volcengine Ark, below /api/v3. */
export function arkWire(): Wire {
  return {
    mode: 'list',
    filmsApart: true,
    newId,
    isSubmit: ({ method, path }) => method === 'POST' && path === tasks,
    read,
    accepted: ({ id }) => json(200, { id }),
    polled: (job, claim) => json(200, taskOf(job, claim)),
    found: (jobs, at) => {
      const items = jobs.toReversed().map((job) => taskOf(job, at.viewOf(job)))
      return json(200, { total: items.length, items })
    },
    cancelled(job, done, was) {
      if (was.status === 'running') job.end = null
      if (was.status === 'running' || was.error === 'cancelled')
        return error(409, 'InvalidAction.RunningTaskDeletion', 'Cannot delete this task in its current state.')
      // The record of an ended task is deleted.
      if (!done) job.unknownUntil = Number.POSITIVE_INFINITY
      return json(200, {})
    },
    unknown: (id) => error(404, 'NotFound.TaskId', `The specified task ${id} is not found.`),
  }
}

const types: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  404: 'NotFound',
  409: 'Conflict',
}

function error(status: number, code: string, message: string): Answer {
  return json(status, { error: { code, message: `${message} Request id: 0`, param: '', type: types[status] ?? '' } })
}

/** The time and five letters or digits. */
function newId(): string {
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const letters = Array.from({ length: 5 }, () => randomInt(36).toString(36))
  return `cgt-${time}-${letters.join('')}`
}

function read({ method, path, query, headers, body }: WireRequest): Question {
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined)
    return respond(error(401, 'AuthenticationError', 'The API key or AK/SK in the request is missing or invalid.'))
  const id = path.startsWith(`${tasks}/`) ? path.slice(tasks.length + 1) : undefined
  if (id !== undefined && method === 'GET') return { ask: 'poll', id }
  if (id !== undefined && method === 'DELETE') return { ask: 'cancel', id }
  if (path !== tasks) return respond({ status: 404 })
  if (method === 'GET') {
    const wrong = ['page_num', 'page_size'].find((name) => !isWhole(Number(query.get(name) ?? 1), 1, 500))
    return wrong ? respond(invalid(wrong)) : { ask: 'find', subject: '', matches: () => true }
  }
  if (method !== 'POST') return respond({ status: 405 })
  const fields = parsed(body)
  const refusal = fields === undefined ? invalid('body') : refusalOf(fields)
  if (fields === undefined || refusal) return respond(refusal ?? invalid('body'))
  const { model, content, duration = 5, resolution = '720p' } = fields
  const prompt = partsOf(content).find(({ type }) => type === 'text')?.text ?? ''
  const job = { model, prompt: String(prompt), seconds: duration, size: resolution, more: fields }
  return { ask: 'submit', submission: { body: job, key: null, bearer } }
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most
}

function partsOf(content: unknown): Fields[] {
  return Array.isArray(content) && content.every(isObject) ? content : []
}

function invalid(name: string, code = 'InvalidParameter'): Answer {
  return error(400, code, `The parameter \`${name}\` specified in the request is not valid.`)
}

interface Model {
  readonly resolutions: readonly string[]
  readonly longest: number
}

/** By name without the brand, which is dreamina- internationally and doubao- in China. */
const models: Readonly<Record<string, Model>> = {
  'seedance-2-5-260628': { resolutions: ['480p', '720p', '1080p'], longest: 30 },
  'seedance-2-0-260128': { resolutions: ['480p', '720p', '1080p', '4k'], longest: 15 },
  'seedance-2-0-fast-260128': { resolutions: ['480p', '720p'], longest: 15 },
  'seedance-2-0-mini-260615': { resolutions: ['480p', '720p'], longest: 15 },
}
/** The model behind every endpoint here. */
const endpointModel = 'dreamina-seedance-2-0-260128'
/** It exists, but the account has not activated it. */
const notOpen = 'dreamina-seedance-1-5-pro-251215'

function refusalOf(fields: Fields): Answer | undefined {
  const { model, content } = fields
  const missing = ['model', 'content'].find((name) => fields[name] === undefined)
  if (missing) return error(400, 'MissingParameter', `The request is missing the parameter \`${missing}\`.`)
  if (model === notOpen) return error(404, 'ModelNotOpen', 'Your account has not activated the model.')
  const named = /^ep-\w/.test(String(model)) ? endpointModel : String(model)
  const known = /^(dreamina|doubao)-/.test(named) ? models[named.replace(/^\w+-/, '')] : undefined
  if (known === undefined)
    return error(404, 'InvalidEndpointOrModel.NotFound', `The model or endpoint ${model} does not exist.`)
  if (!isContent(content)) return invalid('content')
  const wrong = Object.entries(rulesOf(known)).find(([name, fits]) => name in fields && !fits(fields[name]))?.[0]
  if (wrong) return invalid(wrong)
  const unsupported = ['seed', 'frames', 'camera_fixed'].find((name) => name in fields)
  if (unsupported) return invalid(unsupported, 'InvalidParameter.UnsupportedParameter')
  const hasFrame = partsOf(content).some(({ type, role }) => type === 'image_url' && role !== 'reference_image')
  const { ratio = 'adaptive' } = fields
  return named.includes('-2-5-') && hasFrame && ratio !== 'adaptive' ? invalid('ratio') : undefined
}

type Rule = (value: unknown) => boolean

function rulesOf({ resolutions, longest }: Model): Record<string, Rule> {
  const isBoolean: Rule = (value) => typeof value === 'boolean'
  const oneOf =
    (...values: readonly unknown[]): Rule =>
    (value) =>
      values.includes(value)
  return {
    resolution: oneOf(...resolutions),
    ratio: oneOf('16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'),
    duration: (value) => value === -1 || isWhole(value, 4, longest),
    execution_expires_after: (value) => isWhole(value, 3_600, 259_200),
    priority: (value) => isWhole(value, 0, 9),
    // The cheaper tier is for older models only.
    service_tier: oneOf('default'),
    generate_audio: isBoolean,
    watermark: isBoolean,
    return_last_frame: isBoolean,
    safety_identifier: (value) => typeof value === 'string' && value.length <= 64,
  }
}

/** Text, and either frames or references, never both. A single image without a role is the first frame. */
function isContent(content: unknown): boolean {
  const parts = partsOf(content)
  const images = parts.filter(({ type }) => type === 'image_url')
  const roles = images.map(({ role }) => role ?? (images.length === 1 ? 'first_frame' : undefined))
  const count = (role: string) => roles.filter((one) => one === role).length
  const isFrames = count('first_frame') === 1 && count('last_frame') === roles.length - 1 && roles.length <= 2
  return (
    parts.length > 0 &&
    parts.every((part) => (part.type === 'text' ? typeof part.text === 'string' : isImage(part))) &&
    (roles.length === 0 || isFrames || count('reference_image') === roles.length)
  )
}

function isImage({ type, image_url: image }: Fields): boolean {
  const url = isObject(image) ? String(image.url) : ''
  return type === 'image_url' && /^(https?:\/\/.|asset:\/\/.|data:image\/[a-z]+;base64,[\w+/]+=*$)/.test(url)
}

const words: Record<string, string> = { waiting: 'queued', running: 'running', done: 'succeeded', failed: 'failed' }

function taskOf({ id, body, acceptedAt }: Job, claim: Claim): Fields {
  const asked = body.more as Fields
  const word = claim.error === 'cancelled' ? 'cancelled' : (words[String(claim.status)] ?? claim.status)
  const code = claim.error === 'policy' ? 'OutputVideoSensitiveContentDetected' : 'InternalServiceError'
  const now = Math.floor(Date.now() / 1_000)
  return {
    id,
    model: /^ep-/.test(String(body.model)) ? endpointModel : body.model,
    status: word,
    error: word === 'failed' ? { code, message: 'simulated' } : null,
    created_at: Math.floor(acceptedAt / 1_000),
    updated_at: now,
    service_tier: 'default',
    execution_expires_after: asked.execution_expires_after ?? 172_800,
    ...(word === 'succeeded' && resultOf(asked, claim.url)),
  }
}

/** Pixels of a frame at 16:9. */
const pixels: Record<string, number> = {
  '480p': 864 * 496,
  '720p': 1280 * 720,
  '1080p': 1920 * 1080,
  '4k': 3840 * 2160,
}

function resultOf({ duration = 5, resolution = '720p', ratio = '16:9', ...asked }: Fields, url: unknown): Fields {
  const seconds = duration === -1 ? 5 : Number(duration)
  const tokens = Math.floor(((pixels[String(resolution)] ?? 0) * (24 * seconds + 1)) / 1_024)
  return {
    content: { video_url: url },
    seed: 58_944,
    resolution,
    ratio: ratio === 'adaptive' ? '16:9' : ratio,
    duration: seconds,
    framespersecond: 24,
    generate_audio: asked.generate_audio ?? true,
    draft: false,
    usage: { completion_tokens: tokens, total_tokens: tokens },
  }
}
