import { randomInt, randomUUID } from 'node:crypto'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import { type Fields, objectOf, parsed, type Question, type Wire, type WireRequest } from './upstream/wire.ts'

/**
 * Kling's API with the model in the path. It accepts a plain key only, not a signed token. The list by cursor, callbacks and
 * motion control are left out. `refusing` is a code by which it refuses every valid submit.
 */
export function klingWire(refusing?: number): Wire {
  return {
    mode: 'lookup',
    filmsApart: true,
    newId: () => String(randomInt(9e8, 1e9)) + String(randomInt(1e8, 1e9)),
    isSubmit: ({ method, path }) => method === 'POST' && /^\/(text-to|image-to|omni)-video\/[^/]+$/.test(path),
    read: (asked) => read(asked, refusing),
    accepted: (job) => good(created(job)),
    // As documented, and as a client saw it for elements. Whether it is true for videos is not known.
    refused: () => bad(1201, 'External_task_id already exists'),
    polled: (job, claim) => good([taskOf(job, claim)]),
    found: (jobs, at) => good(jobs.map((job) => taskOf(job, at.viewOf(job)))),
    unknown: () => good([]),
  }
}

function good(data: unknown): Answer {
  return json(200, { code: 0, message: 'SUCCEED', request_id: randomUUID(), data })
}

/** From Kling's list of codes. */
export const errors: Readonly<Record<number, readonly [status: number, message: string]>> = {
  1000: [401, 'Authentication failed'],
  1001: [401, 'Authorization is empty'],
  1002: [401, 'Authorization is invalid'],
  1003: [401, 'Authorization is not yet valid'],
  1004: [401, 'Authorization has expired'],
  1100: [429, 'Account exception'],
  1101: [429, 'Account in arrears'],
  1102: [429, 'Account balance not enough'],
  1103: [403, 'Unauthorized access to requested resource'],
  1200: [400, 'Invalid request parameters'],
  1201: [400, 'Invalid parameters'],
  1202: [404, 'The requested method is invalid'],
  1203: [404, 'The requested resource does not exist'],
  1300: [400, 'Trigger strategy of the platform'],
  1301: [400, 'Failure to pass the risk control system'],
  1302: [429, 'The API request is too fast'],
  1303: [429, 'parallel task over resource pack limit'],
  1304: [429, 'Trigger the IP whitelist policy'],
  5000: [500, 'Server internal error'],
  5001: [503, 'Server temporarily unavailable'],
  5002: [504, 'Server internal timeout'],
}

function bad(code: number, why?: string): Answer {
  const [status, message] = errors[code] ?? [400, '']
  return json(status, { code, message: why ?? message, request_id: randomUUID() })
}

function refuse(code: number, why?: string): Question {
  return { ask: 'nothing', answer: bad(code, why) }
}

/** The contents that each path accepts; a path with a prompt only has none. */
const contentTypes: Readonly<Record<string, readonly string[]>> = {
  '/text-to-video/kling-3.0': [],
  '/text-to-video/kling-3.0-turbo': [],
  '/image-to-video/kling-3.0': ['prompt', 'first_frame', 'last_frame', 'element'],
  '/image-to-video/kling-3.0-turbo': ['prompt', 'first_frame'],
  '/omni-video/kling-3.0-omni': [
    'prompt',
    'first_frame',
    'last_frame',
    'refer_image',
    'feature_video',
    'base_video',
    'element',
  ],
}

function read({ method, path, query, headers, body }: WireRequest, refusing: number | undefined): Question {
  if (headers.authorization === undefined) return refuse(1001)
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization)?.[1]
  if (bearer === undefined) return refuse(1002)
  if (bearer.startsWith('eyJ')) return refuse(1002, 'Authentication error. The current API does not support AK/SK')
  if (path === '/tasks') return method === 'GET' ? readQuestion(query) : refuse(1202)
  const types = Object.hasOwn(contentTypes, path) ? contentTypes[path] : undefined
  if (types === undefined) return refuse(1203)
  if (method !== 'POST') return refuse(1202)
  const asked = parsed(body)
  if (asked === undefined) return refuse(1200)
  const wrong = mistakeInContents(asked, types) ?? mistakeInSettings(asked, path) ?? mistakeInOptions(asked)
  if (wrong !== undefined) return refuse(1201, wrong)
  if (refusing !== undefined) return refuse(refusing)
  const reference = text(objectOf(asked.options).external_task_id)
  const { duration = 5, resolution = '720p', aspect_ratio: ratio = '16:9' } = objectOf(asked.settings)
  const job = { model: path, prompt: promptOf(asked), seconds: duration, size: `${resolution} ${ratio}` }
  return {
    ask: 'submit',
    submission: { body: { ...job, ...(reference && { reference }) }, key: null, bearer },
  }
}

/** Up to 20 tasks, by Kling's ids or by ours. An unknown task is missing in the answer. */
function readQuestion(query: URLSearchParams): Question {
  const [ids, ours] = [query.get('task_ids'), query.get('external_task_ids')]
  const wanted = (ids ?? ours ?? '').split(',')
  if ((ids === null) === (ours === null) || wanted.includes(''))
    return refuse(1201, 'one of task_ids, external_task_ids')
  if (wanted.length > 20) return refuse(1201, 'task_ids and external_task_ids cannot exceed 20 in total')
  if (ids !== null && wanted.length === 1) return { ask: 'poll', id: ids }
  const matches = ({ id, body }: Job) => wanted.includes(ids === null ? (body.reference ?? '') : id)
  return { ask: 'find', subject: wanted[0] ?? '', matches }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function contentsOf({ contents }: Fields): Fields[] {
  return Array.isArray(contents) ? contents.map(objectOf) : []
}

function promptOf(asked: Fields): string {
  return text(asked.prompt) || text(contentsOf(asked).find(({ type }) => type === 'prompt')?.text)
}

function mistakeInContents(asked: Fields, types: readonly string[]): string | undefined {
  const prompt = promptOf(asked)
  if (prompt.trim() === '' || prompt.length > 3_072) return 'prompt must have 1 to 3072 characters'
  if (types.length === 0) return asked.contents === undefined ? undefined : 'contents is not supported'
  const contents = contentsOf(asked)
  const has = (type: string) => contents.some((content) => content.type === type)
  if (asked.prompt !== undefined || !has('prompt')) return 'contents must have a prompt'
  if (contents.some(({ type }) => !types.includes(text(type)))) return 'contents has a type that is not supported'
  if (!types.includes('refer_image') && !has('first_frame')) return 'first_frame is required'
  if (has('last_frame') && !has('first_frame')) return 'last_frame needs first_frame'
  return contents.some(({ type, url }) => /frame|image/.test(text(type)) && !isPicture(text(url)))
    ? 'url is no picture'
    : undefined
}

/** A URL, or png or jpeg as base64 without "data:". */
function isPicture(url: string): boolean {
  if (/^https?:\/\/\S+$/.test(url)) return true
  return /^(iVBORw0KGgo|\/9j\/)[A-Za-z0-9+/]*={0,2}$/.test(url) && url.length % 4 === 0
}

const ratios = ['16:9', '9:16', '1:1']

function mistakeInSettings(asked: Fields, path: string): string | undefined {
  const { resolution = '720p', aspect_ratio: ratio, duration = 5, audio, multi_shot: shots } = objectOf(asked.settings)
  const [isTurbo, isOmni] = [path.endsWith('-turbo'), path.endsWith('-omni')]
  if (!['720p', '1080p', ...(isTurbo ? [] : ['4k'])].includes(text(resolution))) return 'resolution is not supported'
  if (!Number.isInteger(duration) || Number(duration) < 3 || Number(duration) > 15) return 'duration is not supported'
  if (ratio !== undefined && !ratios.includes(text(ratio))) return 'aspect_ratio is not supported'
  // With a first frame, the video has its aspect ratio.
  if (ratio !== undefined && path.startsWith('/image-to-video/')) return 'aspect_ratio is not supported here'
  const sounds = isTurbo ? [] : ['native', 'off', ...(isOmni ? ['original'] : [])]
  if (audio !== undefined && !sounds.includes(text(audio))) return 'audio is not supported'
  if (shots !== undefined && (isTurbo || typeof shots !== 'boolean')) return 'multi_shot is not supported'
  return undefined
}

function mistakeInOptions({ options }: Fields): string | undefined {
  const { external_task_id: reference, callback_url: place } = objectOf(options)
  if (![reference, place].every((value) => value === undefined || typeof value === 'string'))
    return 'options must have text'
  return undefined
}

function created({ id, body, acceptedAt }: Job): Fields {
  return {
    id,
    status: 'submitted',
    create_time: acceptedAt,
    update_time: acceptedAt,
    external_id: body.reference ?? '',
  }
}

const words: Record<string, string> = {
  waiting: 'submitted',
  running: 'processing',
  done: 'succeeded',
  failed: 'failed',
}

function taskOf(job: Job, claim: Claim): Fields {
  const status = words[String(claim.status)] ?? claim.status
  const why = claim.error === 'policy' ? 'Failure to pass the risk control system' : 'Task execution failed'
  const video = {
    type: 'video',
    id: `${job.id}1`,
    url: claim.url,
    watermark_url: '',
    duration: `${job.body.seconds}.041`,
  }
  return {
    ...created(job),
    status,
    message: status === 'failed' ? why : '',
    update_time: Date.now(),
    ...(status === 'succeeded' && {
      outputs: [video],
      billing: [{ charge_type: 'unit', amount: '3', package_type: 'video' }],
    }),
    ...(status === 'failed' && { billing: [{ amount: '0' }] }),
  }
}
